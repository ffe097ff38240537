package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Runs with the same combination of categories, such as a market and a department, may need more memory than each category
// alone shows. combinations holds these effects on the log peak: random intercepts of the line's errors (Laird and Ware 1982),
// by combination. The trees learn the errors that remain; alone they would need many splits for each combination.
type combinations struct {
	Columns []int              // indices of the categories and bools whose values form a combination; empty: no effects
	Effects map[uint64]float64 // in log bytes, by the key of the combination
}

const (
	minCombinationRows    = 32  // fewest rows for effects; with fewer the task is in its cold start
	minRowsPerCombination = 4   // fewest rows per combination; with fewer, most rows of a combination are repeats, which the groups of rows know better
	maxCombined           = 12  // largest number of categories and bools; with more, the comparison of their subsets takes long
	combinationClip       = 1.0 // largest error in log units; larger errors are clipped
	combinationPenalty    = 2.0 // penalty of effects, in units of the logarithm of the number of rows
	minEffectShare        = 1e-4
	minPriorRows          = 0.01
)

// fitCombinations estimates the effects of combinations from the errors of the line. y holds the log peaks of the rows and
// base the predictions of the line. fitCombinations adds the effects to base, for each row the one that follows from the other
// rows: with the row's own error in it, the trees would learn too little from this row.
func (m *models) fitCombinations(rows []row, y, base []float64) {
	f := combinationFit{errors: make([]float64, len(rows)), weights: make([]float64, len(rows)), keys: make([]uint64, len(rows))}
	for i := range rows {
		f.errors[i], f.weights[i] = max(-combinationClip, min(combinationClip, y[i]-base[i])), rows[i].Weight
	}
	f.addColumns(m.Enc.Columns, rows)
	if len(rows) < minCombinationRows || len(f.columns) < 2 || len(f.columns) > maxCombined || !f.choose() {
		return
	}
	m.Combinations = combinations{Columns: f.columns, Effects: map[uint64]float64{}}
	for i, key := range f.keys {
		sum := f.sums[key]
		m.Combinations.Effects[key] = sum.errors / (sum.weight + f.prior)
		base[i] += f.leftOut(i)
	}
}

// effect returns the effect of a row's combination in log bytes; 0 if it is unknown.
func (c *combinations) effect(cells []sizing.Value) float64 {
	if len(c.Columns) == 0 {
		return 0
	}
	key := uint64(0)
	for _, j := range c.Columns {
		key ^= combinationHash(j, cells[j])
	}
	return c.Effects[key]
}

// combinationFit chooses the columns of combinations and sums the errors of the line by combination.
type combinationFit struct {
	errors, weights []float64 // by row
	columns         []int
	hashes          [][]uint64 // by column and row
	keys            []uint64   // by row, of the combination; the XOR of the hashes of the chosen columns
	sums            map[uint64]combinationSum
	prior           float64 // weight of an effect of zero, in rows; infinite if the combinations show no effect
}

type combinationSum struct {
	errors, weight float64 // the errors are weighted
}

// addColumns adds the categories and bools. Texts that differ only in numbers, or that seldom recur, form no combinations.
func (f *combinationFit) addColumns(columns []column, rows []row) {
	for j := range columns {
		c := &columns[j]
		if c.Kind != sizing.Bool && (c.Kind != sizing.Category || c.Numbers.count() > 0 || len(c.Parts.At) > 0) {
			continue
		}
		hashes := make([]uint64, len(rows))
		for i := range rows {
			hashes[i] = combinationHash(j, rows[i].Cells[j])
			f.keys[i] ^= hashes[i]
		}
		f.columns, f.hashes = append(f.columns, j), append(f.hashes, hashes)
	}
}

// choose removes columns as long as this makes the errors smaller (backward elimination), down to two. It reports whether the
// effects of the remaining columns make the errors smaller than chance alone would.
func (f *combinationFit) choose() bool {
	plain, weight := 0.0, 0.0
	for i, e := range f.errors {
		plain, weight = plain+f.weights[i]*e*e, weight+f.weights[i]
	}
	least := f.fit()
	for len(f.columns) > 2 {
		worst := -1
		for k := range f.hashes {
			f.toggle(k)
			if squares := f.fit(); squares < least {
				worst, least = k, squares
			}
			f.toggle(k)
		}
		if worst < 0 {
			break
		}
		f.toggle(worst)
		f.columns, f.hashes = slices.Delete(f.columns, worst, worst+1), slices.Delete(f.hashes, worst, worst+1)
	}
	least = f.fit()
	return len(f.keys) >= minRowsPerCombination*len(f.sums) && weight*math.Log(plain/least) >= combinationPenalty*math.Log(weight)
}

// toggle adds column k to the keys, or removes it.
func (f *combinationFit) toggle(k int) {
	for i, h := range f.hashes[k] {
		f.keys[i] ^= h
	}
}

// fit sums the errors by combination and estimates prior by the method of moments: the mean product of the errors of two rows
// of a combination is the variance of the effects. It returns the sum of the squared errors that remain if the effects of a
// row follow from earlier rows only, because the effects may change with time.
func (f *combinationFit) fit() float64 {
	f.sums = make(map[uint64]combinationSum, len(f.sums))
	squares, weight := 0.0, 0.0
	for i, key := range f.keys {
		e, w, sum := f.errors[i], f.weights[i], f.sums[key]
		f.sums[key] = combinationSum{sum.errors + w*e, sum.weight + w}
		squares, weight = squares+w*e*e, weight+w
	}
	products, pairs := 0.0, 0.0
	for i, key := range f.keys {
		e, w, sum := f.errors[i], f.weights[i], f.sums[key]
		if others := sum.weight - w; others > 0 {
			products, pairs = products+w*e*(sum.errors-w*e)/others, pairs+w
		}
	}
	f.prior = math.Inf(1)
	if between, total := products/pairs, squares/weight; between > minEffectShare*total {
		f.prior = max(minPriorRows, (total-between)/between)
	}
	remaining := 0.0
	earlier := make(map[uint64]combinationSum, len(f.sums))
	for i, key := range f.keys {
		sum, w := earlier[key], f.weights[i]
		e := f.errors[i] - sum.errors/(sum.weight+f.prior)
		remaining += w * e * e
		earlier[key] = combinationSum{sum.errors + w*f.errors[i], sum.weight + w}
	}
	return remaining
}

// leftOut returns the effect of a row's combination that follows from the other rows.
func (f *combinationFit) leftOut(i int) float64 {
	sum := f.sums[f.keys[i]]
	return (sum.errors - f.weights[i]*f.errors[i]) / (sum.weight - f.weights[i] + f.prior)
}

// combinationHash returns a hash of a value of column j (FNV-1a). Its bits are mixed, so that the XOR of several hashes has no
// pattern.
func combinationHash(j int, v sizing.Value) uint64 {
	h := uint64(14695981039346656037)
	mix := func(x uint64) {
		for range 8 {
			h = (h ^ x&255) * 1099511628211
			x >>= 8
		}
	}
	mix(uint64(j))
	mix(uint64(v.Kind))
	if v.Kind == sizing.Category {
		for i := range len(v.Text) {
			h = (h ^ uint64(v.Text[i])) * 1099511628211
		}
	} else {
		mix(math.Float64bits(v.Num))
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	return h ^ h>>33
}
