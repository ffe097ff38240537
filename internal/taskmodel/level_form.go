package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
)

// An accepted rise either multiplies all peaks, as a slower algorithm may do, or adds the same amount to them, as a larger base
// image or a sidecar does. The first rows at the new level decide between these two hypotheses by the likelihood of their
// residuals. Until then grants are for the hypothesis with the larger peak.

// levelRow is a row at the new level of a change.
type levelRow struct {
	_      struct{} `cbor:",toarray"`
	Before float64  // predicted log peak at the old level
	Log    float64  // log peak
}

// levelForm holds the evidence on the form of a rise.
type levelForm struct {
	Rows      []levelRow // the first levelRows rows that fit the rise, oldest first
	IsAdded   bool       `cbor:",omitzero"` // the rise adds an amount; false: it is a factor, or this is not decided
	IsDecided bool       `cbor:",omitzero"`
}

// minFormEvidence is the log likelihood ratio that decides. Two rows with inputs that differ by a half and a noise of 5 %
// suffice if the change doubles the peaks.
const minFormEvidence = 3

// add adds a row and decides again.
func (f *levelForm) add(before, log, deviation float64) {
	f.Rows = append(f.Rows, levelRow{Before: before, Log: log})
	excess := f.squares(f.factor()) - f.squares(f.added())
	if deviation > 0 && math.Abs(excess) >= 2*minFormEvidence*deviation*deviation {
		f.IsAdded, f.IsDecided = excess > 0, true
	}
}

// factor returns the hypothesis that the rise multiplies all peaks.
func (f *levelForm) factor() affine {
	sum := 0.0
	for i := range f.Rows {
		sum += f.Rows[i].Log - f.Rows[i].Before
	}
	return affine{Log: sum / float64(len(f.Rows))}
}

// added returns the hypothesis that the rise adds an amount. It weights the rows by the inverse squares of their peaks, because
// the errors of peaks are relative.
func (f *levelForm) added() affine {
	sum, weights := 0.0, 0.0
	for i := range f.Rows {
		w := math.Exp(-2 * f.Rows[i].Log)
		sum, weights = sum+w*addedBytes(f.Rows[i].Before, f.Rows[i].Log), weights+w
	}
	return affine{Bytes: sum / weights}
}

func addedBytes(before, log float64) float64 { return math.Exp(log) - math.Exp(before) }

func (f *levelForm) squares(a affine) (sum float64) {
	for i := range f.Rows {
		e := f.Rows[i].Log - f.Rows[i].Before - a.shift(f.Rows[i].Before)
		sum += e * e
	}
	return sum
}

// best returns the hypothesis that the next fit uses.
func (f *levelForm) best() affine {
	if f.IsAdded {
		return f.added()
	}
	return f.factor()
}

// shifts returns the smallest and the largest shift of a log peak at the old level by the hypotheses that are not rejected.
func (f *levelForm) shifts(before float64) (low, high float64) {
	if f.IsDecided {
		shift := f.best().shift(before)
		return shift, shift
	}
	factor, added := f.factor().shift(before), f.added().shift(before)
	return min(factor, added), max(factor, added)
}

// error returns the absolute residual of a row by the hypothesis that predicts it better, of those that are not rejected.
func (f *levelForm) error(before, log float64) float64 {
	low, high := f.shifts(before)
	return min(math.Abs(log-before-low), math.Abs(log-before-high))
}

// confirms reports whether a row with a log peak shows the level of the candidate, by one of the hypotheses on its form.
func (l *levels) confirms(c *levelCandidate, log, residual, deviation float64) bool {
	level := log - residual
	if c.Log < 0 {
		return len(l.Changes) > 0 && isSameLevel(residual, l.newestMap().inverse().shift(level), deviation)
	}
	added := c.added().shift(level)
	return isSameLevel(residual, c.Log, deviation) || added >= minAddedDeviations*deviation && isSameLevel(residual, added, deviation)
}

// added returns the hypothesis that the candidate shows an added amount.
func (c *levelCandidate) added() affine {
	return affine{Bytes: addedBytes(c.logPeak()-c.Log, c.logPeak())}
}

func (c *levelCandidate) logPeak() float64 { return math.Log(float64(max(1, c.Row.Peak))) }

// mapOf returns the map of change k from the level before it, as the models know it.
func (l *levels) mapOf(k int) affine {
	c := &l.Changes[k]
	if a, ok := l.Added[c.Seq]; ok {
		return a
	}
	return affine{Log: c.Log}
}

// newestMap returns the map of the newest change. There must be a change.
func (l *levels) newestMap() affine { return l.mapOf(len(l.Changes) - 1) }

// before converts a log peak at the level of the models to one at the level before the newest change.
func (l *levels) before(level float64) float64 { return level + l.newestMap().inverse().shift(level) }

// formError returns the absolute residual of a log peak by the hypothesis on the newest change that predicts it better. residual
// is that of the models.
func (l *levels) formError(log, residual float64) float64 {
	if l.Form == nil {
		return math.Inf(1)
	}
	return l.Form.error(l.before(log-residual), log)
}

// showsForm reports whether a row agrees with a hypothesis on the newest change.
func (l *levels) showsForm(log, residual, deviation float64) bool {
	return l.Form != nil && l.formError(log, residual) <= l.Changes[len(l.Changes)-1].tolerance(deviation)
}

// formRaise returns the log factor to the largest peak by a hypothesis on the newest change; p is at the level of the models.
func (l *levels) formRaise(p *experts.Point) float64 {
	if l.Form == nil {
		return 0
	}
	level := p.Level[experts.LineTrees]
	before := l.before(level)
	_, high := l.Form.shifts(before)
	return max(0, before+high-level)
}

// changesForm reports whether the next fit changes the form of the newest change.
func (l *levels) changesForm() bool {
	if l.Form == nil {
		return false
	}
	_, isAdded := l.Added[l.Changes[len(l.Changes)-1].Seq]
	return l.Form.IsAdded != isAdded
}
