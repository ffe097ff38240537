package backtest

import (
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Policy sizes tries. A single goroutine calls Predict and then Learn for each try. The state of
// one task does not depend on other tasks, except for what the tasks of a DAG or of a namespace share.
type Policy interface {
	// Predict sizes one try. After a kill the replay calls it again with Above set. A zero
	// Limit then means that the policy gives up.
	Predict(Question) Answer
	// Learn receives the outcome of a try: kills at once, successes immediately or when
	// the try ends, as Config.Delayed selects. With Delayed, a success that ends after the start of the last row
	// is never learned. An error ends the replay.
	Learn(Outcome) error
}

// Question is a request for a prediction: what is known about a try before it starts.
type Question struct {
	Try       sizing.TryKey
	StartedAt time.Time
	Features  sizing.Features
	Metadata  sizing.Metadata
	X         float64          // value of the first numeric feature of the trace; 0 if it is missing or there is none
	Requested sizing.Resources // from the trace; zero where the row has none
	Static    sizing.Bytes     // the static request, or Config.DefaultRequest if the row has none
	Cap       sizing.Bytes     // 1.0001 times the largest peak of the trace, and at least 128 GB
	Above     sizing.Bytes     // after a kill: the allocation of the killed try; else 0
}

// static returns the static request, with Config.DefaultRequest as memory if the row has none.
func (q *Question) static() sizing.Resources {
	return sizing.Resources{Memory: q.Static, CPU: q.Requested.CPU}
}

// maxLift returns the upper bound of a lift. It is at least the static request, because a request
// shows that a node of that size exists.
func (q *Question) maxLift() sizing.Bytes { return max(q.Cap, q.Static) }

// Answer is the allocation of a try.
type Answer struct {
	Limit     sizing.Bytes // memory limit
	Promised  *float64     // P(peak > Limit); nil if the policy promises nothing
	ColdStart bool         // the answer is not from a model or a rule of the task, usually for lack of runs; false for a first try in mode shadow or off
	CPU       sizing.Cores // the CPU request; zero: no answer
}

// Outcome is the result of a try. Peak is the measured peak of a success and 0 for a
// kill, which is right-censored: its peak is only known to be above Allocated.
type Outcome struct {
	Question
	Killed     bool
	Allocated  sizing.Bytes // memory limit
	Peak       sizing.Bytes
	CPUMax     sizing.Cores     // of a success; 0: not measured
	Usage      sizing.MeanUsage // of a success
	Duration   time.Duration    // until the end or the kill
	ReportedAt time.Time        // ascending over the outcomes that one policy receives
}

// end returns the time when the try ended.
func (o *Outcome) end() time.Time { return o.StartedAt.Add(o.Duration) }
