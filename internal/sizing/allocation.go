package sizing

import "time"

// Source names the rule that produced an answer.
type Source string

// The sources of a first try, from the most to the least specific, and the source of a lift.
const (
	FromModel     Source = "model"     // the task's own model
	FromProfile   Source = "profile"   // the task's own model in its cold start or without a known peak, or the outline of an evicted model
	FromCohort    Source = "cohort"    // similar tasks
	FromRequested Source = "requested" // the static request: within floor and cap in the mode enforce, otherwise unchanged
	FromLift      Source = "lift"      // the next allocation after an OOM kill of this run
)

// Ask is a request for an allocation before a launch. Zero fields are unknown.
type Ask struct {
	Try       TryKey
	Features  Features
	Requested Resources // the static request of the DAG
	MaxMemory Bytes     // the caller's cap, such as the largest node

	// The receipt does not store the fields below.
	Metadata  Metadata      `json:"-"`
	Placement Placement     `json:"-"`
	Timeout   time.Duration `json:"-"` // execution timeout of the try
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

// Allocation is the answer to an Ask: the amounts and the reason. Nil and zero fields do not apply.
type Allocation struct {
	PredictionID string
	Task         TaskKey
	Memory       Grant
	CPU          Cores // a request; CPU limits are never set
	Duration     *Duration
	Bins         *BinChoice
	Ladder       []Bytes // the grant (in shadow mode: Shadow) and the lifts after further OOM kills; in the receipt of a Lift: the model's rungs above the killed allocation
	Risk         Risk
	Source       Source
	Mode         Mode
	Shadow       *Grant // in shadow mode, and in the receipt of a Lift also in mode off: the grant that enforce mode would give
	Model        *ModelRef
	Reason       string
	Plan         *Plan        `json:",omitempty"` // nil without a plan
	Guard        Guard        // the state of the model's safety margins at the time of the answer
	Warnings     []FieldError `json:"-"` // parts of the ask that were ignored or look wrong
	Cohort       *Cohort      `json:"-"` // nil if other tasks did not contribute to the answer
	GPUMemory    *GPUMemory   `json:"-"` // nil if it is unknown or probably none
}

// Cohort describes the other tasks of the namespace that contributed to the answer for a task without history.
type Cohort struct {
	Profile    int     // id of the most probable usage profile; 0 is the outlier group
	Confidence float64 // probability of Profile; 0 if the namespace has no usage profiles
	Tasks      int     // number of learned tasks of the model that answers first: the model of the DAG, or the model of the namespace
	Runs       int     // number of runs of these tasks
	Level      float64 // natural logarithm of the predicted peak in bytes; 0 if it is unknown
}

// LevelOrZero returns Level; 0 for nil.
func (c *Cohort) LevelOrZero() float64 {
	if c == nil {
		return 0
	}
	return c.Level
}

// GPUMemory is the predicted peak of the GPU memory: its median and 95th percentile.
type GPUMemory struct {
	Median, P95 Bytes
}

// Duration is the predicted run time: some of its quantiles and probabilities.
type Duration struct {
	Median, P95 time.Duration

	// The receipt does not store the fields below.
	P99     time.Duration `json:"-"`
	Shape   string        `json:"-"` // name of the distribution that the run times share with those of other tasks; empty if unknown
	Outlier float64       `json:"-"` // P(run time > three times the median)
	Timeout *float64      `json:"-"` // P(run time > execution timeout); nil if the try has no timeout
}

// BinChoice holds the task's bins, their probabilities and the bin of the grant.
type BinChoice struct {
	Upper         []Bytes   // upper edges
	Probabilities []float64 // P(peak in bin), one per edge; the last bin includes all peaks above its edge
	Chosen        int       // index of the bin of the grant
}

// Risk compares the risk of an answer with the target.
type Risk struct {
	// Promised is P(peak > limit of the granted memory), after guard, floor and cap. It is nil if the source is
	// FromRequested, if the run was not killed and an input is too far outside the known range, if an outline of the model
	// gave the amount, and in the receipt of a Lift.
	Promised *float64
	Target   float64 // the risk target of the policy
}

// ModelRef identifies the model that answered.
type ModelRef struct {
	Version      int
	Family       string // kind of model: "own-history" during the cold start of the task, else "experts"
	Observations int    // number of reports of the task at the training, including those that retention removed
	TrainedAt    time.Time
}
