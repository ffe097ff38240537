package resample

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/loadaware/loadaware/internal/ml/table"
)

// Kind says how a column's values may be mixed.
type Kind uint8

const (
	Number   Kind = iota // interpolated
	Whole                // interpolated, then rounded: a count, a date in days
	Category             // a code, voted on and never interpolated; a bool is one with two codes
)

// SMOTE returns the table with synthetic rows in the smaller classes, in the order
// of the classes, until each has as many rows as the largest. The table's own rows
// come first, in their order; a class without rows stays empty.
//
// A synthetic row has two parents: a base row, drawn from its class, and one of the
// base's nearest rows of that class (neighbours of them, 5 if zero, n−1 in a class
// of n if that is less). Numbers lie on the segment between the two, at a share
// drawn once per row; a category is what most of the base's nearest rows have
// (Chawla, Bowyer, Hall & Kegelmeyer 2002, SMOTE and SMOTE-NC). A synthetic row
// weighs what its base does.
//
// Distances are those of SMOTE-NC on standardised numbers: two categories that
// differ are as far apart as the median, over the numbers, of the class's standard
// deviations. Where imbalanced-learn's SMOTENC does otherwise:
//
//   - it leaves scaling to the caller; here numbers are divided by their deviation
//     over the whole table, for distances alone, since bytes would drown counts;
//   - it lets categories count for nothing where that median is 0, and refuses
//     rows without numbers; here the median is then 1;
//   - it breaks ties of a vote by lot; here the base's own code wins, else the lowest;
//   - it refuses a class of neighbours rows or fewer; here the class makes do with
//     the neighbours it has, and a single row is repeated;
//   - it drops the first row found as the base itself, which may be a twin of it;
//   - it refuses missing values (NaN). Here a value missing in one of two rows is
//     as far as a category that differs, and a cell that either parent misses is
//     copied from the base.
//
// kinds has one Kind a column; nil: all numbers. The same arguments give the same
// rows, bit for bit. Errors as of Balanced, and ErrRows for columns of one-hot
// groups, numbers that are infinite and whole columns that are not.
func SMOTE(t *table.Table, kinds []Kind, bins, neighbours int, seed uint64) (*table.Table, error) {
	members, err := classes(t, bins)
	if err != nil {
		return nil, err
	}
	if kinds == nil {
		kinds = make([]Kind, t.Cols())
	}
	if err := raw(t, kinds); err != nil {
		return nil, err
	}
	if neighbours < 0 {
		return nil, fmt.Errorf("%w: %d neighbours", ErrRows, neighbours)
	}
	if neighbours == 0 {
		neighbours = 5
	}
	rng := rand.New(rand.NewPCG(seed, 0x5307e))
	out, scales := t.Select(everyRow(t)), deviations(t, kinds, everyRow(t))
	for c, class := range members {
		if missing := wanting(class, members); missing > 0 {
			near := newNeighbourhood(t, kinds, class, scales, neighbours)
			for range missing {
				near.spawn(rng, out)
				out.Y = append(out.Y, float64(c))
			}
		}
	}
	return out, nil
}

// raw reports what would make synthetic rows invalid.
func raw(t *table.Table, kinds []Kind) error {
	if len(kinds) != t.Cols() {
		return fmt.Errorf("%w: %d kinds for %d columns", ErrRows, len(kinds), t.Cols())
	}
	for j, group := range t.Group {
		if group != 0 {
			return fmt.Errorf("%w: column %s is encoded: resample first, encode afterwards", ErrRows, t.Names[j])
		}
	}
	for i := range t.Rows() {
		for j, v := range t.Row(i) {
			if math.IsInf(v, 0) || kinds[j] == Whole && !math.IsNaN(v) && v != math.Trunc(v) {
				return fmt.Errorf("%w: row %d has %v in column %s", ErrRows, i, v, t.Names[j])
			}
		}
	}
	return nil
}

// spawn appends one synthetic row, without its target.
func (n *neighbourhood) spawn(rng *rand.Rand, out *table.Table) {
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
		case n.kinds[j] == Whole:
			out.X = append(out.X, math.Round(between(own, other[j], share)))
		default:
			out.X = append(out.X, between(own, other[j], share))
		}
	}
}

// between is the point at share in [0, 1] of the way from a to b. The form with two
// products cannot overflow; its rounding is held within the two.
func between(a, b, share float64) float64 {
	return max(min(a, b), min((1-share)*a+share*b, max(a, b)))
}

// vote is the most frequent known code of column j among the rows; of equals the
// base's own, else the lowest.
func (n *neighbourhood) vote(rows []int, j int, own float64) float64 {
	winner, most := own, 0
	for _, i := range rows {
		code, count := n.t.Row(i)[j], 0
		for _, other := range rows {
			if n.t.Row(other)[j] == code {
				count++ // never for NaN
			}
		}
		if count > most || count == most && winner != own && (code == own || code < winner) {
			winner, most = code, count
		}
	}
	return winner
}
