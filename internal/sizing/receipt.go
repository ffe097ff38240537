package sizing

import "time"

// Receipt is the stored record of one answer. What the caller sends belongs in Ask. A new field of the answer belongs in
// Allocation, and so does what only the model or its pool knows when it answers, such as Guard. A field that is known when the
// receipt is added belongs here. Package postgres must store fields of both kinds: body.go encodes them as JSON; compact.go
// encodes and compactread.go decodes the compact form.
type Receipt struct {
	Ask        Ask
	Allocation Allocation
	At         time.Time
}

// Guard is the state of a model's safety margins at the time of an answer; one of its values is the factor that the glossary
// calls guard. An explanation reproduces the answer from the same model version, the Guard and the Ask.
type Guard struct {
	Version int64     // the number of tries that the model had learned
	Params  []float64 // in the order of taskmodel's Model.guardState
}
