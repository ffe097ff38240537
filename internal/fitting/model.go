// Package fitting holds the model of one task: it encodes features, fits predictors on
// the task's history, evaluates challenger against champion, and turns predictions into
// allocations, ladders and reasons.
//
//	history ─▶ rows ─▶ encoder ─▶ models ─▶ Point ─▶ experts ─▶ Answer
//	                   (frozen)                                    │
//	Allocation ◀── floor, cap, MiB, bins, reason ◀─────────────────┘
//
// It depends on sizing and the packages below ml, and knows nothing of HTTP, SQL, clocks
// or callers. It is deterministic: the same history gives the same bytes.
package fitting

import (
	"math"
	"slices"
	"sync"
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
	EarlyRows       []row               `cbor:"Early"`      // the first rows, on which a task in its burn-in is refitted after each report
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

// Learn adds one ended try. It restores the task's own margins until the next SetPool.
func (m *Model) Learn(t TrainingRow) {
	m.state = states.Add(1)
	m.leavePool()
	m.Sampling.raise(&t)
	if t.Amends {
		t.CPUMax = 0 // the next training learns everything but the peak
	} else {
		m.countTry(&t)
	}
	switch t.Censoring {
	case sizing.Exact:
		if m.quarantine(&t) {
			return
		}
		m.learnExact(&t)
		m.releasePlausible()
	case sizing.AtLeast:
		escalated := escalates(m.KnownKills, t.Run, t.Peak)
		if m.quarantine(&t) {
			if escalated {
				m.learnKill(&t)
			}
			return
		}
		m.learnBound(&t)
	case sizing.AtMost:
		m.Unresolved.learn(&t)
	}
}

// learnExact learns a measured peak.
func (m *Model) learnExact(t *TrainingRow) {
	if m.inBurnIn() {
		m.extendSchema(t.Features)
	}
	m.compareRequest(t)
	m.Unresolved.learn(t)
	r := m.rowOf(t)
	m.learnPeak(t)
	m.learnRow(&r, t.Seq)
	m.refitEarly(r)
}

// learnBound learns an OOM kill.
func (m *Model) learnBound(t *TrainingRow) {
	if m.inBurnIn() {
		m.extendSchema(t.Features)
	}
	m.compareRequest(t)
	m.Unresolved.learn(t)
	m.raiseBound(t.Peak)
	m.learnKill(t)
}

// raiseBound records that a try was killed with b.
func (m *Model) raiseBound(b sizing.Bytes) {
	m.Bound = max(m.Bound, b)
	if m.Experts.Told > 0 {
		m.Experts.MaxPeak = max(m.Experts.MaxPeak, float64(b))
	}
}

// countTry updates what every try changes, whatever its outcome.
func (m *Model) countTry(t *TrainingRow) {
	m.Tries++
	m.LastSeq = max(m.LastSeq, t.Seq)
	if t.Outcome.OOM() {
		m.Kills++
	}
	if t.Censoring == sizing.AtMost {
		m.Unmeasured.Runs++
		m.Unmeasured.Largest = max(m.Unmeasured.Largest, t.Peak)
	}
	if t.Outcome != sizing.Unschedulable {
		m.Started = max(m.Started, t.Allocated.Memory)
	}
	if t.Requested.Memory > 0 {
		m.Requested.Memory = t.Requested.Memory
	}
	if t.Requested.CPU > 0 {
		m.Requested.CPU = t.Requested.CPU
	}
	if !m.learnCores(t) {
		t.CPUMax = 0 // a refit during burn-in must not see it
	}
	m.comparePromise(t)
}

// comparePromise compares a promised risk with the outcome.
func (m *Model) comparePromise(t *TrainingRow) {
	killed := t.Outcome.OOM()
	if t.FirstTry && t.Promised != nil && (killed || t.Outcome == sizing.Success) {
		m.Share.Kept(m.Experts.Told, *t.Promised/m.Experts.Factor, killed)
	}
}

// learnRow learns a measured row: first the experts, from the models' prediction before the row,
// then the models.
func (m *Model) learnRow(r *row, seq int64) {
	m.widenRange(sizing.Bytes(r.Peak))
	m.Share.Spent(r.Peak * r.Seconds)
	r.Residual = math.NaN()
	if m.Models == nil {
		m.Experts.Learn(nil, r.Peak, r.Seconds, &m.Share)
		m.startColdStart(r)
		return
	}
	var p experts.Point
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	m.predict(r.Cells, sizing.DefaultRiskTarget, &p, b)
	if p.Young == nil && !p.Blind { // its residual counts even while it does not answer
		m.predictColdStart(r.Cells, &p, b)
	}
	if p.Blind { // an imputed prediction says nothing about the models
		m.addPending(r, &b.donorMean, seq)
	} else {
		m.recordResidual(r, &p, b, seq)
	}
	m.Overrun.Add(math.Log1p(r.Seconds)-p.Duration, maxOverruns)
	lowest := m.Experts.LowestResidual()
	changed := m.Experts.Learn(&p, r.Peak, r.Seconds, &m.Share)
	m.learnColdStart(r, &p, b)
	m.Models.learn(r, &p, lowest, b)
	if changed > 0 {
		m.Changed = m.OutOfSample[max(0, len(m.OutOfSample)-changed)].Seq
	}
}

// widenRange widens the range of learned peaks.
func (m *Model) widenRange(peak sizing.Bytes) {
	m.Largest = max(m.Largest, peak)
	if m.Smallest == 0 || peak < m.Smallest {
		m.Smallest = peak
	}
}

// recordResidual records the prediction for a row before the model learns it.
func (m *Model) recordResidual(r *row, p *experts.Point, b *buffers, seq int64) {
	r.Residual = math.Log(r.Peak) - p.Level[experts.LineTrees]
	r.Granted = m.Experts.Answer(p, sizing.DefaultRiskTarget, &b.scratch).Amount
	m.OutOfSample = append(m.OutOfSample, outOfSample{Seq: seq, Residual: r.Residual, Granted: r.Granted})
	if len(m.OutOfSample) > maxOutOfSample+maxOutOfSample/4 {
		m.OutOfSample = slices.Delete(m.OutOfSample, 0, len(m.OutOfSample)-maxOutOfSample)
	}
	m.Share.Missed(r.Residual)
}

// bufferPool avoids allocations in concurrent predictions; see BenchmarkSize.
var bufferPool = sync.Pool{New: func() any { return new(buffers) }}

// earlyFitRows are the numbers of measured rows at which Learn refits the models: the first rows
// change a task's model the most, and fitting them is cheap.
var earlyFitRows = []int{1, 2, 3, 5, 8, 12, 18}

// inBurnIn reports whether Learn still refits the models.
func (m *Model) inBurnIn() bool { return m.Experts.Told < earlyFitRows[len(earlyFitRows)-1] }

// refitEarly stores a row of the burn-in and refits the models when a fit is due.
func (m *Model) refitEarly(r row) {
	if m.Experts.Told > earlyFitRows[len(earlyFitRows)-1] {
		m.EarlyRows = nil
		return
	}
	m.EarlyRows = append(m.EarlyRows, r)
	if slices.Contains(earlyFitRows, m.Experts.Told) {
		// If a fit fails, the last good models stay in use.
		if fitted, err := fitModels(&m.Schema, m.EarlyRows, m.Models, m.Trees, seedOf(m.Experts.Told)); err == nil {
			m.Models, m.Fitted = fitted, m.Experts.Told
			m.learnPending()
		}
	}
}

// seedOf returns a seed that makes each fit reproducible and the fits of one task differ.
func seedOf(rows int) uint64 { return uint64(rows) }

// extendSchema adds the new features of a report to the schema, and to the early rows.
func (m *Model) extendSchema(f sizing.Features) {
	if m.Schema.Extend(f) {
		m.Schema = m.Schema.Shape()
		for i := range m.EarlyRows {
			m.EarlyRows[i].Cells = padded(m.EarlyRows[i].Cells, len(m.Schema.Fields))
		}
	}
}

func padded(cells []sizing.Value, n int) []sizing.Value {
	for len(cells) < n {
		cells = append(cells, sizing.Value{})
	}
	return cells
}

// rowOf converts a measured try.
func (m *Model) rowOf(t *TrainingRow) row {
	return row{
		Cells: m.cells(t.Features, nil), Peak: math.Max(1, float64(t.Peak)), Seconds: secondsOf(t.Duration),
		Cores: float64(t.CPUMax), Weight: 1,
	}
}

// secondsOf returns a duration as a cost weight. An unknown duration counts as a minute.
func secondsOf(d time.Duration) float64 {
	if d <= 0 {
		return 60
	}
	return d.Seconds()
}

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
