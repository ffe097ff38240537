package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// These constants limit the group commit. Small requests that arrive together share a transaction (a flush),
// because most of the cost of a transaction is its fsync. While both flushers write, further requests wait. The
// next free flusher takes all of them, up to flushRows, into one flush.
const (
	flushers  = 2
	flushRows = 2000 // maximum rows of one flush; a larger flush would lock its tasks for longer

	// A flush serves many callers, so it has its own timeout instead of the context of one of them. A
	// flush takes milliseconds unless the connection is dead.
	flushTimeout = 4 * time.Second
)

// groupCommit writes the reports of many callers in few transactions. Each caller waits for
// the commit of its own reports.
type groupCommit struct {
	commit  func(context.Context, []report) ([]sizing.RecordResult, error)
	queue   chan writeRequest
	closing chan struct{}
	close   sync.Once
	running sync.WaitGroup
}

type writeRequest struct {
	reports []report
	done    chan<- writeResult // buffered, so that a flusher never blocks on it
}

type writeResult struct {
	recorded []sizing.RecordResult
	err      error
}

func (g *groupCommit) start(commit func(context.Context, []report) ([]sizing.RecordResult, error)) {
	g.commit = commit
	// The channel has no buffer, so that stop leaves no request in it: a flusher has received every
	// accepted request.
	g.queue, g.closing = make(chan writeRequest), make(chan struct{})
	for range flushers {
		g.running.Go(g.run)
	}
}

// stop returns after the flush of all accepted requests.
func (g *groupCommit) stop() {
	g.close.Do(func() { close(g.closing) })
	g.running.Wait()
}

func (g *groupCommit) write(ctx context.Context, reports []report) ([]sizing.RecordResult, error) {
	done := make(chan writeResult, 1)
	select {
	case g.queue <- writeRequest{reports, done}:
	case <-g.closing:
		return nil, sizing.Errorf(sizing.Unavailable, "the service is shutting down; try again")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case result := <-done:
		return result.recorded, result.err
	case <-ctx.Done():
		return nil, ctx.Err() // the reports may still commit; a repeated call returns them as duplicates
	}
}

func (g *groupCommit) run() {
	for {
		select {
		case first := <-g.queue:
			g.flush(g.collect(first))
		case <-g.closing:
			return
		}
	}
}

// collect returns `first` and the waiting requests that fit into the same flush. It relies on requests of fewer than directRows
// rows: larger calls of Record use transactions of their own.
func (g *groupCommit) collect(first writeRequest) []writeRequest {
	requests := []writeRequest{first}
	for rows := len(first.reports); rows+directRows <= flushRows; {
		select {
		case r := <-g.queue:
			requests, rows = append(requests, r), rows+len(r.reports)
		default:
			return requests
		}
	}
	return requests
}

func (g *groupCommit) flush(requests []writeRequest) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	var all []report
	for _, r := range requests {
		all = append(all, r.reports...)
	}
	recorded, err := g.commit(ctx, all)
	if len(requests) > 1 && err != nil && sizing.KindOf(err) != sizing.Unavailable {
		// Nothing was written. Flush one by one, so that only the faulty request fails.
		for _, r := range requests {
			g.flush([]writeRequest{r})
		}
		return
	}
	for _, r := range requests {
		if err != nil {
			r.done <- writeResult{err: err}
			continue
		}
		r.done <- writeResult{recorded: recorded[:len(r.reports)]}
		recorded = recorded[len(r.reports):]
	}
}
