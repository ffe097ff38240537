package bayes

import "math"

// add appends a component with the logarithm of its weight.
func (m *Mixture) add(level, scale, freedom, logWeight float64) {
	m.Level[m.N], m.Scale[m.N], m.Freedom[m.N], m.Weight[m.N] = level, scale, freedom, logWeight
	m.N++
}

// normalise converts logarithms into weights that sum to 1.
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

// negligible is the weight below which Exceed ignores a component.
const negligible = 0.01

// Exceed returns P(log peak > y).
func (m *Mixture) Exceed(y float64) float64 {
	p, sum := 0.0, 0.0
	for i, w := range m.Weight[:m.N] {
		if w < negligible {
			continue
		}
		p += w * survival((y-m.Level[i])/m.Scale[i], m.Freedom[i])
		sum += w
	}
	return p / sum
}

// Mid returns the weighted mean of the components' levels.
func (m *Mixture) Mid() float64 {
	mid := 0.0
	for i, w := range m.Weight[:m.N] {
		mid += w * m.Level[i]
	}
	return mid
}

// deviation returns the scale of the mixture around mid.
func (m *Mixture) deviation(mid float64) float64 {
	variance := 0.0
	for i, w := range m.Weight[:m.N] {
		off := m.Level[i] - mid
		variance += w * (m.Scale[i]*m.Scale[i] + off*off)
	}
	return math.Sqrt(variance)
}

// logDensity returns the log density of component i at y.
func (m *Mixture) logDensity(i int, y float64) float64 {
	z, f := (y-m.Level[i])/m.Scale[i], m.Freedom[i]
	upper, _ := math.Lgamma((f + 1) / 2)
	lower, _ := math.Lgamma(f / 2)
	return upper - lower - 0.5*math.Log(f*math.Pi) - (f+1)/2*math.Log1p(z*z/f) - math.Log(m.Scale[i])
}

// survival returns P(t > z) of Student's t by Wallace's normal approximation (1959). Its
// relative error is below 12 % for four degrees of freedom and more.
func survival(z, freedom float64) float64 {
	u := math.Sqrt(freedom*math.Log1p(z*z/freedom)) * (8*freedom + 1) / (8*freedom + 3)
	return 0.5 * math.Erfc(math.Copysign(u, z)/math.Sqrt2)
}

// Grant returns the log amount with the least expected cost, and the risk P(peak > amount):
//
//	amount · (1 + kill · risk) + price · risk,   risk = min(1, factor · Exceed(amount))
//
// in units of the peak at Mid. kill is the additional cost of a killed try as a share of the
// amount; price is its fixed cost.
func (m *Mixture) Grant(kill, price, factor float64) (y, risk float64) {
	mid := m.Mid()
	unit := m.deviation(mid)
	best, at := math.Inf(1), 0.0
	try := func(z float64) {
		y := z * unit
		p := min(1, factor*m.Exceed(mid+y))
		if cost := math.Exp(y)*(1+kill*p) + price*p; cost < best {
			best, at, risk = cost, z, p
		}
	}
	const coarse, step, most = 20, 0.04, 12.0
	for i := range coarse {
		share := float64(i) / (coarse - 1)
		z := -0.25 + most*share*share
		if math.Exp(z*unit) > best {
			break // an amount costs at least itself
		}
		try(z)
	}
	for width := most / (2 * coarse); width > step; width /= 2 {
		z := at
		try(z - width)
		try(z + width)
	}
	return mid + at*unit, risk
}
