package backtest

import (
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Policy sizes one try after another. It is asked before it is told, from one
// goroutine, and keeps apart what it learns of different tasks.
type Policy interface {
	// Predict answers for one try. After a kill it is asked again with Above set;
	// then a zero Limit means that no further try is worth making.
	Predict(Question) Answer
	// Learn is told how a try ended: kills at once, successes by the feedback. An
	// error ends the replay.
	Learn(Outcome) error
}

// Question is what is known of a try before it starts.
type Question struct {
	Try       sizing.TryKey
	StartedAt time.Time
	Features  sizing.Features
	X         float64          // the trace's first numeric feature; 0 without one
	Requested sizing.Resources // as the trace has it; zero fields where it has none
	Static    sizing.Bytes     // the static request, or the default where the trace has none
	Cap       sizing.Bytes     // the trace's largest peak, or 128 GB if that is more
	Above     sizing.Bytes     // after a kill: what the killed try had; else 0
}

// static is the static request, of the default amount where the trace has none.
func (q *Question) static() sizing.Resources {
	return sizing.Resources{Memory: q.Static, CPU: q.Requested.CPU}
}

// reach is the most that a try may be lifted to: a request proves that there is a
// node for it, though no peak came near it.
func (q *Question) reach() sizing.Bytes { return max(q.Cap, q.Static) }

// Answer is how much a try gets.
type Answer struct {
	Limit    sizing.Bytes
	Promised *float64 // P(peak > Limit); nil where nothing was promised
}

// Outcome is how a try ended. Peak is what it needed where it succeeded, and 0
// where it was killed: then the peak is only known to be above Allocated.
type Outcome struct {
	Question
	Killed    bool
	Allocated sizing.Bytes
	Peak      sizing.Bytes
	CPUMax    sizing.Cores
	Duration  time.Duration
	ToldAt    time.Time // ascending over the outcomes that one policy is told
}

// end is when the try ended.
func (o *Outcome) end() time.Time { return o.StartedAt.Add(o.Duration) }
