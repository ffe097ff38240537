package experts

import "math"

const (
	lowFrom       = 40   // residuals before their spread means anything
	lowAfterFall  = 200  // rows after a fall in which the residuals are still of both levels
	lowDeviations = 5    // standard deviations below the upper quartile from which a residual is an outlier
	lowSpread     = 0.02 // least standard deviation, in log units
	upperDistance = 0.97 // between the quantiles 0.75 and 0.95 of a standard normal
)

// LowestResidual is the residual of LineTrees below which a row is an outlier: a far
// lower peak than others of its kind. It comes from the quantiles 0.75 and 0.95, so that a
// low mode of up to half of the rows does not move it. It is negative: a row at its
// prediction is no outlier, however far the others are above theirs. It is -Inf while too
// few residuals are known.
func (x *Experts) LowestResidual() float64 {
	w := x.windows[LineTrees*spreads+byAll]
	n := len(w)
	if n < lowFrom || x.JustFell() {
		return math.Inf(-1)
	}
	quartile := w[n*3/4]
	deviation := (w[n*95/100] - quartile) / upperDistance
	return min(quartile, 0) - lowDeviations*max(deviation, lowSpread)
}

// JustFell reports whether the task's level has fallen so lately that the residuals are of
// both levels.
func (x *Experts) JustFell() bool { return x.Shift.Fell && x.Shift.Since < lowAfterFall }

// Move puts the levels in the ledger to where a training has put the models, and returns the
// residuals of LineTrees before and after. levels returns what the models say now of the
// row with such a residual, nil if it is not known. Residuals from before a fall then
// cover a return to the old level, and those since do not lower an answer again that the
// training has lowered. Levels are never raised. The move of a row is the mean over the rows
// around it, so that its residual keeps its out-of-sample noise.
func (x *Experts) Move(levels func(residual float64) *Point) (before, after []float64) {
	n := len(x.Ledger)
	by := make([][ModelCount]float64, n)
	known := make([]bool, n)
	for i := range n {
		e := &x.Ledger[(x.At+i)%n]
		if to := levels(e.residual()); to != nil {
			known[i] = true
			for k := range by[i] {
				by[i][k] = to.Level[k] - e.Point.Level[k]
			}
		}
	}
	for i := range n {
		mean, rows := [ModelCount]float64{}, 0.0
		for j := max(0, i-moveRows); j <= min(n-1, i+moveRows); j++ {
			if known[j] {
				rows++
				for k := range mean {
					mean[k] += by[j][k]
				}
			}
		}
		e := &x.Ledger[(x.At+i)%n]
		before = append(before, e.residual())
		for k := range mean {
			e.Point.Level[k] += min(0, mean[k]/max(1, rows))
		}
		after = append(after, e.residual())
	}
	x.Rebuild(x.config)
	return before, after
}

const moveRows = 10 // on either side, over which the move of a row is smoothed

func (e *Entry) residual() float64 { return e.Log - e.Point.Level[LineTrees] }

// hold keeps a row, but a low outlier outside the ledger: a hundred such rows would else
// become the neighbours by which margins are chosen, as if no other could follow.
func (x *Experts) hold(e Entry) {
	if e.residual() >= x.LowestResidual() {
		x.keep(e)
		return
	}
	if x.Low = append(x.Low, e); len(x.Low) > lowAtMost+lowAtMost/4 {
		x.Low = append([]Entry(nil), x.Low[len(x.Low)-lowAtMost:]...)
	}
}

const lowAtMost = 128
