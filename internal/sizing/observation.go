package sizing

import (
	"fmt"
	"math"
	"time"
)

// Outcome is the way in which a try ended. It is stored as a number, so new outcomes are appended.
type Outcome uint8

// The outcomes. Only OOMKilled and AppOOM report a lack of memory.
const (
	UnknownOutcome Outcome = iota
	Success
	OOMKilled     // the kernel killed the container at its limit: peak >= allocation
	AppOOM        // the program ran out of memory (MemoryError, heap space) and exited
	Failed        // ended with an error; its reporter knows of no lack of memory
	Killed        // killed by a signal of unknown cause
	Evicted       // the pod was evicted, preempted or deleted, or its node was lost; reports do not distinguish these
	Unschedulable // never started: the allocation fitted no node
)

var outcomes = [...]string{"", "success", "oom_killed", "app_oom", "failed", "killed", "evicted", "unschedulable"}

// String returns the wire form; "" for UnknownOutcome.
func (o Outcome) String() string { return outcomes[o] }

// ParseOutcome parses the wire form. ok is false for an unknown outcome.
func ParseOutcome(s string) (o Outcome, ok bool) {
	for i, name := range outcomes {
		if i > 0 && name == s {
			return Outcome(i), true
		}
	}
	return UnknownOutcome, false
}

// MayBeOOM reports whether o is a failure that can turn out to be an OOM kill, because its reporter may not know the cause.
func (o Outcome) MayBeOOM() bool { return o == Failed || o == Killed }

// OOM reports whether the try ran out of memory. After AppOOM, the cause may be a limit of the program, not the allocation.
func (o Outcome) OOM() bool { return o == OOMKilled || o == AppOOM }

// Resources holds an amount of memory and CPU. Zero fields are unknown.
type Resources struct {
	Memory Bytes
	CPU    Cores
}

// Observation is the report of one try: its usage and its outcome. Zero fields are unknown. The
// report reveals the peak as follows:
//
//	success    MemoryMax is the peak; if it is unknown, MemorySampled is at most the peak;
//	           if both are unknown, Allocated.Memory is at least the peak (left-censored)
//	OOMKilled  the peak is at least the largest of MemoryMax, MemorySampled and Allocated.Memory
//	           (right-censored)
//	AppOOM     the peak is at least the larger of MemoryMax and MemorySampled or, if both are unknown, Allocated.Memory
//	           (right-censored); if the measured peak is clearly below Allocated.Memory, the program may
//	           have a limit of its own, and more memory may not help
type Observation struct {
	Try       TryKey
	Outcome   Outcome
	MemoryMax Bytes
	// MemorySampled is the largest of periodic samples, such as those of Prometheus. They miss
	// a peak between two samples.
	MemorySampled Bytes
	CPUMax        Cores
	Duration      time.Duration
	StartedAt     time.Time
	EndedAt       time.Time
	Allocated     Resources
	Requested     Resources // the static request of the DAG
	Features      Features  // nil: those of a prediction for the try, or of another try of its run
	PredictionID  string
	Series        *Series       // the usage over time; nil if unknown
	Detailed      *Series       // the usage in short steps, from which plans are learned (see PlanSeries); nil if unknown
	Executed      *ExecutedPlan // nil if the try had no plan
	Metadata      Metadata
	Usage         MeanUsage
	Placement     Placement

	// InheritsFeatures says that Features come from a prediction or from another try. They do not contradict stored features. No
	// caller sends it.
	InheritsFeatures bool

	// RunScore is the run score (taskmodel.Question) of the newest prediction for the try or, without a prediction, of the newest
	// lift of its run; 0: none is known. No caller sends it: the service adds it.
	RunScore float64

	// PredictedAt is the time of the newest prediction for the try, which the try cannot precede; zero: unknown. No caller sends it.
	PredictedAt time.Time

	// Provisional marks a report whose outcome the reporter of the try has not confirmed: a kill that a LiftAsk reports, or a
	// report of what another source, such as Prometheus, knows of the try. A later report that is not provisional replaces it
	// if the two contradict each other. A provisional report replaces nothing, with one exception: the OOM kill of a pod
	// replaces a stored failure of unknown cause as the outcome of its try.
	Provisional bool
}

// MaxDuration is the longest duration that a report may contain: ten years.
const MaxDuration = 10 * 365 * 24 * time.Hour

// BelowResolution is the Duration of a report of 0 seconds: the try was shorter than the clock could show. Unlike zero, it
// is known. DeriveDuration replaces it before the report is stored.
const BelowResolution = time.Nanosecond

// DurationOf returns the Duration of a report of a number of seconds, rounded to microseconds, the precision of the store. If
// the rounded duration is zero, it returns BelowResolution.
func DurationOf(seconds float64) time.Duration {
	return max(time.Duration(math.Round(seconds*1e6))*time.Microsecond, BelowResolution)
}

// shortDuration replaces BelowResolution. Only a clock of whole seconds shows 0 for a real try, and the mean of the
// durations below a second is half a second.
const shortDuration = time.Second / 2

// DeriveDuration sets a duration that is unknown or below a microsecond to the time from the start to the end of the try. If
// this time is unknown, not positive, or longer than MaxDuration (then the start or the end is wrong), an unknown duration stays
// unknown, and a known one becomes shortDuration.
func (o *Observation) DeriveDuration() {
	isShort := o.Duration > 0 && o.Duration < time.Microsecond // the precision of the store
	if o.Duration != 0 && !isShort {
		return
	}
	span := o.EndedAt.Sub(o.StartedAt)
	switch {
	case !o.StartedAt.IsZero() && !o.EndedAt.IsZero() && span > 0 && span <= MaxDuration:
		o.Duration = span
	case isShort:
		o.Duration = shortDuration
	}
}

// Validate returns an error for each invalid field.
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
		add("allocated.memory_bytes", "is required for an OOM without memory_max_bytes and memory_sampled_bytes: it is the lower bound of the peak")
	}
	bad = append(bad, o.Series.Validate()...)
	bad = append(bad, o.Detailed.CheckDetailed()...)
	bad = append(bad, o.Executed.Validate()...)
	return append(bad, o.Features.Validate()...)
}

// Censoring describes the relation between the reported amount and the true peak.
type Censoring uint8

// The kinds of censoring.
const (
	NoPeak   Censoring = iota // no information
	Exact                     // measured
	AtLeast                   // right-censored by an OOM
	AtMost                    // left-censored: a success without a measured peak
	Sampled                   // the largest sample of a success; the true peak may be higher
	OwnLimit                  // the measured peak of a program that ran out of memory clearly below its allocation
)

// HasPeak reports whether the amount is the measured or sampled peak of a success.
func (c Censoring) HasPeak() bool { return c == Exact || c == Sampled }

// Peak returns the observed peak memory and how it is censored.
func (o *Observation) Peak() (Bytes, Censoring) {
	switch {
	case o.Outcome == AppOOM && o.measured() > 0:
		if o.isBelowAllocation() {
			return o.measured(), OwnLimit
		}
		return o.measured(), AtLeast
	case o.Outcome.OOM():
		return max(o.MemoryMax, o.MemorySampled, o.Allocated.Memory), AtLeast
	case o.Outcome == Success && o.MemoryMax > 0:
		return o.MemoryMax, Exact
	case o.Outcome == Success && o.MemorySampled > 0:
		return o.MemorySampled, Sampled
	case o.Outcome == Success && o.Allocated.Memory > 0:
		return o.Allocated.Memory, AtMost
	}
	// A try that failed for other reasons may have stopped before its peak.
	return 0, NoPeak
}

func (o *Observation) measured() Bytes { return max(o.MemoryMax, o.MemorySampled) }

// ownLimitShare is the share of its allocation below which a program that runs out of memory may have reached a limit of its
// own, such as the -Xmx of a JVM. Limits that follow the allocation, such as MaxRAMPercentage,
// leave a part of it unused, too; the peaks of other tries distinguish them (package taskmodel, LiftState.OwnLimit).
const ownLimitShare = 0.9

// SamePeak is the largest ratio of the peaks of two tries that ended at the same limit of a program.
const SamePeak = 1.1

func (o *Observation) isBelowAllocation() bool {
	return float64(o.measured()) < ownLimitShare*float64(o.Allocated.Memory)
}

// RecordResult is the result of storing one observation.
type RecordResult struct {
	Seq        int64        // order of arrival of the try's row; 0 if nothing is stored
	Duplicate  bool         // the try was already stored, and the report adds nothing to it
	Amended    bool         // the report added values that the stored try lacked, or confirmed a provisional report
	Replaced   *Observation // the provisional report that the report replaced with a new row, which has its own Seq; implies Amended
	Explained  bool         // of the stored and the new report, one is a failure of unknown cause, and the other the OOM kill of the pod, which is stored now; implies Amended
	Measured   bool         // the report added a measured or sampled peak to a stored success without one; implies Amended
	Superseded string       // run id that the stored reports have now, because the new report is of a later execution of their run; empty otherwise
	Late       bool         // the report is of an earlier execution than the newest stored report of the try
	Allocated  Bytes        // of a provisional kill that is a Duplicate: the allocation in the stored report; 0 if unknown
	Warnings   []FieldError // fields that look wrong, although the report is stored
	Err        error        // why the report was rejected; nil otherwise
}
