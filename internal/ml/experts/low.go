package experts

import "math"

const (
	lowFrom       = 40   // residuals before their spread means anything
	lowAfterFall  = 200  // … and after a fall, of which up to 60 are from before it
	lowDeviations = 5    // standard deviations below the upper quartile from which a residual is an outlier
	lowSpread     = 0.02 // least standard deviation, in log units
	upperDistance = 0.97 // between the quantiles 0.75 and 0.95 of a standard normal
)

// LowestResidual is the residual of LineTrees below which a row is an outlier: a far
// lower peak than others of its kind. It comes from the quantiles 0.75 and 0.95, so that a
// low mode of up to half of the rows does not move it. It is -Inf while too few residuals
// are known.
func (x *Experts) LowestResidual() float64 {
	w := x.windows[LineTrees*spreads+byAll]
	n := len(w)
	if n < lowFrom || x.JustFell() {
		return math.Inf(-1)
	}
	quartile := w[n*3/4]
	deviation := (w[n*95/100] - quartile) / upperDistance
	return quartile - lowDeviations*max(deviation, lowSpread)
}

// JustFell reports whether the task's level has fallen, and a good part of the residuals
// is from before that.
func (x *Experts) JustFell() bool { return x.Shift.Fell && len(x.Ledger) < lowAfterFall }

// Move adds to each model's levels in the ledger how far a training has moved the model
// down. The residuals from before the fall then say what a return to the old level comes to
// now, and those since do not lower an answer that the training has lowered already.
func (x *Experts) Move(by [ModelCount]float64) {
	for i := range x.Ledger {
		for k, d := range by {
			x.Ledger[i].Point.Level[k] += min(0, d)
		}
	}
	x.Rebuild(x.config)
}

// hold keeps a row, but a low outlier outside the ledger: a hundred such rows would else
// become the neighbours by which margins are chosen, as if no other could follow.
func (x *Experts) hold(e Entry) {
	if e.Log-e.Point.Level[LineTrees] >= x.LowestResidual() {
		x.keep(e)
		return
	}
	if x.Low = append(x.Low, e); len(x.Low) > lowAtMost+lowAtMost/4 {
		x.Low = append([]Entry(nil), x.Low[len(x.Low)-lowAtMost:]...)
	}
}

const lowAtMost = 128
