package tune

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// kernel is the Matérn covariance function of smoothness 5/2 (Rasmussen & Williams 2006,
// equation 4.17) with a length scale for each dimension:
//
//	k(a, b) = variance · (1 + √5·r + 5/3·r²) · exp(−√5·r),  r² = Σ ((a_i − b_i)/length_i)²
type kernel struct {
	lengths  []float64 // d length scales
	variance float64   // of the losses over all parameters; 0: to be estimated
	noise    float64   // variance of the noise of a loss, as a share of variance
}

// correlation returns k(a, b) / variance.
func (k kernel) correlation(a, b []float64) float64 {
	square := 0.0
	for i, length := range k.lengths {
		d := (a[i] - b[i]) / length
		square += d * d
	}
	r := math.Sqrt(5 * square)
	return (1 + r + r*r/3) * math.Exp(-r)
}

// posterior is a Gaussian process with mean 0, conditioned on n losses.
type posterior struct {
	kernel
	x      [][]float64 // n evaluated points
	solved []float64   // (R + noise·I)⁻¹·y, where R holds the correlations of the points
	factor []float64   // lower Cholesky factor of R + noise·I, row by row

	logLikelihood float64 // of the losses
}

// newPosterior conditions the process on the losses y at the points x (Rasmussen & Williams
// 2006, algorithm 2.1). A variance of 0 selects the maximum-likelihood estimate,
// yᵀ·(R + noise·I)⁻¹·y / n (Jones, Schonlau & Welch 1998, equation 5). newPosterior returns
// false if the correlation matrix cannot be factorised or is too poorly conditioned; more noise helps.
func newPosterior(k kernel, x [][]float64, y []float64) (*posterior, bool) {
	n := len(x)
	r := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i {
			r.SetSym(i, j, k.correlation(x[i], x[j]))
		}
		r.SetSym(i, i, 1+k.noise)
	}
	var chol mat.Cholesky
	if !chol.Factorize(r) {
		return nil, false
	}
	var lower mat.TriDense
	chol.LTo(&lower)
	p := &posterior{kernel: k, x: x, factor: make([]float64, 0, n*n)}
	for i := range n {
		for j := range n {
			p.factor = append(p.factor, lower.At(i, j))
		}
	}
	var solved mat.VecDense
	if err := chol.SolveVecTo(&solved, mat.NewVecDense(n, y)); err != nil {
		return nil, false // the matrix is too poorly conditioned
	}
	p.solved = solved.RawVector().Data
	fit := dot(y, p.solved)
	if p.variance == 0 {
		p.variance = max(fit/float64(n), math.SmallestNonzeroFloat64)
	}
	p.logLikelihood = -0.5 * (fit/p.variance + float64(n)*math.Log(2*math.Pi*p.variance) + chol.LogDet())
	return p, true
}

// at returns the mean and the standard deviation of the noise-free loss at a point. near is
// scratch space of n floats.
func (p *posterior) at(point, near []float64) (mean, deviation float64) {
	for i, x := range p.x {
		near[i] = p.correlation(point, x)
	}
	mean = dot(near, p.solved)
	n, explained := len(near), 0.0
	for i := range near { // near becomes L⁻¹·near
		row := p.factor[i*n : i*n+i+1]
		near[i] = (near[i] - dot(row[:i], near[:i])) / row[i]
		explained += near[i] * near[i]
	}
	return mean, math.Sqrt(p.variance * max(0, 1-explained))
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}
