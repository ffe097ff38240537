// Package resample balances classes of very different sizes, by weights, by random
// oversampling or by SMOTE.
//
//	class      0        1     2          0        1        2
//	rows    ▇▇▇▇▇▇▇▇   ▇▇▇    ▇   ──▶ ▇▇▇▇▇▇▇▇ ▇▇▇░░░░░ ▇░░░░░░░
//
// The package works on rows before encoding: a date is one number and a category is one
// code. The encoded columns of a row (one-hot groups, weekdays, differences of dates) are
// then consistent, unlike interpolated one-hot columns.
//
// The package handles numbers only: no tasks, clock or I/O.
package resample

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// ErrRows reports rows that cannot be resampled.
var ErrRows = errors.New("resample: rows cannot be resampled")

// Balanced returns weights that give every non-empty class the same total weight and leave the
// sum of all weights unchanged. If the table has no weights, each row of a class with n_c rows
// gets n / (k·n_c), where n is the number of rows and k the number of non-empty classes. The mean weight is then 1.
// These are the weights of the weighting method of King & Zeng (2001), "Logistic Regression in
// Rare Events Data", for a population in which all classes are equally frequent.
//
// The targets are classes 0 … bins−1. Balanced returns ErrRows for other targets, and
// table.ErrShape for an invalid table.
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

// Random returns the table with random duplicates of rows in the smaller classes, in the
// order of the classes, until each class has as many rows as the largest one. The original
// rows come first, in the same order. An empty class stays empty. The same table and seed
// give the same rows. Random returns the errors of Balanced.
func Random(t *table.Table, bins int, seed uint64) (*table.Table, error) {
	members, err := classes(t, bins)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(seed, 0x8f3d))
	rows := allRows(t)
	for _, class := range members {
		for range deficit(class, members) {
			rows = append(rows, class[rng.IntN(len(class))])
		}
	}
	return t.Select(rows), nil
}

func classes(t *table.Table, bins int) ([][]int, error) {
	if err := t.Check(); err != nil {
		return nil, err
	}
	members := make([][]int, max(0, bins))
	for i, y := range t.Y {
		c := int(max(-1, min(y, float64(bins)))) // Go does not define the conversion of a float outside the range of int
		if float64(c) != y || c < 0 || c >= bins {
			return nil, fmt.Errorf("%w: row %d has target %v: must be a class from 0 to %d", ErrRows, i, y, bins-1)
		}
		members[c] = append(members[c], i)
	}
	return members, nil
}

func deficit(class []int, members [][]int) int {
	if len(class) == 0 {
		return 0
	}
	largest := 0
	for _, rows := range members {
		largest = max(largest, len(rows))
	}
	return largest - len(class)
}

func allRows(t *table.Table) []int {
	rows := make([]int, t.Rows())
	for i := range rows {
		rows[i] = i
	}
	return rows
}
