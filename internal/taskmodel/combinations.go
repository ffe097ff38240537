package taskmodel

import (
	"math"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Runs with the same combination of categories, such as a market and a department, may need more memory than each category
// alone shows. combinations holds these effects on the log peak: random intercepts of the line's errors (Laird and Ware 1982),
// by combination. The trees learn the errors that remain; alone they would need many splits for each combination.
type combinations struct {
	Columns  []bool             // by column of the encoding: whether its values are part of a combination; nil: no effects
	Effects  map[uint64]float64 // in log bytes, by the groupKey of Columns
	Variance float64            `cbor:",omitzero"` // of the effects, if new combinations are rare; 0: new combinations are frequent, or an earlier release made the model
}

const (
	minCombinationRows    = 32   // fewest rows for effects; with fewer the task is in its cold start
	minRowsPerCombination = 4    // smallest mean number of rows per combination; with fewer, rows of a combination mostly have identical features, and the groups of rows predict them better
	maxCombined           = 12   // largest number of categories and bools; with more, the comparison of their subsets takes long
	combinationClip       = 1.0  // largest error in log units; larger errors are clipped
	combinationPenalty    = 2.0  // penalty of effects, in units of the logarithm of the number of rows
	minEffectShare        = 1e-4 // smallest variance of the effects, as a share of the variance of the errors; a smaller one counts as 0
	minPriorRows          = 0.01 // lower bound of combinationFit.prior
)

// fitCombinations sets m.Combinations. y holds the log peaks of the rows, and base the predictions of the line.
// fitCombinations adds to each of these predictions the effect that follows from the other rows. If the effect contained the
// row's own error, the trees would learn too little from this row.
func (m *models) fitCombinations(rows []row, y, base []float64) {
	if len(rows) < minCombinationRows {
		return
	}
	f := combinationFit{columns: m.Enc.Columns, rows: rows, errors: make([]float64, len(rows)), keys: make([]uint64, len(rows))}
	for i := range rows {
		f.errors[i] = max(-combinationClip, min(combinationClip, y[i]-base[i]))
	}
	if n := f.selectAll(); n < 2 || n > maxCombined || !f.choose(n) {
		return
	}
	m.Combinations = combinations{Columns: f.selected, Effects: map[uint64]float64{}}
	if f.areNewRare() {
		m.Combinations.Variance = f.variance
	}
	for i, key := range f.keys {
		sum := f.sums[key]
		m.Combinations.Effects[key] = sum.errors / (sum.weight + f.prior)
		base[i] += f.leftOut(i)
	}
}

func (c *combinations) effect(columns []column, cells []sizing.Value) float64 {
	if c.Columns == nil {
		return 0
	}
	return c.Effects[groupKey(columns, cells, c.Columns)]
}

// isNew reports whether new combinations are rare and a row has a combination of known values that no row of the last fit had.
func (c *combinations) isNew(e *encoder, cells []sizing.Value) bool {
	if c.Variance == 0 {
		return false
	}
	for j, is := range c.Columns {
		if is && (cells[j].Kind == sizing.Missing || e.isUnseen(j, cells)) {
			return false
		}
	}
	_, isKnown := c.Effects[groupKey(e.Columns, cells, c.Columns)]
	return !isKnown
}

func (c *combinations) split(effect float64, add func(j int, share float64)) {
	combined := 0
	for _, is := range c.Columns {
		combined += boolToInt(is)
	}
	for j, is := range c.Columns {
		if is {
			add(j, effect/float64(combined))
		}
	}
}

// combinationFit chooses the columns of combinations and sums the errors of the line by combination.
type combinationFit struct {
	columns  []column
	rows     []row
	errors   []float64 // by row
	selected []bool    // by column
	keys     []uint64  // by row, of the combination
	sums     map[uint64]combinationSum
	variance float64 // of the effects
	prior    float64 // weight of an effect of zero, in rows; infinite if the combinations show no effect
}

type combinationSum struct {
	errors, weight float64 // the errors are weighted
}

// selectAll selects the bools and the categories that may be part of a combination, and returns their number. Categories
// whose texts differ only in numbers, or seldom recur, are not selected.
func (f *combinationFit) selectAll() (n int) {
	f.selected = make([]bool, len(f.columns))
	for j := range f.columns {
		c := &f.columns[j]
		isText := c.Kind == sizing.Category && !c.hasTextColumns()
		if f.selected[j] = c.Kind == sizing.Bool || isText; f.selected[j] {
			n++
		}
	}
	return n
}

// choose removes columns as long as this makes the errors smaller (backward elimination), until two remain. n is the number of
// selected columns. choose reports whether the remaining combinations have enough rows and make the errors smaller than chance
// alone would.
func (f *combinationFit) choose(n int) bool {
	plain, weight := 0.0, 0.0
	for i, e := range f.errors {
		plain, weight = plain+f.rows[i].Weight*e*e, weight+f.rows[i].Weight
	}
	for least := f.fit(); n > 2; n-- {
		worst := -1
		for j, is := range f.selected {
			if !is {
				continue
			}
			f.selected[j] = false
			if squares := f.fit(); squares < least {
				worst, least = j, squares
			}
			f.selected[j] = true
		}
		if worst < 0 {
			break
		}
		f.selected[worst] = false
	}
	remaining := f.fit()
	return len(f.rows) >= minRowsPerCombination*len(f.sums) && weight*math.Log(plain/remaining) >= combinationPenalty*math.Log(weight)
}

// fit sums the errors by combination and estimates prior by the method of moments: the mean product of the errors of two rows
// of a combination is the variance of the effects. It returns the sum of the squared errors that remain if the effects of a
// row follow from earlier rows only, because the effects may change with time.
func (f *combinationFit) fit() float64 {
	f.sums = make(map[uint64]combinationSum, len(f.sums))
	squares, weight := 0.0, 0.0
	for i := range f.rows {
		key := groupKey(f.columns, f.rows[i].Cells, f.selected)
		f.keys[i] = key
		e, w, sum := f.errors[i], f.rows[i].Weight, f.sums[key]
		f.sums[key] = combinationSum{sum.errors + w*e, sum.weight + w}
		squares, weight = squares+w*e*e, weight+w
	}
	products, pairs := 0.0, 0.0
	for i, key := range f.keys {
		e, w, sum := f.errors[i], f.rows[i].Weight, f.sums[key]
		if others := sum.weight - w; others > 0 {
			products, pairs = products+w*e*(sum.errors-w*e)/others, pairs+w
		}
	}
	f.variance, f.prior = 0, math.Inf(1)
	if between, total := products/pairs, squares/weight; between > minEffectShare*total {
		f.variance, f.prior = between, max(minPriorRows, (total-between)/between)
	}
	remaining := 0.0
	earlier := make(map[uint64]combinationSum, len(f.sums))
	for i, key := range f.keys {
		sum, w := earlier[key], f.rows[i].Weight
		e := f.errors[i] - sum.errors/(sum.weight+f.prior)
		remaining += w * e * e
		earlier[key] = combinationSum{sum.errors + w*f.errors[i], sum.weight + w}
	}
	return remaining
}

func (f *combinationFit) leftOut(i int) float64 {
	sum := f.sums[f.keys[i]]
	return (sum.errors - f.rows[i].Weight*f.errors[i]) / (sum.weight - f.rows[i].Weight + f.prior)
}

// areNewRare reports whether new combinations are rare. The share of rows whose combination occurs only once estimates the
// probability of a new one (Good 1953). If new combinations are frequent, the residuals include their effects.
func (f *combinationFit) areNewRare() bool {
	rows, once := map[uint64]int{}, 0
	for _, key := range f.keys {
		rows[key]++
	}
	for _, n := range rows {
		once += boolToInt(n == 1)
	}
	return once*minMissingShare < len(f.rows)
}

func (m *Model) describeCombination(text *strings.Builder, cells []sizing.Value) {
	if !m.Models.isNewCombination(cells) {
		return
	}
	var names []string
	for j, is := range m.Models.Combinations.Columns {
		if is {
			names = append(names, m.Models.Enc.Columns[j].Name)
		}
	}
	text.WriteString("; this combination of " + strings.Join(names, " and ") + " was not seen before")
}
