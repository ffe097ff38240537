package sizing

import "time"

// Source is where an answer came from.
type Source string

// The sources, from the most to the least that is known.
const (
	FromModel     Source = "model"     // the task's own model
	FromProfile   Source = "profile"   // too little to fit: a conservative quantile of the task's own history
	FromCohort    Source = "cohort"    // similar tasks
	FromRequested Source = "requested" // nothing known: the static request, unchanged
	FromLift      Source = "lift"      // an earlier try of this run was OOM-killed
)

// Ask is the question before a launch. Zero fields are not known.
type Ask struct {
	Try       TryKey
	Features  Features
	Requested Resources
	MaxMemory Bytes // the caller's cap, such as the largest node
}

// Validate names the fields that cannot be right.
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

// Grant is what a pod should get of memory: request and limit.
type Grant struct {
	Request Bytes
	Limit   Bytes
}

// Allocation is the answer to an Ask: how much, and why. Nil and zero fields
// have nothing to say.
type Allocation struct {
	PredictionID string
	Task         TaskKey
	Memory       Grant
	CPU          Cores // a request only: CPU is never limited
	Duration     *Duration
	Bins         *BinChoice
	Ladder       []Bytes // try 1, then what each OOM is lifted to
	Risk         Risk
	Source       Source
	Mode         Mode
	Shadow       *Grant // in shadow mode: what would have been granted
	Model        *ModelRef
	Reason       string
	Guard        Guard // what the model's margins were when it answered
}

// Duration is what is expected of the run time.
type Duration struct {
	Median, P95 time.Duration
}

// BinChoice is P(peak in bin) over the task's bins, and the bin of the grant.
type BinChoice struct {
	Upper         []Bytes
	Probabilities []float64
	Chosen        int
}

// Risk is P(peak > Limit) of this try as granted, after floor, cap and guard.
type Risk struct {
	Promised *float64 // nil only where the source is FromRequested
	Target   float64
}

// ModelRef says which model answered.
type ModelRef struct {
	Version      int
	Family       string
	Observations int
	TrainedAt    time.Time
}

// Guard is the state of a model's margins at the moment of an answer: together
// with the model of the same version and the Ask it gives the answer again, bit
// for bit.
type Guard struct {
	Version int64     // counts what the margins have learned since the model was trained
	Params  []float64 // in the order that the model's family documents
}

// Receipt is the stored record of one answer.
type Receipt struct {
	Ask        Ask
	Allocation Allocation
	At         time.Time
}
