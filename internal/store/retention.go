package store

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Retention removes what is old, in transactions that are small enough to hold up
// nobody. Whoever removes tells after how many rows, and is told to stop by an error.
type Retention interface {
	// Crowded lists tasks of which more was told than keep.Total, ordered as Tasks
	// does, at most limit after the given key. What was removed counts as told.
	Crowded(ctx context.Context, keep Keep, after sizing.TaskKey, limit int) ([]sizing.TaskKey, error)
	// RemoveObservations removes what ended before a time and History does not read
	// by keep: all but the newest, the highest peaks and the thinned sample. As those
	// only ever move on, it would never be read again either: History (but for Pairs)
	// and Task say what they would have said, unless a report is taken back. A task
	// without an active model keeps all, and so does one of no more than keep.Total;
	// what came after the active model learned stays. What was removed and is told
	// again is new. NotFound if the task is unknown.
	RemoveObservations(ctx context.Context, task sizing.TaskKey, keep Keep, before time.Time, removed func(rows int) error) error
	// RemoveReceipts removes those whose prediction ids are below before, in byte order.
	RemoveReceipts(ctx context.Context, before string, removed func(rows int) error) error
	// RemoveRuns removes experiments without a name from before a time.
	RemoveRuns(ctx context.Context, before time.Time, removed func(rows int) error) error
}
