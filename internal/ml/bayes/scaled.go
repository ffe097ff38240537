package bayes

import "math"

// The last point model counts twice: with one standard deviation for all rows, and, if the caller predicts the
// scale of its residual for each row, with a deviation in proportion to this scale.

// scaleDeviation is the prior standard deviation of residual/scale. A predicted scale estimates the geometric mean of the
// absolute residual; the standard deviation of a normal distribution is 1.9 times its geometric mean absolute residual.
const scaleDeviation = 1.9

func (a *Average) predictScaled(level, scale float64, prior *Prior, mix *Mixture, logWeight float64) {
	p := &a.Scaled
	freedom := prior.Rows + p.Rows
	variance := (prior.Rows*scaleDeviation*scaleDeviation + p.Squares) / freedom * (1 + 1/(p.Rows+1))
	mix.add(level, scale*math.Sqrt(variance), freedom, logWeight+p.LogEvidence)
	mix.Scaled = true
}

// learnScaled adds a row with the log peak y. At the first row the evidence starts from that of the last point model. With
// scale 0 learnScaled forgets all rows.
func (a *Average) learnScaled(level, scale, y float64) {
	switch {
	case scale == 0:
		a.Scaled = Point{}
		return
	case a.Scaled.Rows == 0:
		a.Scaled.LogEvidence = a.Models[len(a.Models)-1].LogEvidence
	}
	a.Scaled.Rows++
	a.Scaled.Squares += (y - level) * (y - level) / (scale * scale)
}

const undiscountedRows = 8

// discountModels reduces the influence of early rows on the evidence of the point models. A fit improves the point
// models, so that their errors in the first rows say little about the next row. If n rows were learned before the current
// one, and n is above undiscountedRows, the evidence relative to the best of the constant, the lines and the affine regressions
// is multiplied by n/(n+1). So after n rows a row i above undiscountedRows counts i/n (a forgetting factor as in dynamic model
// averaging, Raftery et al. 2010). The trend forgets early rows, so the same holds for its evidence. No fit changes the constant,
// the lines and the affine regressions, so their evidence is not discounted.
func (a *Average) discountModels() {
	if a.Rows <= undiscountedRows {
		return
	}
	best := a.bestRegression()
	share := a.Rows / (a.Rows + 1)
	for k := range a.Models {
		a.Models[k].LogEvidence = best + share*(a.Models[k].LogEvidence-best)
	}
	a.Scaled.LogEvidence = best + share*(a.Scaled.LogEvidence-best)
	a.Trend.LogEvidence = best + share*(a.Trend.LogEvidence-best)
	a.Trend.BayesFactor *= share
}

// bestRegression returns the largest log evidence of the constant, the lines and the affine regressions.
func (a *Average) bestRegression() float64 {
	best := a.Constant
	for i := range a.Lines {
		best = max(best, a.Lines[i].LogEvidence)
	}
	for i := range a.Affines {
		best = max(best, a.Affines[i].LogEvidence)
	}
	return best
}
