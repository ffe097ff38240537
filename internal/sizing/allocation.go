package sizing

import "time"

// Source names the rule that produced an answer.
type Source string

// The sources, from the most to the least specific.
const (
	FromModel     Source = "model"     // the task's own model
	FromProfile   Source = "profile"   // too few rows to fit: a conservative quantile of the task's own history
	FromCohort    Source = "cohort"    // similar tasks
	FromRequested Source = "requested" // no history: the static request, unchanged
	FromLift      Source = "lift"      // an earlier try of this run was OOM-killed
)

// Ask asks for an allocation before a launch. Zero fields are unknown.
type Ask struct {
	Try       TryKey
	Features  Features
	Requested Resources
	MaxMemory Bytes // the caller's cap, such as the largest node
}

// Validate returns an error for each invalid field.
func (a *Ask) Validate() []FieldError {
	bad := a.Try.Validate(false)
	if a.Requested.Memory < 0 || a.Requested.Memory > MaxBytes {
		bad = append(bad, FieldError{"requested.memory_bytes", "must be 1 byte to 8Pi"})
	}
	if c := a.Requested.CPU; !(c >= 0 && c <= MaxCores) {
		bad = append(bad, FieldError{"requested.cpu_cores", "must be above 0 and at most 1048576 cores"})
	}
	if a.MaxMemory < 0 || a.MaxMemory > MaxBytes {
		bad = append(bad, FieldError{"max_memory_bytes", "must be 1 byte to 8Pi"})
	}
	return append(bad, a.Features.Validate()...)
}

// Grant is the memory request and limit of a pod.
type Grant struct {
	Request Bytes
	Limit   Bytes
}

// Allocation is the answer to an Ask: how much, and why. Nil and zero fields do not apply.
type Allocation struct {
	PredictionID string
	Task         TaskKey
	Memory       Grant
	CPU          Cores // a request; CPU limits are never set
	Duration     *Duration
	Bins         *BinChoice
	Ladder       []Bytes // try 1, then the lift after each OOM
	Risk         Risk
	Source       Source
	Mode         Mode
	Shadow       *Grant // in shadow mode: the grant that enforce mode would give
	Model        *ModelRef
	Reason       string
	Guard        Guard // the model's safety margins at the time of the answer
}

// Duration is the predicted run time.
type Duration struct {
	Median, P95 time.Duration
}

// BinChoice holds P(peak in bin) for the task's bins, and the bin of the grant.
type BinChoice struct {
	Upper         []Bytes
	Probabilities []float64
	Chosen        int
}

// Risk is P(peak > Limit) of the granted amount, after floor, cap and guard.
type Risk struct {
	Promised *float64 // nil only if the source is FromRequested
	Target   float64
}

// ModelRef identifies the model that answered.
type ModelRef struct {
	Version      int
	Family       string
	Observations int
	TrainedAt    time.Time
}

// Guard is the state of a model's safety margins at the time of an answer. The same model
// version, Guard and Ask reproduce the answer bit for bit.
type Guard struct {
	Version int64     // the number of tries that the margins have learned
	Params  []float64 // in the order that the model's family documents
}

// Receipt is the stored record of one answer.
type Receipt struct {
	Ask        Ask
	Allocation Allocation
	At         time.Time
}
