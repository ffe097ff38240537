// Package fitting is the one translator between words and numbers: it encodes
// features, fits models on a task's history, and turns their numbers back into
// allocations, ladders and reasons.
//
//	history ─▶ rows ─▶ encoder ─▶ models ─▶ Point ─▶ experts ─▶ Answer
//	(words)            (frozen)   (numbers)                      │
//	Allocation ◀── floor, cap, MiB, bins, reason ◀───────────────┘
//
// It knows sizing and the rooms of ml, and nothing of HTTP, SQL, clocks or who is
// asking. Everything here is deterministic: the same history gives the same bytes.
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

// TrainingRow is one ended try, as a Model learns it. Zero fields are not known.
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
	Granted   sizing.Bytes `cbor:",omitzero"` // memory that the service answered; zero: not known, or the try was not OOM-killed
	FirstTry  bool
	Promised  *float64 // the risk that was promised of it; nil where none was
	Run       uint64   `cbor:",omitzero"` // sizing.RunHash of its run
	Try       int      `cbor:",omitzero"`
	Amends    bool     `cbor:",omitzero"` // the peak of a success that was learned without one
}

// NewTrainingRow reads a stored row.
func NewTrainingRow(schema *sizing.Schema, r *sizing.HistoryRow) TrainingRow {
	peak, censoring := r.Peak()
	return TrainingRow{
		Seq: r.Seq, Features: schema.Features(r.Features), Outcome: r.Outcome, Peak: peak, Censoring: censoring,
		CPUMax: r.CPUMax, Duration: r.Duration, Requested: r.Requested, Allocated: r.Allocated, Granted: r.Granted,
		FirstTry: r.Try == 1, Promised: r.Promised,
		Run: sizing.RunHash(r.RunID, r.MapIndex), Try: r.Try,
	}
}

// Model is what is known of one task: point models, the experts over their honest
// residuals, and what else an answer needs. It learns row by row (Learn) and is
// fitted anew now and then (Fit). It may be asked from many goroutines while
// nobody tells it anything. The exported fields are what a blob holds.
type Model struct {
	Schema          sizing.Schema
	Models          *models // nil before the first measured peak
	Experts         *experts.Experts
	Share           experts.Pool        // the task's share in what its DAG's tasks learned
	Trees           Trees               `cbor:",omitzero"`  // how its trees are grown
	Sampling        sampling            `cbor:",omitzero"`  // what samples of a peak miss
	EarlyRows       []row               `cbor:"Early"`      // the first rows, from which a young task is refitted at once
	OutOfSample     []outOfSample       `cbor:"Honest"`     // newest last
	Pending         []pendingRow        `cbor:",omitempty"` // newest last
	Quarantine      []quarantinedReport `cbor:"Held"`       // implausible reports that no other has confirmed yet, oldest first
	LastSeq         int64
	Changed         int64 // place of the first row after the last change of the task; 0: none was seen
	Tries           int   // told, of any outcome
	Kills           int
	Fitted          int // measured rows at the last fit
	Largest         sizing.Bytes
	Smallest        sizing.Bytes `cbor:",omitzero"` // learned peak; zero in models stored before this field
	Bound           sizing.Bytes // largest allocation that was killed
	Started         sizing.Bytes
	Requested       sizing.Resources // the last that was reported
	Unresolved      unresolved       `cbor:",omitzero"` // kills that no success has explained yet
	CPU             Cores
	QuarantineCores []quarantinedCores `cbor:"HeldCores,omitempty"` // implausible CPU measurements that no other confirms, oldest first
	Overrun         experts.Window     // honest residuals of log seconds
	Bins            sizing.Bins
	Drivers         []string // features that drive usage, strongest first
	Ambiguity       string
	LastEvaluation  Evaluation `cbor:"LastExam"`

	KnownKills []knownKill         `cbor:",omitempty"` // oldest first
	Unmeasured unmeasuredSuccesses `cbor:"Enough,omitzero"`

	ColdStart bayes.Average `cbor:"First,omitzero"` // what the task's first rows say; empty in models stored before this field

	state uint64 // of its state: no other model, and none later, has the same
	own   ownMargins
}

// honest is what was said of a row before it was told.
type outOfSample struct {
	_        struct{} `cbor:",toarray"` // thousands are stored
	Seq      int64
	Residual float64 // of LineTrees
	Granted  float64 // what would have been allocated
}

const (
	maxOutOfSample = 2000
	maxOverruns    = 500
)

// expertConfig is the rule at the default risk. A policy's own risk target scales
// the answer: see risk.go.
var expertConfig = experts.Default(sizing.DefaultRiskTarget)

// New is a Model that was told nothing.
func New() *Model {
	return &Model{Experts: experts.New(expertConfig), state: states.Add(1)}
}

// LargestPeak is the largest measured peak so far; zero if none. Kills do not
// count: a leak must not raise its own cap.
func (m *Model) LargestPeak() sizing.Bytes { return m.Largest }

// LargestKilled is the largest allocation that was killed so far; zero if none was.
func (m *Model) LargestKilled() sizing.Bytes { return m.Bound }

// LargestStarted is the largest allocation that a pod was started with.
func (m *Model) LargestStarted() sizing.Bytes { return m.Started }

// Ambiguous says why the features cannot tell the runs apart; "" if they can.
func (m *Model) Ambiguous() string { return m.Ambiguity }

// Pool is the task's share in what all tasks of a service learn together.
func (m *Model) Pool() Pool { return m.Share }

// Learn tells the model one ended try. Answers follow the task's own share of the
// pool, until SetPool tells of the others.
func (m *Model) Learn(t TrainingRow) {
	m.state = states.Add(1)
	m.leavePool()
	m.Sampling.raise(&t)
	if t.Amends {
		t.CPUMax = 0 // waits for the training, as all details but the peak do
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

// learnExact takes in a measured peak.
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

// learnBound takes in a kill.
func (m *Model) learnBound(t *TrainingRow) {
	if m.inBurnIn() {
		m.extendSchema(t.Features)
	}
	m.compareRequest(t)
	m.Unresolved.learn(t)
	m.raiseBound(t.Peak)
	m.learnKill(t)
}

// raiseBound takes in that a try was killed with b.
func (m *Model) raiseBound(b sizing.Bytes) {
	m.Bound = max(m.Bound, b)
	if m.Experts.Told > 0 {
		m.Experts.MaxPeak = max(m.Experts.MaxPeak, float64(b))
	}
}

// count takes in what every try tells, whatever its outcome.
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
		t.CPUMax = 0 // no fit of a young task may see it
	}
	m.comparePromise(t)
}

// keep holds a promise against what happened.
func (m *Model) comparePromise(t *TrainingRow) {
	killed := t.Outcome.OOM()
	if t.FirstTry && t.Promised != nil && (killed || t.Outcome == sizing.Success) {
		m.Share.Kept(m.Experts.Told, *t.Promised/m.Experts.Factor, killed)
	}
}

// learnRow tells a measured row to the experts first, by what the models said
// before, and then to the models.
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
	if p.Young == nil && !p.Blind { // it is judged even where it has no share in the answers
		m.predictColdStart(r.Cells, &p, b)
	}
	if p.Blind { // a guess says nothing of the models
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

// span widens the range of learned peaks.
func (m *Model) widenRange(peak sizing.Bytes) {
	m.Largest = max(m.Largest, peak)
	if m.Smallest == 0 || peak < m.Smallest {
		m.Smallest = peak
	}
}

// vouch keeps what was said of a row before it was told.
func (m *Model) recordResidual(r *row, p *experts.Point, b *buffers, seq int64) {
	r.Residual = math.Log(r.Peak) - p.Level[experts.LineTrees]
	r.Granted = m.Experts.Answer(p, sizing.DefaultRiskTarget, &b.scratch).Amount
	m.OutOfSample = append(m.OutOfSample, outOfSample{Seq: seq, Residual: r.Residual, Granted: r.Granted})
	if len(m.OutOfSample) > maxOutOfSample+maxOutOfSample/4 {
		m.OutOfSample = slices.Delete(m.OutOfSample, 0, len(m.OutOfSample)-maxOutOfSample)
	}
	m.Share.Missed(r.Residual)
}

// bufferPool: answers must not allocate, and are asked from many goroutines.
var bufferPool = sync.Pool{New: func() any { return new(buffers) }}

// earlyFits are the measured rows at which a young task is refitted on the spot:
// its first rows change the most, and cost the least to learn.
var earlyFitRows = []int{1, 2, 3, 5, 8, 12, 18}

// young reports whether the task is still refitted on the spot.
func (m *Model) inBurnIn() bool { return m.Experts.Told < earlyFitRows[len(earlyFitRows)-1] }

// early keeps the first rows, and refits on them.
func (m *Model) refitEarly(r row) {
	if m.Experts.Told > earlyFitRows[len(earlyFitRows)-1] {
		m.EarlyRows = nil
		return
	}
	m.EarlyRows = append(m.EarlyRows, r)
	if slices.Contains(earlyFitRows, m.Experts.Told) {
		// A fit that fails leaves the last good models answering.
		if fitted, err := fitModels(&m.Schema, m.EarlyRows, m.Models, m.Trees, seedOf(m.Experts.Told)); err == nil {
			m.Models, m.Fitted = fitted, m.Experts.Told
			m.learnPending()
		}
	}
}

// seedOf makes every fit repeatable, and no two of a task the same.
func seedOf(rows int) uint64 { return uint64(rows) }

// admit extends the schema by what a young task sends, and the early rows with it.
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

// rowOf translates a measured try.
func (m *Model) rowOf(t *TrainingRow) row {
	return row{
		Cells: m.cells(t.Features, nil), Peak: math.Max(1, float64(t.Peak)), Seconds: secondsOf(t.Duration),
		Cores: float64(t.CPUMax), Weight: 1,
	}
}

// secondsOf is a duration as a cost: one that is not known counts as a minute, so
// that its row still weighs something.
func secondsOf(d time.Duration) float64 {
	if d <= 0 {
		return 60
	}
	return d.Seconds()
}

// cells are the values of f in the order of the schema; of another kind: missing.
func (m *Model) cells(f sizing.Features, dst []sizing.Value) []sizing.Value {
	dst = dst[:0]
	for i := range m.Schema.Fields {
		field := &m.Schema.Fields[i]
		dst = append(dst, field.Read(f[field.Name]))
	}
	return dst
}

// Pool is what the tasks of a DAG learn together: what a row costs on
// average, and how promises were kept.
type Pool = experts.Pool

// Guard watches the open tries of a task: see Question.Widen. It is kept by who
// knows what is open, not by the Model.
type Guard = experts.Guard

// OpenKills is how many open runs were killed: see Question.Open.
type OpenKills = experts.OpenKills

// Limits of what a Guard watches.
const (
	GuardRuns = experts.GuardRuns
	GuardFor  = experts.GuardFor
)
