package store

import (
	"context"
	"fmt"
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
	// MakeWeeks has receipts be stored by weeks, from Monday 00:00 UTC, from that of one
	// time to that of another, so that RemoveReceipts can remove a week at once. What is
	// stored stays stored; weeks that are there are left as they are. It gives up rather
	// than hold up others for more than a second, and may be called by many at once.
	// Receipts of a week that was never made are stored all the same.
	MakeWeeks(ctx context.Context, from, to time.Time) error
	// RemoveReceipts removes those whose prediction ids are below before, in byte order,
	// but for those of a week that is not wholly below: they stay, up to a week longer.
	// A week is removed whole; removed is told how many it held.
	RemoveReceipts(ctx context.Context, before string, removed func(rows int) error) error
	// RemoveRuns removes experiments without a name from before a time.
	RemoveRuns(ctx context.Context, before time.Time, removed func(rows int) error) error
}

// FirstID is below every prediction id that was given at a time or later: their first
// 48 bits are its Unix milliseconds (RFC 9562, version 7).
func FirstID(at time.Time) string {
	ms := at.UnixMilli()
	return fmt.Sprintf("%08x-%04x", ms>>16, ms&0xffff)
}
