package backtest

import (
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Policy sizes tries. A single goroutine calls Predict and then Learn for each try. The state of a task depends on other
// tasks only through statistics that the tasks of a DAG or of a namespace share.
type Policy interface {
	// Predict sizes one try. After a kill the replay calls it again with Above set. A zero
	// Limit then means that the policy gives up.
	Predict(Question) Answer
	// Learn receives the outcome of a try: a kill at once, before the try ends in simulated time, and a success at once
	// or, with Config.Delayed, when the try ends. With Config.Delayed, Learn never receives a success that ends after
	// the start of the last row. An error ends the replay.
	Learn(Outcome) error
}

// Question is a request for a prediction: what is known about a try before it starts.
type Question struct {
	Try       sizing.TryKey
	StartedAt time.Time
	Features  sizing.Features
	Metadata  sizing.Metadata
	X         float64          // value of the first numeric feature of the trace; 0 if the try lacks it or the trace has none
	Requested sizing.Resources // from the trace; zero where the row has none
	Static    sizing.Bytes     // the static request, or Config.DefaultRequest if the row has none
	Cap       sizing.Bytes     // 1.0001 times the largest peak of the trace, and at least 128 GB
	Above     sizing.Bytes     // allocation of the killed try, for the question after a kill; otherwise 0
}

// static returns the static request. Its memory is Config.DefaultRequest if the row has no static request.
func (q *Question) static() sizing.Resources {
	return sizing.Resources{Memory: q.Static, CPU: q.Requested.CPU}
}

// maxLift returns the largest amount after a kill. It is at least the static request, which shows that a node of that size
// exists.
func (q *Question) maxLift() sizing.Bytes { return max(q.Cap, q.Static) }

// Answer is the allocation of a try.
type Answer struct {
	Limit     sizing.Bytes
	Promised  *float64     // P(peak > Limit); nil if the policy promises nothing
	ColdStart bool         // no model or rule of the task gave the answer, mostly because the task has too few runs; false for a first try in mode shadow or off
	CPU       sizing.Cores // the CPU request; zero: no answer
}

// Outcome is the result of a try. Peak is the measured peak of a success and 0 for a
// kill, which is right-censored: its peak is only known to be above Allocated.
type Outcome struct {
	Question
	Killed     bool
	Allocated  sizing.Bytes
	Peak       sizing.Bytes
	CPUMax     sizing.Cores     // of a success; 0: not measured
	Usage      sizing.MeanUsage // of a success
	Duration   time.Duration    // until the end or the kill
	ReportedAt time.Time        // time of the report in the replay; ascending over the outcomes that one policy receives
}

func (o *Outcome) end() time.Time { return o.StartedAt.Add(o.Duration) }
