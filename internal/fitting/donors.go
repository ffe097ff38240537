package fitting

import (
	"cmp"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Limits of what may be missing.
const (
	blindRows  = 8  // rows without a feature, from which on models know what its absence means …
	blindShare = 16 // … or one row in so many, of a young task
	donorCount = 32 // rows that lend their values: the last of them is above 98 % of the peaks
)

// choose keeps rows, evenly spaced by peak, whose values stand in for what a row
// lacks and hardly any row lacked before (hot deck imputation, Andridge & Little
// 2010). The models never saw such a row, and a mean for the most telling feature
// would promise what nobody knows: the most demanding donor answers.
func (e *encoder) choose(rows [][]sizing.Value, y []float64) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(y[a], y[b]), cmp.Compare(a, b)) })
	n := min(donorCount, len(rows))
	for i := range n {
		e.Donors = append(e.Donors, e.donor(rows[order[(2*i+1)*len(rows)/(2*n)]]))
	}
}

// donor keeps of a row what the encoding reads.
func (e *encoder) donor(cells []sizing.Value) []sizing.Value {
	donor := slices.Clone(cells)
	for j, v := range donor {
		if e.Columns[j].Kind == sizing.Missing {
			donor[j] = sizing.Value{}
		} else if v.Text = keyOf(v.Text); v.Kind == sizing.Category {
			donor[j] = v
		}
	}
	return donor
}

// lacking names a feature that a row lacks and hardly any row lacked before; "" where
// there is none.
func (e *encoder) lacking(cells []sizing.Value) string {
	for j := range e.Columns {
		if e.lacks(j, cells) {
			return e.Columns[j].Name
		}
	}
	return ""
}

func (e *encoder) lacks(j int, cells []sizing.Value) bool {
	c := &e.Columns[j]
	return c.Blind && c.Kind != sizing.Missing && cells[j].Kind == sizing.Missing
}

// fill appends a row's values to dst, with a donor's where it lacks them. A date
// keeps the donor's distance to a date that the row has: differences of dates would
// else be between two runs.
func (e *encoder) fill(cells, donor, dst []sizing.Value) []sizing.Value {
	days := 0.0
	for j := range e.Columns {
		if e.Columns[j].Kind == sizing.Date && cells[j].Kind == sizing.Date && donor[j].Kind == sizing.Date {
			days = cells[j].Num - donor[j].Num
			break
		}
	}
	for j, v := range cells {
		if j < len(e.Columns) && e.lacks(j, cells) {
			if v = donor[j]; v.Kind == sizing.Date {
				v = sizing.Value{Kind: sizing.Date, Num: v.Num + days}
			}
		}
		dst = append(dst, v)
	}
	return dst
}
