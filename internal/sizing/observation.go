package sizing

import (
	"fmt"
	"math"
	"time"
)

// Outcome is how a try ended.
type Outcome uint8

// The outcomes. Only OOMKilled and AppOOM prove that memory was short.
const (
	UnknownOutcome Outcome = iota
	Success
	OOMKilled     // the kernel killed the container at its limit: peak >= allocation
	AppOOM        // the program itself ran out (MemoryError, heap space) and exited
	Failed        // ended with an error that has nothing to do with memory
	Killed        // killed by a signal whose cause is not known
	Evicted       // the node took the pod away: says nothing of the task
	Unschedulable // never started: the allocation did not fit any node
)

var outcomes = [...]string{"", "success", "oom_killed", "app_oom", "failed", "killed", "evicted", "unschedulable"}

func (o Outcome) String() string { return outcomes[o] }

// ParseOutcome reads the wire form; ok is false for anything else.
func ParseOutcome(s string) (o Outcome, ok bool) {
	for i, name := range outcomes {
		if i > 0 && name == s {
			return Outcome(i), true
		}
	}
	return UnknownOutcome, false
}

// OOM reports whether o proves that the allocation was too small.
func (o Outcome) OOM() bool { return o == OOMKilled || o == AppOOM }

// Resources are an amount of both resources; zero fields are not known.
type Resources struct {
	Memory Bytes
	CPU    Cores
}

// Observation is what one try used and how it ended. Zero fields are not known.
//
//	outcome    MemoryMax known   only MemorySampled known    neither known
//	success    the peak          the peak or less            left-censored: at most Allocated.Memory
//	oom        right-censored: at least the largest of MemoryMax, MemorySampled and Allocated.Memory
type Observation struct {
	Try       TryKey
	Outcome   Outcome
	MemoryMax Bytes
	// MemorySampled is the largest sample of somebody who looks now and then, as
	// Prometheus does: what was short between two looks is not in it.
	MemorySampled Bytes
	CPUMax        Cores
	Duration      time.Duration
	StartedAt     time.Time
	EndedAt       time.Time
	Allocated     Resources
	Requested     Resources // the static request of the DAG
	Features      Features  // nil: those of the prediction made for the same try
	PredictionID  string
	Series        *Series // nil: not known

	// Provisional marks a kill that is known from a LiftAsk only: the report of
	// the try itself may still fill in what it knows.
	Provisional bool
}

// MaxDuration bounds what a caller may report: ten years.
const MaxDuration = 10 * 365 * 24 * time.Hour

// Validate names the fields that cannot be right.
func (o *Observation) Validate() []FieldError {
	bad := o.Try.Validate(true)
	add := func(field, format string, args ...any) {
		bad = append(bad, FieldError{field, fmt.Sprintf(format, args...)})
	}
	if o.Outcome == UnknownOutcome {
		add("outcome", "must be one of success, oom_killed, app_oom, failed, killed, evicted, unschedulable")
	}
	checkBytes := func(field string, b Bytes) {
		if b < 0 || b > MaxBytes {
			add(field, "must be 1 to %d bytes", int64(MaxBytes))
		}
	}
	checkCores := func(field string, c Cores) {
		if c < 0 || c > MaxCores || math.IsNaN(float64(c)) {
			add(field, "must be above 0 and at most %v cores", float64(MaxCores))
		}
	}
	checkBytes("memory_max_bytes", o.MemoryMax)
	checkBytes("memory_sampled_bytes", o.MemorySampled)
	checkBytes("allocated.memory_bytes", o.Allocated.Memory)
	checkBytes("requested.memory_bytes", o.Requested.Memory)
	checkCores("cpu_max_cores", o.CPUMax)
	checkCores("allocated.cpu_cores", o.Allocated.CPU)
	checkCores("requested.cpu_cores", o.Requested.CPU)
	if o.Duration < 0 || o.Duration > MaxDuration {
		add("duration_seconds", "must be 0 to %.0f", MaxDuration.Seconds())
	}
	if !o.StartedAt.IsZero() && !o.EndedAt.IsZero() && o.EndedAt.Before(o.StartedAt) {
		add("ended_at", "must not be before started_at")
	}
	if o.Outcome.OOM() && o.MemoryMax == 0 && o.MemorySampled == 0 && o.Allocated.Memory == 0 {
		add("allocated.memory_bytes", "is required for an OOM without memory_max_bytes: it is the lower bound of what was needed")
	}
	bad = append(bad, o.Series.Validate()...)
	return append(bad, o.Features.Validate()...)
}

// Censoring says how far a stored observation tells the peak.
type Censoring uint8

// Exact: the peak was measured. AtLeast: right-censored by an OOM. AtMost:
// left-censored, a success without a measured peak. Sampled: the largest sample of a
// success, which the peak may have exceeded for a moment. NoPeak: says nothing.
const (
	NoPeak Censoring = iota
	Exact
	AtLeast
	AtMost
	Sampled
)

// Peak is what o tells of the memory that the task needs.
func (o *Observation) Peak() (Bytes, Censoring) {
	switch {
	case o.Outcome.OOM():
		return max(o.MemoryMax, o.MemorySampled, o.Allocated.Memory), AtLeast
	case o.Outcome == Success && o.MemoryMax > 0:
		return o.MemoryMax, Exact
	case o.Outcome == Success && o.MemorySampled > 0:
		return o.MemorySampled, Sampled
	case o.Outcome == Success && o.Allocated.Memory > 0:
		return o.Allocated.Memory, AtMost
	}
	// What failed for other reasons may have stopped before its peak.
	return 0, NoPeak
}

// Recorded is what became of one observation.
type Recorded struct {
	Seq       int64        // order of arrival of the try's row; 0 where nothing is stored
	Duplicate bool         // the same try, saying the same: no second effect
	Amended   bool         // the same try, filling fields that were not known
	Replaced  bool         // … and taking back a provisional kill: the row is new, with a Seq of its own
	Measured  bool         // … and giving a success the peak that it lacked
	Warnings  []FieldError // what looks wrong about it, though it was taken
	Err       error
}
