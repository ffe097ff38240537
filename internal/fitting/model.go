// Package fitting is the one translator between words and numbers: it encodes
// features, fits models on a task's history, and turns their numbers back into
// allocations, ladders and reasons.
//
// It knows sizing and the rooms of ml, and nothing of HTTP, SQL, clocks or who is
// asking. Everything here is deterministic: the same history gives the same bytes.
package fitting

import (
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Question is what a Model is asked for one try. Zero fields are not known.
type Question struct {
	Features   sizing.Features
	Requested  sizing.Resources
	Floor, Cap sizing.Bytes // the answer stays within; Cap zero: unbounded
	RiskTarget float64      // P(peak > limit) that is accepted on the first try
	Above      sizing.Bytes // after a kill: the peak is above this
}

// Sized is a Model's answer. Source is sizing.FromRequested where the model has
// nothing to say; then Limit is the request, or zero without one.
type Sized struct {
	Limit    sizing.Bytes
	Ladder   []sizing.Bytes // ascending; starts with Limit
	Promised *float64       // P(peak > Limit); nil where the source is FromRequested
	Bins     *sizing.BinChoice
	CPU      sizing.Cores
	Duration *sizing.Duration
	Source   sizing.Source
	Reason   string
	Guard    sizing.Guard
}

// Told is one ended try, as a Model learns it.
type Told struct {
	Seq       int64
	Features  sizing.Features
	Outcome   sizing.Outcome
	Peak      sizing.Bytes
	Censoring sizing.Censoring
	CPUMax    sizing.Cores
	Duration  time.Duration
	Requested sizing.Resources
	Allocated sizing.Resources
	FirstTry  bool
	Promised  *float64 // what was promised of it, where it was asked about here
}
