package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Small requests that arrive together share a transaction: most of the price of
// one is its fsync. One flush writes while the next one fills.
const (
	flushers     = 2
	flushRows    = 2000            // at most, in one flush
	flushTimeout = 4 * time.Second // a flush serves many callers: none of their contexts may end it; it takes milliseconds, or the connection is dead
)

// groupCommit writes the reports of many callers in few transactions. Each caller
// waits for the commit of its own.
type groupCommit struct {
	commit  func(context.Context, []report) ([]sizing.RecordResult, error)
	queue   chan request
	closing chan struct{}
	close   sync.Once
	running sync.WaitGroup
}

type request struct {
	reports []report
	done    chan<- outcome // has room for the one outcome: nobody waits to deliver it
}

type outcome struct {
	recorded []sizing.RecordResult
	err      error
}

func (g *groupCommit) start(commit func(context.Context, []report) ([]sizing.RecordResult, error)) {
	g.commit = commit
	// Without a buffer, what was handed over is in a flusher's hands: nothing
	// is left behind in a queue when the store closes.
	g.queue, g.closing = make(chan request), make(chan struct{})
	for range flushers {
		g.running.Go(g.run)
	}
}

// stop returns once everything handed over is committed.
func (g *groupCommit) stop() {
	g.close.Do(func() { close(g.closing) })
	g.running.Wait()
}

func (g *groupCommit) write(ctx context.Context, reports []report) ([]sizing.RecordResult, error) {
	done := make(chan outcome, 1)
	select {
	case g.queue <- request{reports, done}:
	case <-g.closing:
		return nil, sizing.Errorf(sizing.Unavailable, "the service is shutting down: try again")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case o := <-done:
		return o.recorded, o.err
	case <-ctx.Done():
		return nil, ctx.Err() // it may still be committed; told again it will be a duplicate
	}
}

func (g *groupCommit) run() {
	for {
		select {
		case first := <-g.queue:
			g.flush(g.gather(first))
		case <-g.closing:
			return
		}
	}
}

// gather adds the requests that wait already.
func (g *groupCommit) gather(first request) []request {
	requests := []request{first}
	for rows := len(first.reports); rows+direct <= flushRows; {
		select {
		case r := <-g.queue:
			requests, rows = append(requests, r), rows+len(r.reports)
		default:
			return requests
		}
	}
	return requests
}

func (g *groupCommit) flush(requests []request) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	var all []report
	for _, r := range requests {
		all = append(all, r.reports...)
	}
	recorded, err := g.commit(ctx, all)
	if len(requests) > 1 && err != nil && sizing.KindOf(err) != sizing.Unavailable {
		// One request spoiled it for all, and nothing was written. Alone, only that one fails.
		for _, r := range requests {
			g.flush([]request{r})
		}
		return
	}
	for _, r := range requests {
		if err != nil {
			r.done <- outcome{err: err}
			continue
		}
		r.done <- outcome{recorded: recorded[:len(r.reports)]}
		recorded = recorded[len(r.reports):]
	}
}
