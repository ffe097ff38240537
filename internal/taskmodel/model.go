// Package taskmodel holds the model of one task: it encodes features, fits predictors on
// the task's history, evaluates challenger against champion, and turns predictions into
// allocations, ladders and reasons.
//
//	history ─▶ rows ─▶ encoder ─▶ models ─▶ Point ─▶ experts ─▶ Answer
//	                   (frozen)                                    │
//	Allocation ◀── floor, cap, MiB, bins, reason ◀─────────────────┘
//
// It depends on sizing and the packages below ml, and knows nothing of HTTP, SQL, clocks
// or callers. It is deterministic: the same history gives the same bytes.
package taskmodel

import (
	"time"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// TrainingRow is one ended try as a Model learns it. A zero field means unknown.
type TrainingRow struct {
	Seq       int64
	Features  sizing.Features
	Outcome   sizing.Outcome
	Peak      sizing.Bytes
	Censoring sizing.Censoring
	CPUMax    sizing.Cores
	Duration  time.Duration
	Requested sizing.Resources
	Allocated sizing.Resources
	Granted   sizing.Bytes `cbor:",omitzero"` // memory that the service answered; zero: unknown, or the try was not OOM-killed
	FirstTry  bool
	Promised  *float64 // the promised risk; nil if there was none
	Run       uint64   `cbor:",omitzero"` // sizing.RunHash of the run
	Try       int      `cbor:",omitzero"`
	Amends    bool     `cbor:",omitzero"` // adds the peak of a success that was learned without one
}

// NewTrainingRow converts a stored row.
func NewTrainingRow(schema *sizing.Schema, r *sizing.HistoryRow) TrainingRow {
	peak, censoring := r.Peak()
	return TrainingRow{
		Seq: r.Seq, Features: schema.Features(r.Features), Outcome: r.Outcome, Peak: peak, Censoring: censoring,
		CPUMax: r.CPUMax, Duration: r.Duration, Requested: r.Requested, Allocated: r.Allocated, Granted: r.Granted,
		FirstTry: r.Try == 1, Promised: r.Promised,
		Run: sizing.RunHash(r.RunID, r.MapIndex), Try: r.Try,
	}
}

// Model is what the service knows of one task: point predictors, experts over their out-of-sample
// residuals, and the facts that an answer needs besides. Learn adds one row; Fit refits the
// predictors from time to time. Concurrent calls of Size are safe while neither Learn, Fit nor
// SetPool runs. A blob stores the exported fields, some of them under older names.
type Model struct {
	Schema          sizing.Schema
	Models          *models // nil before the first measured peak
	Experts         *experts.Experts
	Share           experts.Pool        // the task's contribution to the pool of its DAG
	Trees           Trees               `cbor:",omitzero"`  // how its trees are grown
	Sampling        sampling            `cbor:",omitzero"`  // by how much sampled peaks fall short
	EarlyRows       []row               `cbor:"Early"`      // the first rows, on which Learn refits the models
	OutOfSample     []outOfSample       `cbor:"Honest"`     // newest last
	Pending         []pendingRow        `cbor:",omitempty"` // newest last
	Quarantine      []quarantinedReport `cbor:"Held"`       // implausible reports that no other report has confirmed yet, oldest first
	LastSeq         int64
	Changed         int64 // Seq of the first row after the last change point of the task; 0: none was found
	Tries           int   // learned, of any outcome
	Kills           int
	Fitted          int              // measured rows at the last fit
	Largest         sizing.Bytes     // measured peak
	Smallest        sizing.Bytes     `cbor:",omitzero"` // measured peak; zero in models stored before this field existed
	Bound           sizing.Bytes     // largest allocation that was killed
	Started         sizing.Bytes     // largest allocation that a pod started with
	Requested       sizing.Resources // as last reported
	Unresolved      unresolved       `cbor:",omitzero"` // kills whose run has not succeeded
	CPU             Cores
	QuarantineCores []quarantinedCores `cbor:"HeldCores,omitempty"` // implausible CPU measurements that no other measurement has confirmed yet, oldest first
	Overrun         experts.Window     // out-of-sample residuals of log seconds
	Bins            sizing.Bins
	Drivers         []string // features that drive usage, strongest first
	Ambiguity       string
	LastEvaluation  Evaluation `cbor:"LastExam"`

	KnownKills []knownKill         `cbor:",omitempty"` // oldest first
	Unmeasured unmeasuredSuccesses `cbor:"Enough,omitzero"`

	ColdStart bayes.Average `cbor:"First,omitzero"` // predictor of the first rows; empty in models stored before this field existed

	state uint64 // identifies the model's current state; no two states share one
	own   ownMargins
}

// outOfSample is an out-of-sample (prequential) residual: the prediction for a row before the
// model learned it.
type outOfSample struct {
	_        struct{} `cbor:",toarray"` // a model stores thousands
	Seq      int64
	Residual float64 // of experts.LineTrees, in log units
	Granted  float64 // what would have been granted
}

const (
	maxOutOfSample = 2000
	maxOverruns    = 500
)

// expertConfig configures the experts for the default risk target. experts.Answer scales to the
// risk target of a policy.
var expertConfig = experts.Default(sizing.DefaultRiskTarget)

// New returns a Model without any history.
func New() *Model {
	return &Model{Experts: experts.New(expertConfig), state: states.Add(1)}
}

// LargestPeak returns the largest measured peak; zero if there is none. Kills do not count: a
// leak must not raise its own cap.
func (m *Model) LargestPeak() sizing.Bytes { return m.Largest }

// LargestKilled returns the largest allocation that was killed; zero if there is none.
func (m *Model) LargestKilled() sizing.Bytes { return m.Bound }

// LargestStarted returns the largest allocation that a pod started with.
func (m *Model) LargestStarted() sizing.Bytes { return m.Started }

// Ambiguous returns a warning if the features cannot distinguish the runs, else "".
func (m *Model) Ambiguous() string { return m.Ambiguity }

// Pool returns the task's contribution to the pool of its DAG.
func (m *Model) Pool() Pool { return m.Share }

// cells appends the values of f to dst[:0] in the order of the schema; a value of another kind
// counts as missing.
func (m *Model) cells(f sizing.Features, dst []sizing.Value) []sizing.Value {
	dst = dst[:0]
	for i := range m.Schema.Fields {
		field := &m.Schema.Fields[i]
		dst = append(dst, field.Read(f[field.Name]))
	}
	return dst
}

// Pool is the shared state of the tasks of one DAG: what a row costs on average, and how well
// promises were kept.
type Pool = experts.Pool

// Guard watches the open tries of a task and sets Question.Widen. The caller keeps it, because a
// Model does not know open tries.
type Guard = experts.Guard

// OpenKills counts killed open runs; see Question.Open.
type OpenKills = experts.OpenKills

// Limits of a Guard.
const (
	GuardRuns = experts.GuardRuns
	GuardFor  = experts.GuardFor
)
