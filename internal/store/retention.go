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
	// MakeWeeks creates the receipt partitions from the week of `from` to the week of `to`, so that RemoveReceipts can drop
	// whole weeks. A week begins on Monday 00:00 UTC. MakeWeeks keeps existing partitions and rows, waits at most one second
	// for each lock, and is safe to call concurrently. Receipts of a week without a partition are stored in a default one.
	MakeWeeks(ctx context.Context, from, to time.Time) error
	// RemoveReceipts removes the receipts whose prediction ids are below `before` in byte order. It drops
	// weekly partitions only as a whole, so the old receipts of a week that is partly old stay up to a
	// week longer. It removes all old receipts outside the weekly partitions. If it cannot drop an entirely old partition,
	// because the database user does not own the partition, it deletes the old receipts of all partitions, also those of a
	// partly old week.
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
