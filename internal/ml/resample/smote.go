package resample

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// Kind says how SMOTE combines the values of a column.
type Kind uint8

// The kinds of columns.
const (
	Number   Kind = iota // interpolated
	Integer              // interpolated, then rounded: a count, a date in days
	Category             // a code, chosen by vote; a bool is a category with two codes
)

// SMOTE returns the table with synthetic rows in the smaller classes, in the order of the
// classes, until each class has as many rows as the largest one. The original rows come
// first, in the same order. An empty class stays empty.
//
// A synthetic row has two parents: a random base row of the class, and one of the nearest
// neighbours of the base in the class. The argument `neighbours` is the number of these neighbours: 0 means 5, as in
// imbalanced-learn, and a class of n rows uses at most n−1. Numbers are interpolated between the parents with one random
// share per row. A category is the most frequent one among the neighbours of the base (Chawla, Bowyer,
// Hall & Kegelmeyer 2002, SMOTE and SMOTE-NC). A synthetic row has the weight of the base.
//
// Distances are computed as in SMOTE-NC on standardised numbers: the distance of two different
// categories is the median standard deviation of the numbers within the class. This function
// differs from SMOTENC of imbalanced-learn:
//
//   - Scaling: SMOTENC leaves it to the caller. This function divides numbers by their standard
//     deviation over the whole table, because bytes would otherwise dominate counts.
//   - Median of 0, or no numbers: SMOTENC ignores categories, or rejects the rows. This function
//     uses a median of 1.
//   - Ties of a vote: SMOTENC draws one of the codes at random. In this function the code of the base wins, else the
//     lowest code.
//   - Few rows: SMOTENC rejects a class whose number of rows is not above the argument `neighbours`. This
//     function uses fewer neighbours, and repeats a single row.
//   - Self-neighbour: SMOTENC drops the first row found, which may be a duplicate of the base.
//     This function excludes the base itself.
//   - Missing values (NaN): SMOTENC rejects them. In this function a value that is missing in one
//     of two rows counts as a different category. A cell that is missing in either parent is
//     copied from the base.
//
// `kinds` has one Kind per column. If `kinds` is nil, all columns are numbers. The same arguments give
// the same rows, bit for bit. SMOTE returns the errors of Balanced, and ErrRows for columns of
// one-hot groups, infinite numbers, Integer columns with fractions, a wrong number of kinds and
// a negative number of neighbours.
func SMOTE(t *table.Table, kinds []Kind, bins, neighbours int, seed uint64) (*table.Table, error) {
	members, err := classes(t, bins)
	if err != nil {
		return nil, err
	}
	if kinds == nil {
		kinds = make([]Kind, t.Cols())
	}
	if err := checkColumns(t, kinds); err != nil {
		return nil, err
	}
	if neighbours < 0 {
		return nil, fmt.Errorf("%w: %d neighbours: must not be negative", ErrRows, neighbours)
	}
	if neighbours == 0 {
		neighbours = 5
	}
	rng := rand.New(rand.NewPCG(seed, 0x5307e))
	out, scales := t.Select(allRows(t)), deviations(t, kinds, allRows(t))
	for c, class := range members {
		if missing := deficit(class, members); missing > 0 {
			near := newNeighbourhood(t, kinds, class, scales, neighbours)
			for range missing {
				near.addSynthetic(rng, out)
				out.Y = append(out.Y, float64(c))
			}
		}
	}
	return out, nil
}

func checkColumns(t *table.Table, kinds []Kind) error {
	if len(kinds) != t.Cols() {
		return fmt.Errorf("%w: %d kinds for %d columns", ErrRows, len(kinds), t.Cols())
	}
	for j, group := range t.Group {
		if group != 0 {
			return fmt.Errorf("%w: column %s is one-hot encoded: resample before encoding", ErrRows, t.Names[j])
		}
	}
	for i := range t.Rows() {
		for j, v := range t.Row(i) {
			if math.IsInf(v, 0) || kinds[j] == Integer && !math.IsNaN(v) && v != math.Trunc(v) {
				return fmt.Errorf("%w: row %d has %v in column %s: must be finite, and an integer in a column of kind Integer", ErrRows, i, v, t.Names[j])
			}
		}
	}
	return nil
}

// addSynthetic appends one synthetic row without its target.
func (n *neighbourhood) addSynthetic(rng *rand.Rand, out *table.Table) {
	at := rng.IntN(len(n.class))
	base := n.class[at]
	if out.W != nil {
		out.W = append(out.W, n.t.Weight(base))
	}
	if n.k == 0 {
		out.X = append(out.X, n.t.Row(base)...)
		return
	}
	near := n.nearest(at)
	other, share := n.t.Row(near[rng.IntN(len(near))]), rng.Float64()
	for j, own := range n.t.Row(base) {
		switch {
		case math.IsNaN(own) || math.IsNaN(other[j]):
			out.X = append(out.X, own)
		case n.kinds[j] == Category:
			out.X = append(out.X, n.vote(near, j, own))
		case n.kinds[j] == Integer:
			out.X = append(out.X, math.Round(interpolate(own, other[j], share)))
		default:
			out.X = append(out.X, interpolate(own, other[j], share))
		}
	}
}

// interpolate returns (1 − share)·a + share·b for a share in [0, 1]. The formula with two
// products cannot overflow, and clamping removes its rounding error.
func interpolate(a, b, share float64) float64 {
	return max(min(a, b), min((1-share)*a+share*b, max(a, b)))
}

// vote returns the most frequent code of column j among the rows; missing cells do not vote. On a tie
// the code of the base (the argument `own`) wins, else the lowest code.
func (n *neighbourhood) vote(rows []int, j int, own float64) float64 {
	winner, most := own, 0
	for _, i := range rows {
		code, count := n.t.Row(i)[j], 0
		for _, other := range rows {
			if n.t.Row(other)[j] == code {
				count++ // NaN never equals itself
			}
		}
		if count > most || count == most && winner != own && (code == own || code < winner) {
			winner, most = code, count
		}
	}
	return winner
}
