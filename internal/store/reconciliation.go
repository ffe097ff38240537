package store

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Reconciliation finds tries with missing or incomplete reports, and records which of them were
// looked up in other sources.
type Reconciliation interface {
	// AcquireLease makes `owner` the only replica that runs the named background job until
	// the lease expires. The owner may renew the lease. AcquireLease returns false while another
	// owner holds the lease.
	AcquireLease(ctx context.Context, name, owner string, lease time.Duration) (bool, error)
	// Unsampled lists the observations without a sampled peak (MemorySampled) that ended in the window,
	// oldest first, without features. Without a reported end, the start counts as the end, or else the arrival of
	// the report. Unsampled omits tries that fitted no node and so never started, and tries whose lookup is settled or
	// whose RetryAt is after w.Now.
	Unsampled(ctx context.Context, w Window) ([]sizing.Observation, error)
	// UnreportedReceipts lists the receipts in the window that are the newest receipt of an unreported
	// try, oldest first. It omits tries whose lookup is settled or whose RetryAt is after w.Now.
	UnreportedReceipts(ctx context.Context, w Window) ([]sizing.Receipt, error)
	// SaveLookups stores lookups, and deletes the lookups stored before the time `expireBefore`.
	SaveLookups(ctx context.Context, lookups []Lookup, expireBefore time.Time) error
}

// Window selects the rows with a time in the half-open interval [From, To), at most Limit of them. Now
// is the current time, with which Lookup.RetryAt is compared.
type Window struct {
	From, To, Now time.Time
	Limit         int
}

// Lookup records that a try was looked up in other sources.
type Lookup struct {
	Try     sizing.TryKey
	RetryAt time.Time // the earliest time of the next lookup; zero if the try is settled: it is not looked up again
}
