// Package resample evens out classes of very different sizes, by weights or by
// more rows of the smaller ones.
//
//	class      0        1     2          0        1        2
//	rows    ▇▇▇▇▇▇▇▇   ▇▇▇    ▇   ──▶ ▇▇▇▇▇▇▇▇ ▇▇▇░░░░░ ▇░░░░░░░
//
// It works on raw rows, before they are encoded: a date is one number and a
// category one code here. Whatever the encoder makes of them afterwards (one-hot
// groups, weekdays, differences of dates) then belongs together by construction,
// which interpolated one-hot columns would not.
//
// It knows numbers only: no tasks, no clock, no I/O.
package resample

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// ErrRows reports rows that cannot be resampled.
var ErrRows = errors.New("resample: rows cannot be resampled")

// Balanced gives each row a new weight such that every class present weighs the
// same and all rows together what they did: n / (k·n_c) for a row of one of the k
// classes present that has n_c of the n rows, where rows had no weights; their mean
// is then 1. This is the prior correction by weighting of King & Zeng (2001),
// "Logistic Regression in Rare Events Data", with equal classes as the population.
//
// The targets are classes 0 … bins−1. ErrRows if one is not, table.ErrShape if the
// table does not match.
func Balanced(t *table.Table, bins int) ([]float64, error) {
	members, err := classes(t, bins)
	if err != nil {
		return nil, err
	}
	present, all, class := 0.0, 0.0, make([]float64, bins)
	for c, rows := range members {
		for _, i := range rows {
			class[c] += t.Weight(i)
		}
		all += class[c]
		if len(rows) > 0 {
			present++
		}
	}
	weights := make([]float64, t.Rows())
	for i, y := range t.Y {
		weights[i] = t.Weight(i) * all / (present * class[int(y)])
	}
	return weights, nil
}

// Random returns the table with rows of the smaller classes drawn again, with
// replacement and in the order of the classes, until each has as many as the
// largest. The table's own rows come first, in their order; a class without rows
// stays empty. The same table and seed give the same rows. Errors as of Balanced.
func Random(t *table.Table, bins int, seed uint64) (*table.Table, error) {
	members, err := classes(t, bins)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0x8f3d))
	rows := everyRow(t)
	for _, class := range members {
		for range wanting(class, members) {
			rows = append(rows, class[rng.IntN(len(class))])
		}
	}
	return t.Select(rows), nil
}

// classes are the rows of each class.
func classes(t *table.Table, bins int) ([][]int, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	members := make([][]int, max(0, bins))
	for i, y := range t.Y {
		c := int(max(-1, min(y, float64(bins)))) // a float beyond int converts to anything
		if float64(c) != y || c < 0 || c >= bins {
			return nil, fmt.Errorf("%w: row %d has target %v: give a class from 0 to %d", ErrRows, i, y, bins-1)
		}
		members[c] = append(members[c], i)
	}
	return members, nil
}

// wanting is how many rows a class has less than the largest; none if it is empty.
func wanting(class []int, members [][]int) int {
	if len(class) == 0 {
		return 0
	}
	largest := 0
	for _, rows := range members {
		largest = max(largest, len(rows))
	}
	return largest - len(class)
}

func everyRow(t *table.Table) []int {
	rows := make([]int, t.Rows())
	for i := range rows {
		rows[i] = i
	}
	return rows
}
