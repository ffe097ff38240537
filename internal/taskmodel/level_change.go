package taskmodel

import (
	"maps"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// A run that needs far more than predicted is either an isolated outlier or the first run at a new level of the task, such as
// after a release of its code. The next run decides between these two hypotheses (a change-point detection as in Adams & MacKay
// 2007, restricted to the newest run). If grants for the new level cost at most the expected kill (isRaiseCheaper), grants are
// for this level until then, and the models do not learn the run yet. Otherwise the models learn the run at once, and the next run
// changes no level.
//
// If the next run confirms the new level, all that was learned counts at the new level (a level shift, Box & Tiao 1975): the
// residuals stay valid, and a fit raises the earlier peaks by the change (level_alignment.go), a factor or an added amount
// (level_form.go). If it does not, the models learn the first run as an outlier.
//
// A return to the level before an accepted rise is found in the same way, except that its first run lowers no grant. So the
// rollback of a release restores the margins from before the release. level_fall.go describes other falls.
//
// The share of outliers that were new levels comes from the task itself. If it is small, the models learn outliers at once.
// Mapped instances are not considered, because the instances of a DAG run have common causes. Neither are reproduced runs,
// whose inputs are unusual, and runs that ended before the newest one.

const (
	maxLevelChanges    = 8    // largest number of stored changes, the newest ones
	maxReturnRows      = 128  // number of rows at an accepted level after which a return to the level before is an ordinary fall
	levelRows          = 16   // number of rows at a new level that estimate it
	levelDeviations    = 4.2  // largest distance of two residuals of one level, in standard deviations: three standard deviations of the difference
	levelTolerance     = 0.3  // largest distance of two residuals of one level, as a share of the change: a change may affect only a part of each peak; the larger of this limit and that of levelDeviations applies
	minLevelShare      = 0.5  // smallest ratio of the two residuals: below it, the second one is nearer to the old level
	newLevelMargin     = 0.8  // deviations added to a grant for a level that only one run shows: its error widens a margin of two deviations by the factor √2, so by 2·(√2 − 1) ≈ 0.8
	levelKillPrice     = 8    // price of a kill, in costs of a run at the old level, as in the cold start (experts.Config.ColdStartPrice)
	levelKillCost      = 1.2  // memory that a kill wastes, in the same unit
	levelPriorRows     = 1.0  // prior number of outliers that were changes, and of those that were not
	levelDecay         = 0.99 // factor per row on the numbers of these outliers
	minChangeShare     = 0.25 // smallest share of changes among the upward outliers with which an outlier is a candidate; below it, the models learn it at once
	minAddedDeviations = 4    // smallest log factor, in standard deviations, by which an added amount must raise the peak of a row so that the row can confirm the amount; as for a jump (experts.Jump)
	maxMisfits         = 2    // a rise is revoked when this number of its first levelRows rows do not fit the new level
)

// levels holds what is known about changes of the level of the peaks.
type levels struct {
	Changes       []levelChange    `cbor:",omitempty"` // accepted changes, oldest first
	Candidate     *levelCandidate  `cbor:",omitempty"` // the newest row, if it may be the first one at another level; otherwise nil
	Added         map[int64]affine `cbor:",omitempty"` // by levelChange.Seq: the changes that add an amount; the others are factors
	Form          *levelForm       `cbor:",omitempty"` // evidence on the form of the newest change; nil if this change is no rise, or if a fit after levelRows rows has settled its form (settle)
	Unfitted      float64          `cbor:",omitzero"`  // accepted change, as a log factor, that the models have not learned yet
	UnfittedBytes float64          `cbor:",omitzero"`  // affine.Bytes of this change
	Lasting       float64          `cbor:",omitzero"`  // number of upward candidates that were accepted; each later row multiplies it by levelDecay
	Isolated      float64          `cbor:",omitzero"`  // number of upward candidates that were isolated outliers, decayed like Lasting
	Returns       float64          `cbor:",omitzero"`  // number of accepted returns to a level before a rise, see returnAge
	Fall          []fallRow        `cbor:",omitempty"` // the newest rows, if they may be the first ones after a fall; see level_fall.go
	Fallen        int64            `cbor:",omitzero"`  // levelChange.Seq of the newest accepted fall
	Newest        int64            `cbor:",omitzero"`  // TrainingRow.At of the newest row; earlier ones, such as late peaks, say nothing about the present level

	HasTemporaryFall bool `cbor:",omitzero"` // an accepted fall was revoked, so the task has no further falls (level_fall.go)
}

type levelChange struct {
	_       struct{} `cbor:",toarray"`
	Seq     int64    // of the first row at the new level
	Log     float64  // log factor from the old level to the new one; the mean one if levels.Added has the change
	Rows    float64  // number of rows at the new level, at most maxReturnRows
	Misfits float64  // number of rows, among the first levelRows, that do not fit the new level: they are at neither level, or at the old one although the next row does not confirm a return
	Excess  float64  // only in models of earlier versions
}

// tolerance returns the largest residual of a row at the new level.
func (c *levelChange) tolerance(deviation float64) float64 {
	return max(levelDeviations*deviation, levelTolerance*math.Abs(c.Log))
}

// levelCandidate is the newest row, which the models have not learned yet, except with IsLearned.
type levelCandidate struct {
	Row       TrainingRow
	Log       float64 // residual of the row; for a return, the negative change
	Deviation float64 // standard deviation of the residuals
	IsLearned bool    // the models have learned the row at once, because grants for its level would cost more than a kill
}

// holdsBack reports whether the caller must not learn a row: the row may be the first one at another level, or holdsBackLow has
// learned it already. p is the prediction for the row. holdsBack may first learn rows that it has held back, such as that of the
// candidate; then it predicts p again.
func (m *Model) holdsBack(r *row, t *TrainingRow, p *experts.Point, b *buffers) bool {
	l := &m.Levels
	switch {
	case t.At < l.Newest || m.ablated.NoLevels:
		return false
	case !m.canFindJump():
		return m.holdsBackLow(r, t, p, b)
	}
	age := returnAge(r.Cells, t.At-l.Newest)
	l.Newest = t.At
	if t.DAGRun != 0 || t.Reproduced || p.Imputed {
		if isLearned := m.learnUndecided(); m.learnFall() || isLearned {
			m.predictAgain(r, t, p, b)
		}
		return false
	}
	l.Lasting, l.Isolated, l.Returns = l.Lasting*levelDecay, l.Isolated*levelDecay, l.Returns*math.Pow(levelDecay, age)
	if l.Candidate != nil {
		residual, deviation, _ := m.jump(p, math.Log(r.Peak), b)
		if m.decideCandidate(r, t, residual, deviation, p, b) {
			return false
		}
	}
	if m.holdsBackLow(r, t, p, b) {
		return true
	}
	log := math.Log(r.Peak)
	residual, deviation, isJump := m.jump(p, log, b)
	size := l.returnTo(log, residual, deviation)
	if isJump && !l.showsForm(log, residual, deviation) && !l.alternates() && l.changeShare() >= minChangeShare && !m.mayExplainJump(t, r.Cells, p, b) {
		size = residual
	}
	if size != 0 {
		l.Candidate = &levelCandidate{Row: *t, Log: size, Deviation: deviation, IsLearned: size > 0 && !l.isRaiseCheaper(size)}
		return !l.Candidate.IsLearned
	}
	isLow := log-p.Level[experts.LineTrees] < m.Experts.LowOutlierBound()
	if l.addRow(log, residual, deviation, isLow) {
		m.revokeLevel()
		m.predictAgain(r, t, p, b)
	}
	return false
}

// decideCandidate learns the row of the candidate, at the new level if the next row r confirms it, and predicts r again. If the
// models have learned the row already, it only counts whether r confirms the level, and returns false.
func (m *Model) decideCandidate(r *row, t *TrainingRow, residual, deviation float64, p *experts.Point, b *buffers) (isAccepted bool) {
	l := &m.Levels
	c := l.Candidate
	l.Candidate = nil
	log := math.Log(r.Peak)
	isConfirmed := l.confirms(c, log, residual, deviation)
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
	if isConfirmed && l.endsFall(c) {
		m.revokeFall(c)
	} else if isConfirmed {
		m.acceptLevel(c, log, residual, deviation)
		if c.Log < 0 {
			l.Returns++
		}
	} else if l.addRow(c.logPeak(), c.Log, deviation, false) {
		m.revokeLevel()
	}
	m.learnHeldBack(&c.Row)
	m.predictAgain(r, t, p, b)
	return isConfirmed
}

// mayExplainJump reports whether a row has inputs whose effect the models do not know well: the jump may be their effect.
func (m *Model) mayExplainJump(t *TrainingRow, cells []sizing.Value, p *experts.Point, b *buffers) bool {
	return p.IsException || len(b.extrapolation.outside) > 0 || m.hasUnknownEffect(t, cells) || m.Experts.IsColdStart() && m.Models.Enc.hasUnseenCategory(cells)
}

func (m *Model) predictAgain(r *row, t *TrainingRow, p *experts.Point, b *buffers) {
	m.predictAtLaunch(r, t, p, b)
	b.shift(p, m.runShift(t.RunScore))
}

// returnTo returns the log factor to the level before an accepted rise if a residual shows a return, and no hypothesis on the
// form of the rise explains it better; otherwise 0.
func (l *levels) returnTo(log, residual, deviation float64) float64 {
	if len(l.Changes) == 0 {
		return 0
	}
	c := &l.Changes[len(l.Changes)-1]
	if c.Log <= 0 || c.Rows >= maxReturnRows || l.hasRevokedFall() {
		return 0
	}
	change := l.newestMap().inverse().shift(log - residual)
	if !isSameLevel(residual, change, deviation) || l.formError(log, residual) < math.Abs(residual-change) {
		return 0
	}
	return change
}

// isSameLevel reports whether a residual shows the level that is a log factor away from that of the models.
func isSameLevel(residual, log, deviation float64) bool {
	return residual/log >= minLevelShare && math.Abs(residual-log) <= max(levelDeviations*deviation, levelTolerance*math.Abs(log))
}

// addRow counts a row for the newest change. A low outlier counts only if it shows the form of the change. isContradicted
// reports that too many of the first rows do not fit the new level.
func (l *levels) addRow(log, residual, deviation float64, isLow bool) (isContradicted bool) {
	if len(l.Changes) == 0 {
		return false
	}
	c := &l.Changes[len(l.Changes)-1]
	if c.Rows < levelRows {
		switch {
		case l.showsForm(log, residual, deviation):
			l.Form.add(l.before(log-residual), log, deviation)
		case isLow:
			return false
		case math.Abs(residual) > c.tolerance(deviation):
			c.Misfits++
			isContradicted = c.Log > 0 && c.Misfits >= maxMisfits
		}
	} else if isLow {
		return false
	}
	c.Rows = min(c.Rows+1, maxReturnRows)
	return isContradicted
}

func (m *Model) revokeLevel() {
	l := &m.Levels
	newest, rows := l.newestMap(), int(l.Changes[len(l.Changes)-1].Rows)-1 // the row that contradicts the level counts, but is not learned yet
	delete(l.Added, l.Changes[len(l.Changes)-1].Seq)
	l.Changes, l.Form = l.Changes[:len(l.Changes)-1], nil
	l.Lasting, l.Isolated = max(0, l.Lasting-1), l.Isolated+1
	m.shiftLearned(newest.inverse())
	m.moveEarlyRows(newest.inverse(), rows)
}

// acceptLevel accepts the level of the candidate. log and residual are those of the row after it.
func (m *Model) acceptLevel(c *levelCandidate, log, residual, deviation float64) {
	l := &m.Levels
	var change affine
	if c.Log > 0 {
		l.Form = &levelForm{}
		l.Form.add(c.logPeak()-c.Log, c.logPeak(), deviation)
		l.Form.add(log-residual, log, deviation)
		change = l.Form.best()
	} else {
		l.Form, change = nil, l.newestMap().inverse()
	}
	l.add(levelChange{Seq: c.Row.Seq, Rows: 2})
	l.setNewest(change, c.Log)
	m.moveLearned(change)
	m.Understatement.forgetBefore(2) // if peaks were understated, the change may come from a corrected measurement
}

// add adds a change. If there are too many, it merges the oldest ones.
func (l *levels) add(c levelChange) {
	if len(l.Changes) == maxLevelChanges {
		l.mergeOldest()
	}
	l.Changes = append(l.Changes, c)
}

// moveLearned moves all that was learned, and the peaks of all early rows, to another level.
func (m *Model) moveLearned(change affine) {
	m.shiftLearned(change)
	m.moveEarlyRows(change, 0)
}

// mergeOldest merges the two oldest changes into one, from the level before both to the level after both.
func (l *levels) mergeOldest() {
	first, second := &l.Changes[0], &l.Changes[1]
	merged := l.mapOf(0).then(l.mapOf(1))
	delete(l.Added, first.Seq)
	delete(l.Added, second.Seq)
	second.Log += first.Log
	if merged.Bytes != 0 {
		l.Added[second.Seq] = merged
	}
	l.Changes = slices.Delete(l.Changes, 0, 1)
}

// learnUndecided learns the row of the candidate as an isolated outlier, because the newest row cannot decide.
func (m *Model) learnUndecided() (isLearned bool) {
	c := m.Levels.Candidate
	m.Levels.Candidate = nil
	if c == nil || c.IsLearned {
		return false
	}
	m.learnHeldBack(&c.Row)
	return true
}

// knownRuns returns the number of known runs: the learned ones, the candidate, and those of a possible fall.
func (m *Model) knownRuns() int {
	c := m.Levels.Candidate
	return m.Experts.LearnedRows + boolToInt(c != nil && !c.IsLearned) + len(m.Levels.Fall)
}

// isCandidate reports whether a row is the candidate or one of a possible fall, and the models have not learned it.
func (l *levels) isCandidate(seq int64) bool {
	if slices.ContainsFunc(l.Fall, func(f fallRow) bool { return f.Row.Seq == seq }) {
		return true
	}
	return l.Candidate != nil && !l.Candidate.IsLearned && l.Candidate.Row.Seq == seq
}

// forgetBefore forgets the changes up to a change that experts.Shift has found: the earlier rows then have a small weight, and
// their level relative to the newest one is not known.
func (l *levels) forgetBefore(seq int64) {
	l.Changes = slices.DeleteFunc(l.Changes, func(c levelChange) bool { return c.Seq <= seq })
	maps.DeleteFunc(l.Added, func(change int64, _ affine) bool { return change <= seq })
	if len(l.Changes) == 0 {
		l.Form = nil
	}
}

// learnHeldBack learns a row that holdsBack has held back.
func (m *Model) learnHeldBack(t *TrainingRow) {
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	r := m.rowOf(t)
	r.Residual = math.NaN()
	b.isLift, b.peak = false, m.Models.classify(r.Peak)
	defer func() { b.peak = unknownPeak }()
	var p experts.Point
	in := m.predictAtLaunch(&r, t, &p, b)
	b.shift(&p, m.runShift(t.RunScore))
	m.learnPredicted(&r, t, &p, in, b)
	m.refitEarly(r)
}
