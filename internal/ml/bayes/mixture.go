package bayes

import "math"

// add appends a component. Its weight remains a logarithm until normalise is called.
func (m *Mixture) add(level, scale, freedom, logWeight float64) {
	m.variances[m.N] = variances{}
	m.Level[m.N], m.Scale[m.N], m.Freedom[m.N], m.Weight[m.N] = level, scale, freedom, logWeight
	m.N++
}

func (m *Mixture) normalise() {
	top, sum := math.Inf(-1), 0.0
	for _, w := range m.Weight[:m.N] {
		top = max(top, w)
	}
	for i, w := range m.Weight[:m.N] {
		m.Weight[i] = math.Exp(w - top)
		sum += m.Weight[i]
	}
	for i := range m.N {
		m.Weight[i] /= sum
	}
}

// Raise raises the levels below a level to this level.
func (m *Mixture) Raise(level float64) {
	for i := range m.N {
		m.Level[i] = max(m.Level[i], level)
	}
}

// negligible is the weight below which exceedance probabilities ignore a component. Modes have a lower
// threshold, because each may be rare while together they dominate.
const (
	negligible     = 0.01
	negligibleMode = 0.001
)

func (m *Mixture) isNegligible(i int) bool {
	w := m.Weight[i]
	return w < negligible && (w < negligibleMode || i < m.Modes.from || i >= m.Modes.to)
}

// ExceedanceProb returns P(log peak > y). It ignores negligible components.
func (m *Mixture) ExceedanceProb(y float64) float64 {
	p, sum := 0.0, 0.0
	for i, w := range m.Weight[:m.N] {
		if m.isNegligible(i) {
			continue
		}
		p += w * survival((y-m.Level[i])/m.Scale[i], m.Freedom[i])
		sum += w
	}
	return p / sum
}

// exceedanceAndNeed returns P(log peak > y) and the expected log amount that a row above y
// needs. The amount is a weighted mean over the components. The value of a component is its
// level, or y if that is larger, and the weight is its probability above y. So the need is near the levels
// of the components above y, and it is y if there are none.
func (m *Mixture) exceedanceAndNeed(y float64) (p, need float64) {
	sum := 0.0
	for i, w := range m.Weight[:m.N] {
		if m.isNegligible(i) {
			continue
		}
		sum += w
		above := w * survival((y-m.Level[i])/m.Scale[i], m.Freedom[i])
		p += above
		need += above * max(y, m.Level[i])
	}
	if p == 0 {
		return 0, y
	}
	return p / sum, need / p
}

// TopLevel returns the highest level of a component that is not negligible.
func (m *Mixture) TopLevel() float64 {
	top := math.Inf(-1)
	for i, level := range m.Level[:m.N] {
		if !m.isNegligible(i) {
			top = max(top, level)
		}
	}
	return top
}

// MeanLevel returns the weighted mean of the components' levels.
func (m *Mixture) MeanLevel() float64 {
	mid := 0.0
	for i, w := range m.Weight[:m.N] {
		mid += w * m.Level[i]
	}
	return mid
}

// deviation returns the approximate standard deviation of the mixture around mid. It uses the squared
// scale of a component as its variance.
func (m *Mixture) deviation(mid float64) float64 {
	variance := 0.0
	for i, w := range m.Weight[:m.N] {
		off := m.Level[i] - mid
		variance += w * (m.Scale[i]*m.Scale[i] + off*off)
	}
	return math.Sqrt(variance)
}

// Deviation returns the approximate standard deviation of the log peak.
func (m *Mixture) Deviation() float64 { return m.deviation(m.MeanLevel()) }

func (m *Mixture) logDensity(i int, y float64) float64 { return m.logDensityOf(i, y, m.Scale[i]) }

// logDensityOf returns the log density of component i at y if it had this scale. For a line or an affine regression, the density
// has the degrees of freedom of the variance, not the heavier tails of the prediction (narrow.go).
func (m *Mixture) logDensityOf(i int, y, scale float64) float64 {
	freedom := m.Freedom[i]
	if v := &m.variances[i]; v.wide > 0 {
		freedom = v.freedom
	}
	return logDensity(y-m.Level[i], scale, freedom)
}

// logDensity returns the log density of Student's t with f degrees of freedom at the distance `off` from its location.
func logDensity(off, scale, f float64) float64 {
	z := off / scale
	upper, _ := math.Lgamma((f + 1) / 2)
	lower, _ := math.Lgamma(f / 2)
	return upper - lower - 0.5*math.Log(f*math.Pi) - (f+1)/2*math.Log1p(z*z/f) - math.Log(scale)
}

// survival returns P(t > z) of Student's t by Wallace's normal approximation (1959). Its
// relative error is below 12 % for four degrees of freedom and more, and −4 ≤ z ≤ 6.
func survival(z, freedom float64) float64 {
	u := math.Sqrt(freedom*math.Log1p(z*z/freedom)) * (8*freedom + 1) / (8*freedom + 3)
	return 0.5 * math.Erfc(math.Copysign(u, z)/math.Sqrt2)
}

// maxRisk bounds the risk of a grant. The price of a kill alone does not bound the risk: if a third of the rows need
// 16 times as much as the others, the kills of these rows may cost less than granting 16 times as much to every row.
const maxRisk = 0.3

// Grant searches for the log amount with the least expected cost among those whose risk is at most maxRisk, and
// returns it with its risk. The expected cost of an amount is
//
//	amount + (retryFactor · need + price) · risk,   risk = min(1, factor · ExceedanceProb(amount))
//
// in units of the peak at MeanLevel. `factor` is 1, or more if grants of this rule have been killed more often than the
// mixture promised. `need` is the amount that a killed row is expected to need; see exceedanceAndNeed. A kill costs
// `price` and, for the retry, retryFactor · need. If no amount has a finite cost and a risk of at most maxRisk, Grant
// returns the largest amount of the search.
func (m *Mixture) Grant(retryFactor, price, factor float64) (y, risk float64) {
	mid := m.MeanLevel()
	deviation := m.deviation(mid)
	best, at := math.Inf(1), 0.0
	try := func(z float64) { // z: distance from MeanLevel in standard deviations
		y := z * deviation
		p, need := m.exceedanceAndNeed(mid + y)
		p = min(1, factor*p)
		if p > maxRisk {
			return
		}
		if cost := math.Exp(y) + (retryFactor*math.Exp(need-mid)+price)*p; cost < best {
			best, at, risk = cost, z, p
		}
	}
	// First search a grid whose steps grow with the distance, and then around the best point with ever smaller steps.
	// The grid has `coarse` points, with z from `least` to least + most. The second search halves its steps while they are
	// above `step`.
	const coarse, step, least, most = 20, 0.04, -0.25, 12.0
	for i := range coarse {
		share := float64(i) / (coarse - 1)
		z := least + most*share*share
		if math.Exp(z*deviation) > best {
			break // no larger amount can cost less than best
		}
		try(z)
	}
	if math.IsInf(best, 1) {
		y = mid + (least+most)*deviation
		return y, min(1, factor*m.ExceedanceProb(y))
	}
	for width := most / (2 * coarse); width > step; width /= 2 {
		z := at
		try(z - width)
		try(z + width)
	}
	return mid + at*deviation, risk
}

// Shift adds a number to the levels of all components.
func (m *Mixture) Shift(by float64) {
	m.shifted += by
	for i := range m.Level[:m.N] {
		m.Level[i] += by
	}
}
