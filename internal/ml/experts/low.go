package experts

import "math"

const (
	lowFrom       = 40   // residuals before their spread means anything
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
	if n < lowFrom {
		return math.Inf(-1)
	}
	quartile := w[n*3/4]
	deviation := (w[n*95/100] - quartile) / upperDistance
	return quartile - lowDeviations*max(deviation, lowSpread)
}
