package store

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Inquiries are what is known of tries that somebody else may know more about.
type Inquiries interface {
	// AcquireLease makes owner the one who does some background work, for so long, or
	// longer if it was already; false while it is another's.
	AcquireLease(ctx context.Context, duty, owner string, lease time.Duration) (bool, error)
	// Unsampled lists what was told of tries of which nobody told a sampled peak, by
	// when they ended, oldest first, without features. What never started is left
	// out, and so is what is settled or not to be asked about again yet.
	Unsampled(ctx context.Context, w Window) ([]sizing.Observation, error)
	// Silent lists the newest receipts of tries that nothing was reported of, by when
	// they were asked for, oldest first; it leaves out the same.
	Silent(ctx context.Context, w Window) ([]sizing.Receipt, error)
	// Inquired notes who was asked about, and forgets notes from before forget.
	Inquired(ctx context.Context, asked []Inquiry, forget time.Time) error
}

// Window is a span of time, its end not in it, and how much of it is read at most.
// Now is what "again" is held against.
type Window struct {
	From, To, Now time.Time
	Limit         int
}

// Inquiry is a try that somebody was asked about.
type Inquiry struct {
	Try   sizing.TryKey
	Again time.Time // not before then; zero: it is settled
}
