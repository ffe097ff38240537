package backtest

import (
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Policy sizes one try after another. One goroutine calls Predict and then Learn for
// each try. A policy keeps the state of different tasks separate.
type Policy interface {
	// Predict sizes one try. After a kill it is called again with Above set; a zero
	// Limit then means that the policy gives up.
	Predict(Question) Answer
	// Learn receives the outcome of a try: kills at once, successes immediately or when
	// the try ends, as Config.Delayed selects. An error ends the replay.
	Learn(Outcome) error
}

// Question holds what is known about a try before it starts.
type Question struct {
	Try       sizing.TryKey
	StartedAt time.Time
	Features  sizing.Features
	X         float64          // the trace's first numeric feature; 0 without one
	Requested sizing.Resources // from the trace; zero where the trace has none
	Static    sizing.Bytes     // the static request, or the default if the trace has none
	Cap       sizing.Bytes     // the trace's largest peak, or 128 GB if that is more
	Above     sizing.Bytes     // after a kill: the allocation of the killed try; else 0
}

// static returns the static request, with the default memory if the trace has none.
func (q *Question) static() sizing.Resources {
	return sizing.Resources{Memory: q.Static, CPU: q.Requested.CPU}
}

// reach returns the upper bound of a lift. A request proves that a node of that size
// exists, even if no peak came near it.
func (q *Question) reach() sizing.Bytes { return max(q.Cap, q.Static) }

// Answer is the allocation of a try.
type Answer struct {
	Limit    sizing.Bytes
	Promised *float64 // P(peak > Limit); nil if the policy promises nothing
}

// Outcome is the result of a try. Peak is the measured peak of a success and 0 for a
// kill, which is right-censored: its peak is only known to be above Allocated.
type Outcome struct {
	Question
	Killed     bool
	Allocated  sizing.Bytes
	Peak       sizing.Bytes
	CPUMax     sizing.Cores
	Duration   time.Duration
	ReportedAt time.Time // ascending over the outcomes that one policy receives
}

// end returns the time when the try ended.
func (o *Outcome) end() time.Time { return o.StartedAt.Add(o.Duration) }
