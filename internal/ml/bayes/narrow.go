package bayes

import "math"

// Prior.Deviation is typical of similar tasks, but the errors of an exact relation are much smaller. With Prior.Deviation
// alone, the margin above a line would stay wide for dozens of rows. So the prior of a line or of an affine regression is a
// mixture of inverse gamma distributions of the variance: one for Prior.Deviation and one for each narrow deviation.
//
// A relation that was exact in all rows so far may have rare exceptions, or may change. So a large error soon gives
// Prior.Deviation its weight again (factorMemory), and the tails of predictions stay nearly as heavy as those of the prior:
// their degrees of freedom are always Prior.Rows + 1. With Prior.Rows, nearly exact tasks promise several times their kills.
// The evidence is computed with the lighter tails of a Student's t with the degrees of freedom of the variance, which grow with
// the rows, as for the constant. If the evidence used the heavy tails, too, a line would be more probable than a constant only
// because the peaks have outliers.

// narrowRatios are the narrow prior deviations, relative to Prior.Deviation.
var narrowRatios = [...]float64{0.3, 0.1, 0.03}

// narrowShare is the prior probability of all narrow deviations together.
const narrowShare = 0.2

// factorMemory is the factor by which each row multiplies the log Bayes factors of the rows before (a forgetting factor, Raftery et al.
// 2010). So about the newest five rows count.
const factorMemory = 0.8

// BayesFactors holds the log Bayes factor of each narrow prior deviation, relative to Prior.Deviation. A row adds at most
// −log(ratio), so with factorMemory no factor exceeds 18.
type BayesFactors [len(narrowRatios)]float64

// Narrow holds the Bayes factors of the line and of the affine regression in one input.
type Narrow struct {
	_            struct{} `cbor:",toarray"` // compact, because a task has up to maxLines of them
	Line, Affine BayesFactors
}

func (a *Average) narrow(i int) Narrow {
	if i < len(a.Narrow) {
		return a.Narrow[i]
	}
	return Narrow{}
}

// variances holds the predictive variance of a component for each prior deviation. wide is that for Prior.Deviation; it is 0 if the
// component has no narrow deviations.
type variances struct {
	wide    float64
	narrow  [len(narrowRatios)]float64
	freedom float64 // their degrees of freedom, for the evidence
}

// addRegression appends a line or an affine regression. Its variance is the mean of the variances for the prior deviations, weighted
// by their posterior probabilities. squares is the sum of its squared errors, and freedom the degrees of freedom of the variance.
// leverage is the variance of its level, relative to that of the errors.
func (m *Mixture) addRegression(level, squares, freedom, leverage float64, prior *Prior, factors *BayesFactors, logWeight float64) {
	variance := func(ratio float64) float64 {
		deviation := ratio * prior.Deviation
		return (prior.Rows*deviation*deviation + squares) / freedom * (1 + leverage)
	}
	v := variances{wide: variance(1), freedom: freedom}
	share := narrowShare
	if prior.NoNarrow {
		share = 0
	}
	total, sum := 1-share, (1-share)*v.wide
	for k, ratio := range narrowRatios {
		weight := share / float64(len(narrowRatios)) * math.Exp(factors[k])
		v.narrow[k] = variance(ratio)
		total += weight
		sum += weight * v.narrow[k]
	}
	m.add(level, math.Sqrt(sum/total), prior.Rows+1, logWeight)
	m.variances[m.N-1] = v
}

// updateFactors adds the log peak y of a row to the Bayes factors of component i of the mixture that predicted the row.
func (m *Mixture) updateFactors(i int, y float64, factors *BayesFactors) {
	v := &m.variances[i]
	if v.wide == 0 {
		return
	}
	wide := m.logDensityOf(i, y, math.Sqrt(v.wide))
	for k := range factors {
		factors[k] = factorMemory*factors[k] + m.logDensityOf(i, y, math.Sqrt(v.narrow[k])) - wide
	}
}
