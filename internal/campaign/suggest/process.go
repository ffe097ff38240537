package suggest

import (
	"math"
	"slices"
)

// noise is the variance of a peak that no feature explains, relative to the variance that features
// explain.
const noise = 1.0

// process is a Gaussian process with a squared exponential kernel. The length scale of the kernel is
// the median distance of two rows.
type process struct {
	covariance    [][]float64 // posterior covariance of all pairs of rows
	weights       []float64
	priorVariance float64 // weighted sum of the variances before any observation
}

// newProcess returns the process before any observation.
func newProcess(d *design) *process {
	n := len(d.rows)
	p := &process{covariance: make([][]float64, n), weights: d.weights}
	var distances []float64
	for i := range n {
		p.covariance[i] = make([]float64, n)
		for j := range i {
			square := 0.0
			for k, x := range d.rows[i] {
				square += (x - d.rows[j][k]) * (x - d.rows[j][k])
			}
			p.covariance[i][j] = square
			if square > 0 && (i*31+j)%17 == 0 { // a fixed sample of pairs
				distances = append(distances, square)
			}
		}
	}
	median := 1.0
	if len(distances) > 0 {
		slices.Sort(distances)
		median = distances[len(distances)/2]
	}
	for i := range n {
		for j := range i {
			v := math.Exp(-p.covariance[i][j] / (2 * median))
			p.covariance[i][j], p.covariance[j][i] = v, v
		}
		p.covariance[i][i] = 1
		p.priorVariance += p.weights[i]
	}
	return p
}

// observe conditions the process on a row.
func (p *process) observe(row int) {
	observed := slices.Clone(p.covariance[row])
	scale := 1 / (observed[row] + noise)
	for i, line := range p.covariance {
		factor := observed[i] * scale
		for j, v := range observed {
			line[j] -= factor * v
		}
	}
}

// gain returns the reduction of the weighted variance by an observation of a row.
func (p *process) gain(row int) float64 {
	sum := 0.0
	for i, v := range p.covariance[row] {
		sum += p.weights[i] * v * v
	}
	return sum / (p.covariance[row][row] + noise)
}

// choose chooses count of the first n rows, one after another, each with the largest gain.
func (p *process) choose(n, count int) []ScoredCandidate {
	taken := make([]bool, n)
	var chosen []ScoredCandidate
	for range min(n, count) {
		best := ScoredCandidate{Index: -1}
		for i := range n {
			if taken[i] {
				continue
			}
			if gain := p.gain(i); best.Index < 0 || gain > best.Gain {
				best = ScoredCandidate{i, gain}
			}
		}
		taken[best.Index] = true
		p.observe(best.Index)
		if p.priorVariance > 0 {
			best.Gain /= p.priorVariance
		}
		chosen = append(chosen, best)
	}
	return chosen
}
