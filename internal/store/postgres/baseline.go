package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// requestCache remembers the last static request of each task that this process stored, so that
// most writes of receipts store no request. An entry expires, because another replica may delete
// the task or store another request.
type requestCache struct {
	mu   sync.Mutex
	last map[sizing.TaskKey]cachedRequest
}

type cachedRequest struct {
	request sizing.Resources
	expires time.Time
}

const (
	requestCacheTTL  = time.Minute
	requestCacheSize = 100_000 // entries, about 20 MB; a full cache is cleared
)

func (c *requestCache) isNew(task sizing.TaskKey, request sizing.Resources, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.last[task]
	return !ok || known.request != request || now.After(known.expires)
}

func (c *requestCache) add(task sizing.TaskKey, request sizing.Resources, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || len(c.last) >= requestCacheSize {
		c.last = map[sizing.TaskKey]cachedRequest{}
	}
	c.last[task] = cachedRequest{request, now.Add(requestCacheTTL)}
}

const noteRequestsSQL = `
	SELECT note_requests($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::bigint[], $6::float8[])`

// storeRequests stores the static requests of new receipts: the first request of a task as its baseline, and later
// requests as changes. It ignores predictions without a run id: they are no tries, and any caller may make them with any
// request. It also ignores reproduced runs. It returns the receipts whose requests it stored.
func (s *Store) storeRequests(ctx context.Context, tx pgx.Tx, receipts []sizing.Receipt) (stored []*sizing.Receipt, err error) {
	now := time.Now()
	seen := map[sizing.TaskKey]sizing.Resources{}
	var previous *sizing.Ask // many successive receipts have the same task and request
	for i := range receipts {
		r := &receipts[i]
		task, request := r.Ask.Try.TaskKey, r.Ask.Requested
		if r.Ask.Try.RunID == "" || sizing.IsReproduction(r.Ask.Try.RunID) || request == (sizing.Resources{}) {
			continue
		}
		if previous != nil && previous.Try.TaskKey == task && previous.Requested == request {
			continue
		}
		previous = &r.Ask
		if last, ok := seen[task]; ok && last == request || !ok && !s.requests.isNew(task, request, now) {
			continue
		}
		seen[task] = request
		stored = append(stored, r)
	}
	if len(stored) == 0 {
		return nil, nil
	}
	_, err = tx.Exec(ctx, noteRequestsSQL,
		column(stored, func(r *sizing.Receipt) string { return r.Ask.Try.Namespace }),
		column(stored, func(r *sizing.Receipt) string { return r.Ask.Try.DAG }),
		column(stored, func(r *sizing.Receipt) string { return r.Ask.Try.Task }),
		column(stored, func(r *sizing.Receipt) time.Time { return r.At }),
		column(stored, func(r *sizing.Receipt) *sizing.Bytes { return knownAmount(&r.Ask.Requested.Memory) }),
		column(stored, func(r *sizing.Receipt) *sizing.Cores { return knownAmount(&r.Ask.Requested.CPU) }))
	return stored, err
}

func (s *Store) rememberRequests(stored []*sizing.Receipt) {
	for _, r := range stored {
		s.requests.add(r.Ask.Try.TaskKey, r.Ask.Requested, time.Now())
	}
}

func knownAmount[T comparable](v *T) *T {
	var unknown T
	if *v == unknown {
		return nil
	}
	return v
}
