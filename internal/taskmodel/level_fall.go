package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
)

// A fall of all peaks, such as after an optimisation of the code, is accepted after a few successive runs far below all earlier
// ones. A wrong fall costs a kill, and a late one only wastes memory. So a fall needs more evidence than a rise: fallRows runs
// instead of two, which span at least fallSeconds. Without a change, the newest n of N + n exchangeable runs are the n lowest ones
// with the probability 1 / C(N + n, n), as in a permutation test: 1/792 for N = minFallResiduals and n = fallRows. A low mode or a
// low season that has occurred before is no fall, because the newest runs are then not the lowest ones.
//
// Until a fall is accepted, the models do not learn these runs, and grants stay at the old level. Then all that was learned counts
// at the new level, as after a rise (level_change.go). If a run that is not low comes first, or if fallRows low runs span less than
// fallSeconds, the models learn the low runs as low outliers. If the peaks return to the old level after an accepted fall, the fall
// is revoked. Later falls of this task are left to experts.Shift, which needs more runs. So are falls of tasks with many runs a day,
// falls of mapped tasks, and falls that inputs may explain.

const (
	fallRows         = 5                   // number of runs that show a fall
	fallSeconds      = 4 * secondsPerDay   // time from the first to the last of these runs: longer than a weekend
	minFall          = 0.4                 // smallest fall, as a log factor: by a third; smaller ones waste little, and peaks that follow their limits fall by less
	minFallResiduals = 7                   // least number of earlier residuals
	maxFallResiduals = 128                 // largest number of earlier residuals, the newest ones
	minFallGap       = secondsPerDay / 2.0 // least time between two successive runs of a fall; with shorter gaps, the peaks may be low at some hours of each day
)

// fallRow is a run that may belong to a fall. The models have not learned it yet.
type fallRow struct {
	Row TrainingRow
	Log float64 // residual
}

// holdsBackLow reports whether learnPredicted must not learn a row: the row may belong to a fall, or holdsBackLow has learned it
// already, with the other rows of a complete fall. If the row does not continue a possible fall, holdsBackLow learns the rows of
// this fall, and predicts p again.
func (m *Model) holdsBackLow(r *row, t *TrainingRow, p *experts.Point, b *buffers) bool {
	l := &m.Levels
	residual := math.Log(r.Peak) - p.Level[experts.LineTrees]
	if !m.continuesFall(r, t, residual, p, b) {
		if m.learnFall() {
			m.predictAgain(r, t, p, b)
		}
		return false
	}
	l.Fall = append(l.Fall, fallRow{Row: *t, Log: residual})
	if n := len(l.Fall); n == fallRows {
		if l.Fall[n-1].Row.At-l.Fall[0].Row.At >= fallSeconds {
			m.acceptFall()
		}
		m.learnFall()
	}
	return true
}

// continuesFall reports whether a row may be the first row of a fall or, if l.Fall has rows, its next one.
func (m *Model) continuesFall(r *row, t *TrainingRow, residual float64, p *experts.Point, b *buffers) bool {
	l := &m.Levels
	if residual > -minFall || t.DAGRun != 0 || t.Reproduced || p.Imputed || l.HasTemporaryFall || l.Candidate != nil || !l.isSettled() {
		return false
	}
	log := math.Log(r.Peak)
	if jump, deviation, _ := m.jump(p, log, b); l.returnTo(log, jump, deviation) != 0 {
		return false // a return to the level before a rise needs only two rows
	}
	lowest, deviation, ok := m.lowestResidual()
	if !ok || residual > -max(experts.JumpDeviations*deviation, -experts.JumpRatio*lowest) || m.mayExplainJump(t, r.Cells, p, b) {
		return false
	}
	n := len(l.Fall)
	return n == 0 || float64(t.At-l.Fall[n-1].Row.At) >= minFallGap && isSameLevel(residual, l.meanFall(), deviation)
}

// lowestResidual returns two statistics of the newest residuals since the last change that experts.Shift has found: the lowest
// one, or 0 if all are positive, and the standard deviation. ok is false if there are too few.
func (m *Model) lowestResidual() (lowest, deviation float64, ok bool) {
	var residuals []float64
	for _, e := range m.OutOfSample[max(0, len(m.OutOfSample)-maxFallResiduals):] {
		if e.Seq >= m.Changed {
			residuals = append(residuals, e.Residual)
		}
	}
	n := len(residuals)
	if n < minFallResiduals {
		return 0, 0, false
	}
	slices.Sort(residuals)
	deviation = experts.InterquartileDeviation(residuals[n/4], residuals[n*3/4])
	return min(0, residuals[0]), max(experts.MinJumpDeviation, deviation), true
}

// isSettled reports whether the newest change has at least levelRows rows, so that its first rows cannot revoke it any more.
func (l *levels) isSettled() bool {
	return len(l.Changes) == 0 || l.Changes[len(l.Changes)-1].Rows >= levelRows
}

func (l *levels) meanFall() float64 {
	sum := 0.0
	for i := range l.Fall {
		sum += l.Fall[i].Log
	}
	return sum / float64(len(l.Fall))
}

// acceptFall moves all that was learned to the level of the rows of the fall.
func (m *Model) acceptFall() {
	l := &m.Levels
	change := affine{Log: l.meanFall()}
	l.Fallen, l.Form = l.Fall[0].Row.Seq, nil
	l.add(levelChange{Seq: l.Fallen, Log: change.Log, Rows: fallRows})
	m.moveLearned(change)
	m.Understatement.forgetBefore(fallRows)
}

// learnFall learns the rows that holdsBackLow has held back, at the new level if acceptFall has run before. It reports whether
// there were such rows.
func (m *Model) learnFall() (isLearned bool) {
	rows := m.Levels.Fall
	m.Levels.Fall = nil
	for i := range rows {
		m.learnHeldBack(&rows[i].Row)
	}
	return len(rows) > 0
}

// endsFall reports whether a candidate shows the level before the newest change, and this change is an accepted fall.
func (l *levels) endsFall(c *levelCandidate) bool {
	return l.isNewestFall() && c.Log > 0 && isSameLevel(c.Log, -l.Changes[len(l.Changes)-1].Log, c.Deviation)
}

// isNewestFall reports whether the newest change is an accepted fall.
func (l *levels) isNewestFall() bool {
	return len(l.Changes) > 0 && l.Changes[len(l.Changes)-1].Seq == l.Fallen
}

// revokeFall records that the peaks are again at the level before an accepted fall, which is the newest change. c is the first row
// at this level. The learned rows of the fall count at this level, too, as after the rollback of a release.
func (m *Model) revokeFall(c *levelCandidate) {
	l := &m.Levels
	before := l.newestMap().inverse()
	l.add(levelChange{Seq: c.Row.Seq, Log: before.Log, Rows: 2})
	l.Form, l.HasTemporaryFall = nil, true
	m.moveLearned(before)
}

// hasRevokedFall reports whether the newest two changes are a fall and its end. Then two low rows are no return to the lower level.
func (l *levels) hasRevokedFall() bool {
	n := len(l.Changes)
	return l.HasTemporaryFall && n >= 2 && l.Changes[n-2].Seq == l.Fallen
}

// amountBeforeFall returns the amount of a first try at the level before an accepted fall, because a kill may show that the peaks
// are at this level again. p is at the level after the fall. The amount is 0 if the newest change is no fall, or if maxReturnRows
// rows have confirmed it.
func (m *Model) amountBeforeFall(p *experts.Point, q *Question, b *buffers) float64 {
	l := &m.Levels
	if !l.isNewestFall() || l.Changes[len(l.Changes)-1].Rows >= maxReturnRows {
		return 0
	}
	return m.answer(p, q, b).Amount * m.Understatement.factor() * math.Exp(-l.Changes[len(l.Changes)-1].Log)
}
