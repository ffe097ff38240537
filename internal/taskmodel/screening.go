package taskmodel

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Limits on the size of an encoding. The ridge regression stores width² co-moments and solves in
// O(width³), so its width decides the size of a model and its training time.
const (
	maxFeatures       = 256    // features that an encoding uses; one question has at most sizing.MaxFeatures, but runs may send different ones
	maxColumns        = 256    // columns of the line (the ridge regression), and columns of the trees
	maxOneHotColumns  = 1024   // one-hot columns before screening
	maxPairs          = 64     // pairs of dates or numbers before screening
	maxCategoryLevels = 20_000 // levels of all categories together
	maxScreenRows     = 4000   // newest rows on which columns are scored
	minHashedBytes    = 40     // length from which a category value is stored as its hash
)

// retireFeatures drops the least recently sent features beyond maxFeatures. Feature names that contain ids are sent only
// once, so they do not displace the names that every run sends.
func (e *encoder) retireFeatures(rows [][]sizing.Value) {
	var live []int
	for j := range e.Columns {
		if e.Columns[j].Kind != sizing.Missing {
			live = append(live, j)
		}
	}
	if len(live) <= maxFeatures {
		return
	}
	newest, known := make([]int, len(e.Columns)), make([]int, len(e.Columns)) // index of the newest row with the feature, and number of such rows
	for i, cells := range rows {
		for _, j := range live {
			if cells[j].Kind != sizing.Missing {
				newest[j] = i
				known[j]++
			}
		}
	}
	slices.SortFunc(live, func(a, b int) int {
		return cmp.Or(cmp.Compare(newest[b], newest[a]), cmp.Compare(known[b], known[a]), cmp.Compare(a, b))
	})
	e.Retired = len(live) - maxFeatures
	for _, j := range live[maxFeatures:] {
		e.Columns[j].Kind, e.Columns[j].Levels, e.Columns[j].Retired = sizing.Missing, nil, true
	}
}

// screenColumns reduces an encoding that exceeds maxColumns: it limits the one-hot columns and the pairs, then keeps only
// the columns with the largest absolute correlation with the log peak (sure independence screening, Fan & Lv 2008).
func (e *encoder) screenColumns(rows [][]sizing.Value, y []float64) {
	from := max(0, len(rows)-maxScreenRows)
	rows, y = rows[from:], y[from:]
	e.limitOneHots()
	e.Pairs = e.screenPairs(rows, y)
	e.countColumns()
	line, tree := newScreen(e.LineWidth, y), newScreen(e.TreeWidth, y)
	var x, z []float64
	for i, cells := range rows {
		x, z = e.encode(cells, x[:0], z[:0])
		line.add(x, y[i])
		tree.add(z, y[i])
		e.learn(cells, y[i])
	}
	e.resetStatistics()
	e.keepColumns(line.best(maxColumns), tree.best(maxColumns))
}

func (e *encoder) screenPairs(rows [][]sizing.Value, y []float64) [][2]int {
	pairs := e.Pairs
	if len(pairs) <= maxPairs {
		return pairs
	}
	s := newScreen(len(pairs), y)
	differences := make([]float64, len(pairs))
	for i, cells := range rows {
		for k, pair := range pairs {
			from, to := cells[pair[0]], cells[pair[1]]
			if differences[k] = to.Num - from.Num; from.Kind == sizing.Missing || to.Kind == sizing.Missing {
				differences[k] = math.NaN()
			}
		}
		s.add(differences, y[i])
	}
	var best [][2]int
	for _, k := range s.best(maxPairs) {
		best = append(best, pairs[k])
	}
	return best
}

// keepColumns reduces the output of encode to the columns with the given ascending indices. It drops each pair that has none
// of these columns, and each feature that has none and is in no pair; then it shifts the indices of later columns.
func (e *encoder) keepColumns(line, tree []int) {
	overlaps := func(from, to int, of []int) bool {
		i, _ := slices.BinarySearch(of, from)
		return i < len(of) && of[i] < to
	}
	shift := func(of []int, from, by int) {
		i, _ := slices.BinarySearch(of, from)
		for k := i; k < len(of); k++ {
			of[k] -= by
		}
	}
	atLine, atTree := 0, 0
	drop := func(inLine, inTree int) bool {
		if overlaps(atLine, atLine+inLine, line) || overlaps(atTree, atTree+inTree, tree) {
			atLine, atTree = atLine+inLine, atTree+inTree
			return false
		}
		shift(line, atLine, inLine)
		shift(tree, atTree, inTree)
		return true
	}
	for j := range e.Columns {
		c := &e.Columns[j]
		paired := slices.ContainsFunc(e.Pairs, func(p [2]int) bool { return p[0] == j || p[1] == j })
		inLine, inTree := c.widths()
		if paired {
			atLine, atTree = atLine+inLine, atTree+inTree
		} else if drop(inLine, inTree) {
			c.Kind, c.Levels = sizing.Missing, nil
		}
	}
	e.Pairs = slices.DeleteFunc(e.Pairs, func([2]int) bool { return drop(2, 1) })
	e.KeepLine, e.KeepTree = line, tree
	e.LineWidth, e.TreeWidth = len(line), len(tree)
}

// screen scores columns by their squared correlation with a target, in one pass over the rows.
type screen struct {
	mean         float64   // of the target
	first        []float64 // first value of a column; sums are relative to it
	n, x, xx, xy []float64 // number of rows with a value, and sums over these rows; y is the target minus its mean
	sumY         []float64 // sum of y over these rows
	hash         []uint64  // hash of all values of a column, to find equal columns
}

func newScreen(width int, y []float64) *screen {
	s := &screen{hash: make([]uint64, width)}
	for _, v := range [...]*[]float64{&s.first, &s.n, &s.x, &s.xx, &s.xy, &s.sumY} {
		*v = make([]float64, width)
	}
	for _, v := range y {
		s.mean += v / float64(len(y))
	}
	return s
}

func (s *screen) add(values []float64, y float64) {
	y -= s.mean
	for k, v := range values {
		s.hash[k] = (s.hash[k] ^ math.Float64bits(v)) * 1099511628211
		s.hash[k] ^= s.hash[k] >> 29
		if math.IsNaN(v) {
			continue
		}
		if s.n[k] == 0 {
			s.first[k] = v
		}
		v -= s.first[k]
		s.n[k]++
		s.x[k] += v
		s.xx[k] += v * v
		s.xy[k] += v * y
		s.sumY[k] += y
	}
}

// score returns the sum of squares of the target that column k explains, which is proportional to the squared correlation of
// target and column; a missing value counts as the mean of the column.
func (s *screen) score(k int) float64 {
	if s.n[k] == 0 {
		return 0
	}
	squares := s.xx[k] - s.x[k]*s.x[k]/s.n[k]
	common := s.xy[k] - s.x[k]*s.sumY[k]/s.n[k]
	if score := common * common / squares; score > 0 && !math.IsInf(score, 0) {
		return score
	}
	return 0
}

// best returns the ascending indices of the at most n columns with the highest scores. Of equal columns, such as the
// indicators of features that are missing together, it uses only the first.
func (s *screen) best(n int) []int {
	scores := make([]float64, len(s.n))
	order := make([]int, 0, len(s.n))
	seen := make(map[uint64]bool, len(s.n))
	for k := range s.n {
		if scores[k] = s.score(k); !seen[s.hash[k]] {
			seen[s.hash[k]] = true
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	order = order[:min(n, len(order))]
	slices.Sort(order)
	return order
}

// gather keeps, of the columns from `start` on, only those whose index relative to start is in `keep`; nil keeps all. It
// overwrites columns.
func gather[T any](columns []T, start int, keep []int) []T {
	if keep == nil {
		return columns
	}
	for k, at := range keep {
		columns[start+k] = columns[start+at]
	}
	return columns[:start+len(keep)]
}

// migrate completes an encoder of an earlier release, which encoded all date pairs without a list of them, and did not hash
// long category values. It returns an error if the encoder is inconsistent.
func (e *encoder) migrate() error {
	if e.Pairs == nil {
		e.Pairs = e.datePairsOf()
	}
	for j := range e.Columns {
		c := &e.Columns[j]
		for name, l := range c.Levels {
			if key := keyOf(name); key != name {
				delete(c.Levels, name)
				c.Levels[key] = l
			}
		}
	}
	return e.check()
}

func (e *encoder) check() error {
	line, tree, columns := e.LineWidth, e.TreeWidth, len(e.Columns)
	if e.countColumns(); e.KeepLine != nil || e.KeepTree != nil {
		ascendingBelow := func(keep []int, width int) bool {
			return slices.IsSorted(keep) && (len(keep) == 0 || keep[0] >= 0 && keep[len(keep)-1] < width)
		}
		if !ascendingBelow(e.KeepLine, e.LineWidth) || !ascendingBelow(e.KeepTree, e.TreeWidth) {
			return errors.New("encoder: kept columns are out of range")
		}
		if e.KeepLine != nil {
			e.LineWidth = len(e.KeepLine)
		}
		if e.KeepTree != nil {
			e.TreeWidth = len(e.KeepTree)
		}
	}
	if e.LineWidth != line || e.TreeWidth != tree {
		return fmt.Errorf("encoder: the line and the trees have %d and %d columns, but the features need %d and %d", line, tree, e.LineWidth, e.TreeWidth)
	}
	for j := range e.Columns {
		if !e.Columns[j].Parts.isValid() || !e.Columns[j].Dates.isValid() {
			return fmt.Errorf("encoder: the parts or dates of the texts of feature %q are inconsistent", e.Columns[j].Name)
		}
	}
	for _, pair := range e.Pairs {
		if min(pair[0], pair[1]) < 0 || max(pair[0], pair[1]) >= columns {
			return fmt.Errorf("encoder: pair %v is out of range for %d features", pair, columns)
		}
	}
	return nil
}

// describeRetired returns a warning for the user; "" if no feature was retired.
func (m *Model) describeRetired() string {
	if m.Models == nil || m.Models.Enc.Retired == 0 {
		return ""
	}
	return fmt.Sprintf("the task has sent %d feature names: only the %d most recent ones are used; send the same names with every run",
		m.Models.Enc.Retired+maxFeatures, maxFeatures)
}
