package taskmodel

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Learn adds one ended try. It ends the use of a pool: until the next call of SetPool, answers use only the task's own
// margins.
func (m *Model) Learn(t TrainingRow) {
	m.state = states.Add(1)
	t.Promised = m.meanPromise(&t)
	m.leavePool()
	m.runError.isKnown = false
	m.Sampling.raise(&t)
	m.noteAppOOM(&t)
	if m.precedesAll(&t) {
		m.learnPreceding(&t)
		return
	}
	m.countTry(&t)
	switch t.Censoring {
	case sizing.Exact:
		if m.quarantine(&t) {
			return
		}
		m.learnExact(&t)
		m.releasePlausible()
	case sizing.AtLeast:
		m.learnCensored(&t)
		isFurtherKill := hasSmallerKnownKill(m.KnownKills, t.Run, t.Peak)
		if m.quarantine(&t) {
			if isFurtherKill { // a further kill of the run counts as a known kill even in quarantine
				m.learnKill(&t)
			}
			return
		}
		m.learnBound(&t)
	case sizing.AtMost:
		m.Unresolved.learn(&t, false)
		m.AppOOMs.resolve(&t)
	case sizing.NoPeak, sizing.OwnLimit:
		m.learnCensored(&t)
	}
}

func (m *Model) learnExact(t *TrainingRow) {
	if m.isEarly() {
		m.extendSchema(t.Features)
	}
	m.compareRequest(t)
	m.raiseResumed(t)
	m.Understatement.learn(float64(t.Peak), m.killedBefore(t.Run), float64(t.Allocated.Memory))
	m.Unresolved.learn(t, false)
	m.AppOOMs.resolve(t)
	m.resolveColdStartKill(t.Run)
	r := m.rowOf(t)
	m.followLimit(t, r.Cells)
	m.learnPeak(t)
	isLearned := m.learnRow(&r, t)
	m.Reproduced += boolToInt(t.Reproduced)
	if isLearned {
		m.refitEarly(r)
	}
}

func (m *Model) learnBound(t *TrainingRow) {
	if m.isEarly() {
		m.extendSchema(t.Features)
	}
	m.compareRequest(t)
	m.Unresolved.learn(t, m.expectedKill(t))
	m.extendStreak(t)
	m.raiseBound(t.Peak)
	m.followLimit(t, nil)
	m.learnKill(t)
	m.addKilledStart(t)
	m.learnColdStartKill(t)
}

func (m *Model) raiseBound(b sizing.Bytes) {
	m.Bound = max(m.Bound, b)
	if m.Experts.LearnedRows > 0 {
		m.Experts.MaxPeak = max(m.Experts.MaxPeak, float64(b))
	}
}

// countTry updates the parts of the model that tries of every outcome may change. It clears t.CPUMax if the CPU measurement
// was not learned. It does not count a row again that only adds the peak of an earlier success.
func (m *Model) countTry(t *TrainingRow) {
	if t.Amends {
		t.CPUMax = 0
		m.removeAwaited(t.Seq)
		return
	}
	if t.Outcome == sizing.Success && !t.Censoring.HasPeak() {
		m.addAwaited(t.Seq)
	}
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
		t.CPUMax = 0 // a refit by Learn must not use a measurement that was not learned
	}
	m.comparePromise(t)
}

// learnRow learns a measured row, unless holdsBack returns true; t is its try. The experts learn first, from the prediction that
// the models made without knowing the row.
func (m *Model) learnRow(r *row, t *TrainingRow) (isLearned bool) {
	m.widenRange(sizing.Bytes(r.Peak))
	m.Share.RecordCost(r.Peak * r.Seconds)
	r.Residual = math.NaN()
	if m.Models == nil {
		m.Unpredicted = append(m.Unpredicted, t.Seq)
		m.Experts.Learn(nil, r.Peak, r.Seconds, t.At, &m.Share, nil)
		m.startColdStart(r)
		m.startDAGRun(r, t)
		return true
	}
	var p experts.Point
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.isLift, b.peak = false, m.Models.classify(r.Peak)
	defer func() { b.peak = unknownPeak }()
	in := m.predictAtLaunch(r, t, &p, b)
	b.shift(&p, m.runShift(t.RunScore))
	if m.holdsBack(r, t, &p, b) {
		return false
	}
	m.learnPredicted(r, t, &p, in, b)
	return true
}

// learnPredicted learns a measured row whose prediction is p. b comes from this prediction, and `in` says how to learn the
// row.
func (m *Model) learnPredicted(r *row, t *TrainingRow, p *experts.Point, in instance, b *buffers) {
	m.learnRunScore(r, p, t, b)
	m.recordFirstChange(t, r.Cells, math.Log(r.Peak)-m.Experts.ColdStartLevel(p))
	switch {
	case p.Imputed: // the error of an imputed prediction says nothing about the errors of other predictions
		m.addPending(r, &b.donorMean, t.Seq)
	case in.isPredicted:
		m.recordResidual(r, p, b, t.Seq)
	default:
		m.Unpredicted = append(m.Unpredicted, t.Seq)
	}
	if !r.Untimed && !m.Models.IsUntimed {
		m.learnRunTime(r, t, p, b)
	}
	m.recordNewFeatures(t, p, b)
	lowest := m.Experts.LowOutlierBound()
	if in.isCharged {
		if changed := m.Experts.Learn(p, r.Peak, r.Seconds, t.At, &m.Share, &b.scratch); changed > 0 {
			m.Changed = m.OutOfSample[max(0, len(m.OutOfSample)-changed)].Seq
			m.Understatement.forgetBefore(changed)
			m.Levels.forgetBefore(m.Changed)
		}
	} else {
		m.Experts.LearnDependent(r.Peak, &m.Share)
	}
	m.learnColdStart(r, p, in.weight, m.runOf(t), b)
	if in.isPredicted {
		m.learnModels(r, p, lowest, in.weight, b)
	} else {
		m.Models.observe(r, b)
	}
}

func (m *Model) widenRange(peak sizing.Bytes) {
	m.Largest = max(m.Largest, peak)
	if m.Smallest == 0 || peak < m.Smallest {
		m.Smallest = peak
	}
}

// recordResidual records the residual of a row, and the amount in bytes that the experts would have granted, without the
// guard, the floor, the cap and the minimum grant. It must run before the model learns the row.
func (m *Model) recordResidual(r *row, p *experts.Point, b *buffers, seq int64) {
	r.Residual = math.Log(r.Peak) - p.Level[experts.LineTrees]
	r.Granted = m.Experts.Answer(p, sizing.DefaultRiskTarget, &b.scratch).Amount
	m.OutOfSample = append(m.OutOfSample, outOfSample{Seq: seq, Residual: r.Residual, Granted: r.Granted})
	if len(m.OutOfSample) > maxOutOfSample+maxOutOfSample/4 {
		m.OutOfSample = slices.Delete(m.OutOfSample, 0, len(m.OutOfSample)-maxOutOfSample)
	}
	if p.HasColdStart() {
		m.Share.RecordResidual(math.Log(r.Peak) - m.Experts.ColdStartLevel(p))
	} else {
		m.Share.RecordResidual(r.Residual)
	}
}

// earlyFitRows are the numbers of measured rows at which Learn refits the models itself, without a training. The first rows
// change a model the most, and fits on so few rows are cheap.
var earlyFitRows = []int{1, 2, 3, 5, 8, 12, 18}

func (m *Model) isEarly() bool { return m.Experts.LearnedRows < earlyFitRows[len(earlyFitRows)-1] }

func (m *Model) refitEarly(r row) {
	if m.Experts.LearnedRows > earlyFitRows[len(earlyFitRows)-1] {
		m.EarlyRows = nil
		return
	}
	m.EarlyRows = append(m.EarlyRows, r)
	if slices.Contains(earlyFitRows, m.Experts.LearnedRows) {
		previous := m.Models
		if previous != nil && m.levelsMoveWithFit() {
			previous = previous.withoutRows()
		}
		// If a fit fails, the previous models stay in use.
		if fitted, err := fitModels(&m.Schema, m.EarlyRows, previous, m.Trees, seedOf(m.Experts.LearnedRows), m.fits, &m.ablated); err == nil {
			m.learnCycles(fitted, m.EarlyRows)
			m.useModels(fitted, 0)
		}
	}
}

// seedOf returns the seed of a fit on a number of rows. So each fit is reproducible, and fits on different numbers of rows
// have different seeds.
func seedOf(rows int) uint64 { return uint64(rows) }

func (m *Model) extendSchema(f sizing.Features) {
	if m.Schema.Extend(f) {
		m.Schema = m.Schema.WithoutCategories()
		for i := range m.EarlyRows {
			m.EarlyRows[i].Cells = padCells(m.EarlyRows[i].Cells, len(m.Schema.Fields))
		}
	}
}

func padCells(cells []sizing.Value, n int) []sizing.Value {
	for len(cells) < n {
		cells = append(cells, sizing.Value{})
	}
	return cells
}

func (m *Model) rowOf(t *TrainingRow) row {
	return row{
		Cells: m.cells(t.Features, nil), Peak: math.Max(1, float64(t.Peak)), Seconds: secondsOf(t.Duration),
		Cores: float64(t.CPUMax), Weight: 1, Untimed: t.Duration <= 0, At: cmp.Or(t.StartedAt, t.At),
	}
}

func secondsOf(d time.Duration) float64 {
	if d <= 0 {
		return 60
	}
	return d.Seconds()
}

// compareRequest records, in the task's share of the pool, whether a try needed more than its request. A kill with less than
// the request does not count, because it does not show whether the peak exceeds the request.
func (m *Model) compareRequest(t *TrainingRow) {
	switch requested := t.Requested.Memory; {
	case requested == 0:
	case t.Censoring == sizing.Exact:
		m.Share.RecordRequest(t.Peak > requested)
	case t.Censoring == sizing.AtLeast && t.Peak >= requested:
		m.Share.RecordRequest(true)
	}
}
