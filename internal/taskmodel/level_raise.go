package taskmodel

import (
	"fmt"
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
)

// changeShare returns the estimated share of the upward outliers that are new levels: the mean of a beta distribution.
func (l *levels) changeShare() float64 {
	return (l.Lasting + levelPriorRows) / (l.Lasting + l.Isolated + 2*levelPriorRows)
}

// isRaiseCheaper reports whether the expected waste of a grant that is larger by a log factor is at most the expected cost of
// a kill without it, in costs of a run at the old level.
func (l *levels) isRaiseCheaper(log float64) bool {
	probability := l.changeShare()
	return math.Expm1(log)*(1-probability) <= (levelKillPrice+levelKillCost)*probability
}

// raise returns the log factor by which grants are raised for a level that is not decided; 0: none. p is at the level of the
// models.
func (l *levels) raise(p *experts.Point) float64 {
	raise := l.formRaise(p)
	if c := l.Candidate; c != nil && c.Log > 0 && !c.IsLearned {
		raise += max(c.Log, c.added().shift(p.Level[experts.LineTrees])) + newLevelMargin*c.Deviation
	}
	return raise
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
	b.levelRaise = m.Levels.raise(p)
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

func (m *Model) describeLevel(b *buffers) string {
	switch {
	case b.levelRaise > 0:
		return fmt.Sprintf("; raised by %.0f %% because the newest run needed far more than predicted", 100*math.Expm1(b.levelRaise))
	case b.levelShift > 0:
		return fmt.Sprintf("; raised by %.0f %% because the newest runs needed far more than predicted", 100*math.Expm1(b.levelShift))
	case b.levelShift < 0 && m.Levels.isNewestFall():
		return fmt.Sprintf("; lowered by %.0f %% because the newest runs needed far less than predicted", -100*math.Expm1(b.levelShift))
	case b.levelShift < 0:
		return fmt.Sprintf("; lowered by %.0f %% because the peaks are at their earlier level again", -100*math.Expm1(b.levelShift))
	}
	return ""
}
