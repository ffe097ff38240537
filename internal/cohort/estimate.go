package cohort

import (
	"math"
	"slices"
	"sort"
)

// The quantities that the profiles estimate, as natural logarithms.
const (
	cores      = iota // largest number of cores in use
	gpuMemory         // peak in bytes
	memory            // peak in bytes
	quantities        // number of quantities
)

// gridSteps is the number of equal steps in which the probabilities of a distribution go from 0 to 1.
const gridSteps = 50

// distribution is the distribution of a quantity over the tasks of a profile: its quantiles at the
// probabilities 0, 1/gridSteps, 2/gridSteps, … 1. It is empty if no run reports the quantity.
type distribution []float32

// below returns P(quantity ≤ x), linear between the quantiles.
func (d distribution) below(x float64) float64 {
	at := sort.Search(len(d), func(i int) bool { return float64(d[i]) > x })
	switch at {
	case 0:
		return 0
	case len(d):
		return 1
	}
	low, high := float64(d[at-1]), float64(d[at])
	return (float64(at-1) + (x-low)/(high-low)) / gridSteps
}

type weightedValue struct{ value, weight float64 }

// newDistribution returns the distribution of `values`, which it sorts.
func newDistribution(values []weightedValue) distribution {
	if len(values) == 0 {
		return nil
	}
	slices.SortFunc(values, func(a, b weightedValue) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	total := 0.0
	for _, v := range values {
		total += v.weight
	}
	d := make(distribution, 0, gridSteps+1)
	at, sum := 0, values[0].weight
	for step := range gridSteps + 1 {
		for level := total * float64(step) / gridSteps; sum < level*(1-1e-9) && at < len(values)-1; {
			at++
			sum += values[at].weight
		}
		d = append(d, float32(values[at].value))
	}
	return d
}

// describe returns the classes, which are the profiles and the outlier group, with their distributions. `ids` has the
// profile id of each class. The rows of a task share a weight of 1.
func describe(tasks []*labelledTask, ids []int) []class {
	classes := make([]class, len(ids))
	values := make([][quantities][]weightedValue, len(ids))
	for _, t := range tasks {
		weight := 1 / float64(len(t.rows))
		seen := map[int]bool{}
		for i := range t.rows {
			c := t.classes[i]
			classes[c].Runs++
			if !seen[c] {
				classes[c].Tasks++
				seen[c] = true
			}
			for q, v := range t.rows[i].logs() {
				if !math.IsNaN(v) {
					values[c][q] = append(values[c][q], weightedValue{v, weight})
				}
			}
		}
	}
	for c := range classes {
		classes[c].ID = ids[c]
		for q := range values[c] {
			classes[c].Spreads[q] = newDistribution(values[c][q])
		}
	}
	return classes
}

// logs returns the logarithms of the quantities of a row; NaN is unknown. A GPU memory of zero counts as one byte. A killed
// run shows only its memory.
func (r *Row) logs() [quantities]float64 {
	logs := [quantities]float64{math.Log(r.Cores), math.Log(max(1, r.GPUMemory)), math.Log(r.Peak)}
	for q, v := range logs {
		if math.IsInf(v, 0) || r.Killed && q != memory {
			logs[q] = math.NaN()
		}
	}
	return logs
}

// Place is the predicted usage profile of a task without history.
type Place struct {
	Profile    int     // id of the most probable profile; 0 is the outlier group
	Confidence float64 // probability of Profile
	profiles   *Profiles
	weights    [maxClasses]float64 // probability by class
}

// Place predicts the profile of a task without history; ok is false for nil Profiles.
func (p *Profiles) Place(f *Facts) (place Place, ok bool) {
	if p == nil {
		return Place{}, false
	}
	place.profiles = p
	weights := place.weights[:len(p.classes)]
	p.probabilities(f, weights)
	best := place.class()
	place.Profile, place.Confidence = p.classes[best].ID, weights[best]
	return place, true
}

// class returns the most probable class; the first one if several are equally probable.
func (p *Place) class() int {
	best := 0
	for c, w := range p.weights {
		if w > p.weights[best] {
			best = c
		}
	}
	return best
}

// mixture is the distribution of one quantity over several profiles.
type mixture struct {
	parts   [maxClasses]distribution
	weights [maxClasses]float64 // their sum is 1
	n       int
	low     float64 // smallest value of the parts
	high    float64 // largest value of the parts
}

// negligible is the weight below which a profile does not enter a mixture.
const negligible = 0.002

// mixture returns the distribution of a quantity over the profiles. ok is false if no profile with a weight of at least
// `negligible` knows the quantity.
func (p *Place) mixture(quantity int) (m mixture, ok bool) {
	sum := 0.0
	m.low, m.high = math.Inf(1), math.Inf(-1)
	for c, w := range p.weights[:len(p.profiles.classes)] {
		d := p.profiles.classes[c].Spreads[quantity]
		if w < negligible || len(d) == 0 {
			continue
		}
		m.parts[m.n], m.weights[m.n] = d, w
		m.n++
		sum += w
		m.low, m.high = min(m.low, float64(d[0])), max(m.high, float64(d[gridSteps]))
	}
	for i := range m.n {
		m.weights[i] /= sum
	}
	return m, m.n > 0
}

func (m *mixture) below(x float64) float64 {
	sum := 0.0
	for i := range m.n {
		sum += m.weights[i] * m.parts[i].below(x)
	}
	return sum
}

// bisections gives quantiles, which are logarithms, an accuracy of a few thousandths.
const bisections = 14

func (m *mixture) quantile(probability float64) float64 {
	low, high := m.low, m.high
	for range bisections {
		if middle := (low + high) / 2; m.below(middle) >= probability {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

// Cores returns the number of cores that a run does not exceed with the given probability; 0 if Place.mixture
// finds no distribution.
func (p *Place) Cores(probability float64) float64 { return p.amount(cores, probability) }

// minGPUMemory is the smallest amount of GPU memory, in bytes, that counts as use of a GPU. Each process on a GPU uses more.
const minGPUMemory = 1 << 20

// GPUMemory returns the GPU memory in bytes that a run does not exceed with the given probability; 0 if this is less than
// minGPUMemory, or if Place.mixture finds no distribution.
func (p *Place) GPUMemory(probability float64) float64 {
	if used := p.amount(gpuMemory, probability); used >= minGPUMemory {
		return used
	}
	return 0
}

func (p *Place) amount(quantity int, probability float64) float64 {
	m, ok := p.mixture(quantity)
	if !ok {
		return 0
	}
	return math.Exp(m.quantile(probability))
}

// Grant returns the amount of memory in bytes with the least expected cost under the mixture of the profiles; 0 if no profile
// knows the memory. errorList.margin chooses the amount, so its risk has the same bounds as in Model.Size.
func (p *Place) Grant(riskTarget float64) float64 {
	var errors []weightedError
	for c, w := range p.weights[:len(p.profiles.classes)] {
		for _, v := range p.profiles.classes[c].Spreads[memory] {
			errors = append(errors, weightedError{float64(v), w})
		}
	}
	if len(errors) == 0 {
		return 0
	}
	slices.SortFunc(errors, func(a, b weightedError) int {
		switch {
		case a.Error < b.Error:
			return -1
		case a.Error > b.Error:
			return 1
		}
		return 0
	})
	middle := 0.0
	for _, e := range errors {
		middle += e.Error / float64(len(errors))
	}
	for i := range errors {
		errors[i].Error -= middle // the cost is in units of a typical peak
	}
	list := newErrorList(errors)
	return math.Exp(middle + list.margin(riskTarget))
}
