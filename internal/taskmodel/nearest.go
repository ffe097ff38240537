package taskmodel

import (
	"cmp"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Neighbour is a past try with its distance to given features.
type Neighbour struct {
	Row *sizing.HistoryRow

	// Distance is a form of Gower's distance: a weighted mean of the differences, each divided by the standard deviation of
	// the feature instead of its range. Two different category values differ by 1, or by 0 if the encoding stores neither of
	// them. A feature that only the try lacks counts as 1. A feature that the given features lack counts as 0.
	Distance float64
}

// Nearest returns at most n tries of a history, the most similar to f first, among those with a measured peak or
// an OOM kill. At equal distance the newer try comes first. The weight of a feature in the distance is
// the share of the variance of the log peak that it explains alone. All distances are zero before the
// first fit, or if no feature explains any variance.
func (m *Model) Nearest(f sizing.Features, h *sizing.History, n int) []Neighbour {
	cells := m.cells(f, nil)
	var e *encoder
	total := 0.0
	if m.Models != nil {
		e = m.Models.Enc
		for j := range e.Columns {
			total += e.Columns[j].ExplainedShare
		}
	}
	var found []Neighbour
	for i := range h.Rows {
		row := &h.Rows[i]
		if _, censoring := row.Peak(); censoring != sizing.Exact && censoring != sizing.AtLeast {
			continue
		}
		near := Neighbour{Row: row}
		if e != nil && total > 0 {
			near.Distance = e.distance(cells, e.donorOf(m.cells(h.Schema.Features(row.Features), nil)), 0) / total
		}
		found = append(found, near)
	}
	slices.SortStableFunc(found, func(a, b Neighbour) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), b.Row.At.Compare(a.Row.At), cmp.Compare(b.Row.Seq, a.Row.Seq))
	})
	return found[:min(n, len(found))]
}
