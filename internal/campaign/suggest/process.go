package suggest

import (
	"math"
	"slices"
)

// noise is the assumed part of the variance of peaks that no feature explains, relative to the part that features
// explain. With a larger value, one observation says less about similar rows, so that Rank chooses more rows that
// resemble each other.
const noise = 1.0

// squaredLength is the squared length scale of the kernel, relative to the median squared distance of
// two rows that differ. With a kernel as wide as the median distance, most rows would count as similar.
const squaredLength = 0.1

// process is a Gaussian process with a squared exponential kernel.
type process struct {
	covariance    [][]float64 // posterior covariance of all pairs of rows
	weights       []float64   // of the rows in the sum of the variances
	priorVariance float64     // weighted sum of the variances before any observation
}

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
			if square > 0 && (i*31+j)%17 == 0 { // a fixed sample of about 1/17 of the pairs, which is enough for a median
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
			v := math.Exp(-p.covariance[i][j] / (2 * squaredLength * median))
			p.covariance[i][j], p.covariance[j][i] = v, v
		}
		p.covariance[i][i] = 1
		p.priorVariance += p.weights[i]
	}
	return p
}

// observe updates the covariance as if the peak of a row were known.
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

// gain returns how much an observation of a row would reduce the weighted sum of the variances.
func (p *process) gain(row int) float64 {
	sum := 0.0
	for i, v := range p.covariance[row] {
		sum += p.weights[i] * v * v
	}
	return sum / (p.covariance[row][row] + noise)
}

// choose chooses at most `count` of the candidates of h, one after another. It alternates between two rules.
// V-optimal design prefers rows that say most about the peaks of all candidates. Kernel herding (Chen, Welling
// and Smola 2010) gives the chosen rows the same distribution as all rows, because a model also learns how peaks are
// distributed.
func (p *process) choose(h *herd, count int) []ScoredCandidate {
	n := len(h.kernel)
	taken := make([]bool, n)
	var chosen []ScoredCandidate
	for len(chosen) < min(n, count) {
		value := p.gain
		if len(chosen)%2 == 1 {
			value = h.value
		}
		best, bestValue := -1, 0.0
		for i := range n {
			if taken[i] {
				continue
			}
			if v := value(i); best < 0 || v > bestValue {
				best, bestValue = i, v
			}
		}
		gain := p.gain(best)
		if p.priorVariance > 0 {
			gain /= p.priorVariance
		}
		taken[best] = true
		p.observe(best)
		h.choose(best)
		chosen = append(chosen, ScoredCandidate{best, gain})
	}
	return chosen
}

// herd is the state of kernel herding. The kernel of two rows is their covariance before any observation: 1 for equal rows,
// and near 0 for very different ones.
type herd struct {
	kernel [][]float64 // for each candidate, its kernels with all rows
	mean   []float64   // for each candidate, the mean of its kernels with all rows
	sums   []float64   // for each candidate, the sum of its kernels with the chosen rows
	chosen int         // number of chosen rows, including known ones
}

// newHerd returns a herd without chosen rows. `covariance` is the matrix before any observation. Its first n rows are the
// candidates; newHerd copies them.
func newHerd(covariance [][]float64, n int) *herd {
	h := &herd{kernel: make([][]float64, n), mean: make([]float64, n), sums: make([]float64, n)}
	for i := range n {
		h.kernel[i] = slices.Clone(covariance[i])
		for _, v := range h.kernel[i] {
			h.mean[i] += v / float64(len(covariance))
		}
	}
	return h
}

// value is the criterion of kernel herding: the candidate with the highest value brings the kernel mean embedding of the chosen
// rows nearest to that of all rows.
func (h *herd) value(candidate int) float64 {
	return h.mean[candidate] - h.sums[candidate]/float64(h.chosen+1)
}

// choose adds a row, a candidate or a known run, to the chosen rows.
func (h *herd) choose(row int) {
	for i := range h.kernel {
		h.sums[i] += h.kernel[i][row]
	}
	h.chosen++
}
