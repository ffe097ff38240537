package tune

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// kernel is the Matérn covariance of smoothness 5/2 (Rasmussen & Williams 2006,
// equation 4.17) with a length for each dimension:
//
//	k(a, b) = variance · (1 + √5·r + 5/3·r²) · exp(−√5·r),  r² = Σ ((a_i − b_i)/length_i)²
type kernel struct {
	lengths  []float64 // d: how far apart losses still tell of each other
	variance float64   // of the losses, were the whole cube asked
	noise    float64   // variance of one answer about its loss, as a share of variance
}

// correlation is k(a, b) / variance.
func (k kernel) correlation(a, b []float64) float64 {
	square := 0.0
	for i, length := range k.lengths {
		d := (a[i] - b[i]) / length
		square += d * d
	}
	r := math.Sqrt(5 * square)
	return (1 + r + r*r/3) * math.Exp(-r)
}

// posterior is what a Gaussian process of mean 0 says after n answers.
type posterior struct {
	kernel
	x      [][]float64 // n points asked
	solved []float64   // (R + noise·I)⁻¹·y, R the correlations of the points
	factor []float64   // lower Cholesky factor of R + noise·I, row by row
	log    float64     // log likelihood of the answers
}

// newPosterior conditions on the answers y at the points x (Rasmussen & Williams
// 2006, algorithm 2.1). A variance of 0 stands for the likeliest one,
// yᵀ·(R + noise·I)⁻¹·y / n (Jones, Schonlau & Welch 1998, equation 5). It reports
// false where the correlations have no factor: raise the noise.
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
		return nil, false // too poorly conditioned to be believed
	}
	p.solved = solved.RawVector().Data
	fit := dot(y, p.solved)
	if p.variance == 0 {
		p.variance = max(fit/float64(n), math.SmallestNonzeroFloat64)
	}
	p.log = -0.5 * (fit/p.variance + float64(n)*math.Log(2*math.Pi*p.variance) + chol.LogDet())
	return p, true
}

// at is the mean and the standard deviation of the loss, without noise, at a point.
// near is n floats of work space.
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
