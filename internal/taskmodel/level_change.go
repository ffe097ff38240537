package taskmodel

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// A run that needs far more than predicted is either an isolated outlier or the first run at a new level of the task, such as
// after a release of its code. The next run decides between these two hypotheses (a change-point detection as in Adams & MacKay
// 2007, restricted to the newest run). Until then, the models do not learn the run, and grants are for the new level if this
// costs less than the expected kill. If the next run confirms the new level, all that was learned counts at the new level (a
// level shift, Box & Tiao 1975): the residuals stay valid, and a fit multiplies the earlier peaks by the change. Otherwise the
// models learn the run as an outlier. A return to the level before an accepted rise is found in the same way, except that its
// first run lowers no grant. So a release that is rolled back leaves the earlier margins. Other falls need the patience of
// experts.Shift.
//
// Peaks that return to a level several times alternate between two levels, such as on the first days of each month. Then the
// earlier peaks stay as they are, so that the models can learn what the levels depend on.
//
// The share of outliers that were new levels comes from the task itself. If it is small, the models learn outliers at once.
// Mapped instances are not considered, because the instances of a DAG run have common causes. Neither are reproduced runs,
// whose inputs are unusual, and runs that ended before the newest one.

const (
	maxLevelChanges = 8    // largest number of stored changes, the newest ones
	maxReturnRows   = 128  // number of rows at an accepted level after which a return to the level before is an ordinary fall
	levelRows       = 16   // number of rows at a new level that estimate it
	levelDeviations = 4.2  // largest distance of two residuals of one level, in standard deviations: three standard deviations of the difference
	levelTolerance  = 0.3  // the same as a share of the change: a change may affect only a part of each peak
	minLevelShare   = 0.5  // smallest ratio of the two residuals: below it, the second one is nearer to the old level
	newLevelMargin  = 0.8  // deviations by which a grant for a level that one run shows is raised: a margin of two deviations is widened by √2
	levelKillPrice  = 8    // price of a kill in rows, as in the cold start (experts.Config.ColdStartPrice)
	levelKillCost   = 1.2  // waste of a kill, in rows
	levelPriorRows  = 1.0  // prior number of outliers that were changes, and of those that were not
	levelDecay      = 0.99 // factor per row on the numbers of these outliers
	minChangeShare  = 0.25 // smallest share of changes among the outliers: if outliers are frequent, the models learn them at once
	minReturns      = 1.5  // decayed number of returns from which the peaks alternate: two within 69 rows. A release that is rolled back has one return
	maxMisfits      = 2    // number of the first levelRows rows that contradict a change
)

// levels holds what is known about changes of the level of the peaks.
type levels struct {
	Changes   []levelChange   `cbor:",omitempty"` // accepted changes, oldest first
	Candidate *levelCandidate `cbor:",omitempty"` // nil: the newest row is not the first one at another level
	Unfitted  float64         `cbor:",omitzero"`  // accepted change, as a log factor, that the models have not learned yet
	Lasting   float64         `cbor:",omitzero"`  // number of upward candidates that were accepted
	Isolated  float64         `cbor:",omitzero"`  // number of upward candidates that were isolated outliers
	Returns   float64         `cbor:",omitzero"`  // number of accepted returns to a level before a rise, decayed like Lasting
	Newest    int64           `cbor:",omitzero"`  // TrainingRow.At of the newest row; earlier ones, such as late peaks, say nothing about the present level
}

type levelChange struct {
	_       struct{} `cbor:",toarray"`
	Seq     int64    // of the first row at the new level
	Log     float64  // log factor from the old level to the new one
	Rows    float64  // number of rows at the new level, at most maxReturnRows
	Misfits float64  // number of the first levelRows rows at neither level
	Excess  float64  // sum of the residuals, since the last fit, of the first levelRows rows at the new level
}

// log returns the log factor with the evidence of the rows since the last fit.
func (c *levelChange) log() float64 { return c.Log + c.Excess/min(c.Rows, levelRows) }

// levelCandidate is the newest row, which the models have not learned yet, except with IsLearned.
type levelCandidate struct {
	Row       TrainingRow
	Log       float64 // residual of the row; for a return, the negative change
	Deviation float64 // standard deviation of the residuals
	IsLearned bool    // the models have learned the row at once, because grants for its level would cost more than a kill
}

// holdsBack reports whether the models must not learn a row yet, because it may be the first one at another level. p is the
// prediction for the row; it changes if holdsBack learns the row before.
func (m *Model) holdsBack(r *row, t *TrainingRow, p *experts.Point, b *buffers) bool {
	l := &m.Levels
	if t.At < l.Newest || m.Experts.LearnedRows <= earlyFitRows[len(earlyFitRows)-1] || m.ablated.NoLevels {
		return false
	}
	l.Newest = t.At
	if t.DAGRun != 0 || t.Reproduced || p.Imputed {
		if m.learnUndecided() {
			m.predictAgain(r, t, p, b)
		}
		return false
	}
	l.Lasting, l.Isolated, l.Returns = l.Lasting*levelDecay, l.Isolated*levelDecay, l.Returns*levelDecay
	residual, deviation, isJump := m.Experts.Jump(p, math.Log(r.Peak))
	if l.Candidate != nil {
		if m.decideCandidate(r, t, residual, deviation, p, b) {
			return false
		}
		residual, deviation, isJump = m.Experts.Jump(p, math.Log(r.Peak))
	}
	size := l.returnTo(residual, deviation)
	if isJump && !l.alternates() && l.changeShare() >= minChangeShare && !m.mayExplainJump(t, r.Cells, p, b) {
		size = residual
	}
	if size != 0 {
		l.Candidate = &levelCandidate{Row: *t, Log: size, Deviation: deviation, IsLearned: size > 0 && !l.isRaiseCheaper(size)}
		return !l.Candidate.IsLearned
	}
	if isLow := math.Log(r.Peak)-p.Level[experts.LineTrees] < m.Experts.LowOutlierBound(); !isLow && l.addRow(residual, deviation) {
		m.revokeLevel()
		m.predictAgain(r, t, p, b)
	}
	return false
}

// decideCandidate learns the row of the candidate, at the new level if the next row r confirms it, and predicts r again.
func (m *Model) decideCandidate(r *row, t *TrainingRow, residual, deviation float64, p *experts.Point, b *buffers) (isAccepted bool) {
	l := &m.Levels
	c := l.Candidate
	l.Candidate = nil
	isConfirmed := isSameLevel(residual, c.Log, deviation)
	switch {
	case c.Log < 0:
	case isConfirmed:
		l.Lasting++
	default:
		l.Isolated++
	}
	if c.IsLearned {
		return false
	}
	if isConfirmed {
		m.acceptLevel(c, residual)
		l.countReturn(c)
	} else if l.addRow(c.Log, deviation) {
		m.revokeLevel()
	}
	m.learnCandidate(c)
	m.predictAgain(r, t, p, b)
	return isConfirmed
}

// mayExplainJump reports whether a row has inputs whose effect the models do not know well: the jump may be their effect.
func (m *Model) mayExplainJump(t *TrainingRow, cells []sizing.Value, p *experts.Point, b *buffers) bool {
	return p.IsException || len(b.extrapolation.outside) > 0 || m.hasUnknownEffect(t, cells)
}

func (m *Model) predictAgain(r *row, t *TrainingRow, p *experts.Point, b *buffers) {
	m.predictAtLaunch(r, t, p, b)
	b.shift(p, m.runShift(t.RunScore))
}

// returnTo returns the log factor to the level before an accepted rise if a residual shows a return; otherwise 0.
func (l *levels) returnTo(residual, deviation float64) float64 {
	if len(l.Changes) == 0 {
		return 0
	}
	c := &l.Changes[len(l.Changes)-1]
	if c.Log > 0 && c.Rows < maxReturnRows && isSameLevel(residual, -c.Log, deviation) {
		return -c.Log
	}
	return 0
}

// isSameLevel reports whether a residual shows the level that is a log factor away from that of the models.
func isSameLevel(residual, log, deviation float64) bool {
	return residual/log >= minLevelShare && math.Abs(residual-log) <= max(levelDeviations*deviation, levelTolerance*math.Abs(log))
}

// countReturn counts an accepted return. From the second one on, the next fit learns the earlier peaks as they are.
func (l *levels) countReturn(c *levelCandidate) {
	if c.Log > 0 {
		return
	}
	if l.Returns++; l.alternates() {
		l.Changes = nil
	}
}

func (l *levels) alternates() bool { return l.Returns >= minReturns }

// addRow counts a row for the newest change. isContradicted reports that too many of the first rows are at neither level.
func (l *levels) addRow(residual, deviation float64) (isContradicted bool) {
	if len(l.Changes) == 0 {
		return false
	}
	c := &l.Changes[len(l.Changes)-1]
	if c.Rows < levelRows {
		if math.Abs(residual) <= max(levelDeviations*deviation, levelTolerance*math.Abs(c.Log)) {
			c.Excess += residual
		} else {
			c.Misfits++
			isContradicted = c.Log > 0 && c.Misfits >= maxMisfits
		}
	}
	c.Rows = min(c.Rows+1, maxReturnRows)
	return isContradicted
}

func (m *Model) revokeLevel() {
	l := &m.Levels
	c := l.Changes[len(l.Changes)-1]
	l.Changes = l.Changes[:len(l.Changes)-1]
	l.Lasting, l.Isolated = max(0, l.Lasting-1), l.Isolated+1
	m.shiftLearned(-c.Log)
}

// acceptLevel accepts the level of the candidate. residual is that of the row after it.
func (m *Model) acceptLevel(c *levelCandidate, residual float64) {
	l, log := &m.Levels, c.Log
	if log > 0 {
		log = (log + residual) / 2
	}
	if len(l.Changes) == maxLevelChanges {
		l.Changes[1].Log += l.Changes[0].log() // for the rows before both
		l.Changes = slices.Delete(l.Changes, 0, 1)
	}
	l.Changes = append(l.Changes, levelChange{Seq: c.Row.Seq, Log: log, Rows: 2})
	m.shiftLearned(log)
	m.Understatement.forgetBefore(2) // the measurement may have been mended
}

// learnUndecided learns the row of the candidate as an isolated outlier, because the newest row cannot decide.
func (m *Model) learnUndecided() (isLearned bool) {
	c := m.Levels.Candidate
	m.Levels.Candidate = nil
	if c == nil || c.IsLearned {
		return false
	}
	m.learnCandidate(c)
	return true
}

// knownRuns returns the number of runs on which an answer is based: the learned ones and the candidate.
func (m *Model) knownRuns() int {
	c := m.Levels.Candidate
	return m.Experts.LearnedRows + boolToInt(c != nil && !c.IsLearned)
}

// holds reports whether a row is the candidate, which the models have not learned.
func (l *levels) holds(seq int64) bool {
	return l.Candidate != nil && !l.Candidate.IsLearned && l.Candidate.Row.Seq == seq
}

// forgetBefore forgets the changes up to a change that experts.Shift has found: the earlier rows then have a small weight, and
// their level relative to the newest one is not known.
func (l *levels) forgetBefore(seq int64) {
	l.Changes = slices.DeleteFunc(l.Changes, func(c levelChange) bool { return c.Seq <= seq })
}

func (m *Model) learnCandidate(c *levelCandidate) {
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	r := m.rowOf(&c.Row)
	r.Residual = math.NaN()
	b.isLift, b.peak = false, m.Models.classify(r.Peak)
	defer func() { b.peak = unknownPeak }()
	var p experts.Point
	in := m.predictAtLaunch(&r, &c.Row, &p, b)
	b.shift(&p, m.runShift(c.Row.RunScore))
	m.learnPredicted(&r, &c.Row, &p, in, b)
}

// changeShare is the mean of a beta distribution.
func (l *levels) changeShare() float64 {
	return (l.Lasting + levelPriorRows) / (l.Lasting + l.Isolated + 2*levelPriorRows)
}

// isRaiseCheaper compares the expected waste of a raised grant with that of a kill, in rows at the old level.
func (l *levels) isRaiseCheaper(log float64) bool {
	probability := l.changeShare()
	return math.Expm1(log)*(1-probability) <= (levelKillPrice+levelKillCost)*probability
}

// raise returns a log factor; 0 without a candidate that raises grants.
func (l *levels) raise() float64 {
	if c := l.Candidate; c != nil && c.Log > 0 && !c.IsLearned {
		return c.Log + newLevelMargin*c.Deviation
	}
	return 0
}

// unraisedRisk returns P(new level) of a candidate that raises no grant; otherwise 0.
func (l *levels) unraisedRisk() float64 {
	if l.Candidate == nil || !l.Candidate.IsLearned {
		return 0
	}
	return l.changeShare()
}

// raiseToCandidate raises a prediction to the level of the candidate.
func (m *Model) raiseToCandidate(p *experts.Point, b *buffers) {
	b.levelRaise = m.Levels.raise()
	if b.levelRaise == 0 {
		return
	}
	p.ShiftLevel(b.levelRaise)
	if p.ColdStart != nil {
		p.ColdStart.Shift(b.levelRaise)
	}
	if p.Imputed {
		b.donorMean.ShiftLevel(b.levelRaise)
	}
	b.extrapolation.mostAmount *= math.Exp(b.levelRaise)
}

func (b *buffers) describeLevel() string {
	switch {
	case b.levelRaise > 0:
		return fmt.Sprintf("; raised by %.0f %% because the newest run needed far more than predicted", 100*math.Expm1(b.levelRaise))
	case b.levelShift > 0:
		return fmt.Sprintf("; raised by %.0f %% because the newest runs needed far more than predicted", 100*math.Expm1(b.levelShift))
	case b.levelShift < 0:
		return fmt.Sprintf("; lowered by %.0f %% because the peaks are at their earlier level again", -100*math.Expm1(b.levelShift))
	}
	return ""
}
