package store

import (
	"context"
	"fmt"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Retention removes old rows in batches, so that its transactions block other transactions only
// briefly. After each batch it calls `removed` with the number of rows. If `removed` returns an error, the
// removal stops and returns this error.
type Retention interface {
	// OversizedTasks lists the tasks with more than limits.Total observations, including removed ones. It lists at
	// most `limit` tasks that come after the key `after` in the order of Tasks.
	OversizedTasks(ctx context.Context, limits HistoryLimits, after sizing.TaskKey, limit int) ([]sizing.TaskKey, error)
	// RemoveObservations removes the observations that ended before a time and that History does
	// not read within limits. With limits of at least the default size, History (except Pairs) and Task return the
	// same as before, unless a report is voided later; with smaller limits, the quantiles and the request of Task may
	// differ. RemoveObservations removes nothing from a task without an active model or with at most limits.Total
	// observations, and no row that arrived after row LastSeq of the active model. A removed try that is reported again
	// counts as a new try. RemoveObservations returns NotFound if the task is unknown.
	RemoveObservations(ctx context.Context, task sizing.TaskKey, limits HistoryLimits, before time.Time, removed func(rows int) error) error
	// MakeWeeks creates the weekly receipt partitions between `from` and `to`, each starting on
	// Monday 00:00 UTC, so that RemoveReceipts can drop whole weeks. It keeps existing
	// partitions and rows, waits at most one second for each lock, and is safe to call
	// concurrently. Receipts of a week without a partition are stored in a default one.
	MakeWeeks(ctx context.Context, from, to time.Time) error
	// RemoveReceipts removes the receipts whose prediction ids are below `before` in byte order. It drops
	// weekly partitions only as a whole, so the old receipts of a week that is partly old stay up to a
	// week longer. Old receipts outside the weekly partitions are deleted at once. If an entirely
	// old partition cannot be dropped, because the database user does not own it, the old receipts of all partitions
	// are deleted at once.
	RemoveReceipts(ctx context.Context, before string, removed func(rows int) error) error
	// RemoveExperiments removes the unnamed experiments created before a time.
	RemoveExperiments(ctx context.Context, before time.Time, removed func(rows int) error) error
}

// FirstID returns a lower bound of all prediction ids that are created at or after a time. It has the first
// 13 characters of such an id, which are its time in Unix milliseconds (RFC 9562, UUID version 7).
func FirstID(at time.Time) string {
	ms := at.UnixMilli()
	return fmt.Sprintf("%08x-%04x", ms>>16, ms&0xffff)
}
