package suggest

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Candidate is an archived run that a campaign may reproduce.
type Candidate struct {
	Features sizing.Features
}

// ScoredCandidate is a chosen candidate.
type ScoredCandidate struct {
	Index int // index in the candidates
	// Gain is the expected reduction of the summed prediction variance over all candidates, as a
	// share of the sum before any observation.
	Gain float64
}

// Rank chooses up to `count` candidates, in the order of the choices. The usage of the runs in `known` is known already.
//
// The first, third and every further odd choice follows a greedy V-optimal design (transductive
// experimental design; Yu, Bi and Tresp 2006) with a Gaussian process: the chosen candidate reduces the
// summed prediction variance over all candidates most. All candidates have the same weight in this sum, because
// weights by past peaks gave higher (worse) u scores on retail (docs/benchmarks.md). A choice reduces the gain of
// similar candidates, so the chosen candidates are diverse. The even choices follow kernel herding:
// they bring the frequencies of inputs among the known and chosen runs close to those among all runs.
//
// If there are more than maxCandidates candidates or maxKnown known runs, Rank uses an evenly spaced sample.
func Rank(candidates, known []Candidate, count int) []ScoredCandidate {
	if len(candidates) == 0 || count < 1 {
		return nil
	}
	sampled, knownRows := evenly(len(candidates), maxCandidates), evenly(len(known), maxKnown)
	sample := make([]Candidate, len(sampled))
	for i, n := range sampled {
		sample[i] = candidates[n]
	}
	d := newDesign(sample)
	for _, n := range knownRows {
		d.rows, d.weights = append(d.rows, d.row(&known[n])), append(d.weights, 0)
	}
	p := newProcess(d)
	h := newHerd(p.covariance, len(sampled))
	for i := range knownRows {
		p.observe(len(sampled) + i)
		h.choose(len(sampled) + i)
	}
	scored := p.choose(h, count)
	for i := range scored {
		scored[i].Index = sampled[scored[i].Index]
	}
	return scored
}

// The covariance matrix of the process takes 8 · (maxCandidates + maxKnown)² bytes = 72 MB, and the kernel of
// the candidates for kernel herding 48 MB.
const (
	maxCandidates = 2_000
	maxKnown      = 1_000
)

// evenly returns at most `limit` of the indices 0 to n − 1, evenly spaced.
func evenly(n, limit int) []int {
	picked := make([]int, min(n, limit))
	for i := range picked {
		picked[i] = i * n / len(picked)
	}
	return picked
}

// design is the design matrix of the candidates and known runs. Its columns are standardised logarithms of numbers,
// standardised dates and bools, and one indicator for each frequent category value.
type design struct {
	columns []column
	rows    [][]float64
	weights []float64 // of the rows in the sum of the variances: 1 for a candidate, 0 for a known run
}

// column encodes one number, date or bool, or one value of a category.
type column struct {
	name        string // name of the feature
	category    string // the category value that an indicator marks
	indicator   bool
	mean, scale float64 // of a column that is no indicator
}

// maxCategories bounds the indicators of one feature, and so the time for the distances of rows. Rarer values have no
// indicator, so that rows that differ only in them count as equal.
const maxCategories = 20

func newDesign(candidates []Candidate) *design {
	d := &design{}
	numbers, categories := map[string][]float64{}, map[string]map[string]int{}
	for i := range candidates {
		for name, v := range candidates[i].Features {
			if x, ok := numberOf(v); ok {
				numbers[name] = append(numbers[name], x)
			} else if v.Kind == sizing.Category {
				if categories[name] == nil {
					categories[name] = map[string]int{}
				}
				categories[name][v.Text]++
			}
		}
	}
	for _, name := range sortedKeys(numbers) {
		if mean, scale := meanAndScale(numbers[name]); scale > 0 {
			d.columns = append(d.columns, column{name: name, mean: mean, scale: scale})
		}
	}
	for _, name := range sortedKeys(categories) {
		values := sortedKeys(categories[name])
		slices.SortStableFunc(values, func(a, b string) int { return categories[name][b] - categories[name][a] })
		for _, value := range values[:min(len(values), maxCategories)] {
			d.columns = append(d.columns, column{name: name, category: value, indicator: true})
		}
	}
	for i := range candidates {
		d.rows, d.weights = append(d.rows, d.row(&candidates[i])), append(d.weights, 1)
	}
	return d
}

// row returns the row of a candidate. A missing number counts as the mean; the indicators of a missing category are zero.
func (d *design) row(c *Candidate) []float64 {
	row := make([]float64, len(d.columns))
	for j := range d.columns {
		col := &d.columns[j]
		v := c.Features[col.name]
		switch x, ok := numberOf(v); {
		case col.indicator && v.Kind == sizing.Category && v.Text == col.category:
			row[j] = 1
		case !col.indicator && ok:
			row[j] = (x - col.mean) / col.scale
		}
	}
	return row
}

// numberOf returns a value as a number. A number becomes a logarithm, because peaks grow with powers of inputs. `ok` is false
// for a category and a missing value.
func numberOf(v sizing.Value) (x float64, ok bool) {
	switch v.Kind {
	case sizing.Number:
		return math.Copysign(math.Log1p(math.Abs(v.Num)), v.Num), true
	case sizing.Date, sizing.Bool:
		return v.Num, true
	}
	return 0, false
}

// meanAndScale returns the mean and, as scale, the standard deviation.
func meanAndScale(values []float64) (mean, scale float64) {
	for _, x := range values {
		mean += x / float64(len(values))
	}
	for _, x := range values {
		scale += (x - mean) * (x - mean) / float64(len(values))
	}
	return mean, math.Sqrt(scale)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
