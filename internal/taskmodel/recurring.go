package taskmodel

import (
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The runs of many tasks differ in a date or an id, although each day has runs of the same customers. A partial repeat of
// a run is an earlier run with the same values of the features whose values recur, such as the customer.

const (
	minRecurringRows  = 8   // rows from which recurring features are found
	minRecurringShare = 0.5 // smallest share of a recurring feature's newer values that are also among the older ones
)

// findRecurring returns, by column, whether its values recur. It returns nil if every feature recurs, if none does, or if
// there are too few rows. `rows` are oldest first.
func findRecurring(columns []column, rows []row) []bool {
	if len(rows) < minRecurringRows {
		return nil
	}
	recurs, known, recurring := make([]bool, len(columns)), 0, 0
	for j := range columns {
		share, ok := recurringShare(j, &columns[j], rows)
		if !ok {
			continue
		}
		known++
		if recurs[j] = share >= minRecurringShare; recurs[j] {
			recurring++
		}
	}
	if recurring == 0 || recurring == known {
		return nil
	}
	return recurs
}

// recurringShare returns the share of the values of column j in the newer half of the rows that are also in
// the older half. ok is false if the newer half has no value, or if c.IsOtherKind: a feature with values of several kinds has
// a column for each kind, and j is the column of a less frequent kind.
func recurringShare(j int, c *column, rows []row) (share float64, ok bool) {
	if c.IsOtherKind {
		return 0, false
	}
	half, older := len(rows)/2, map[sizing.Value]bool{}
	for i := range rows[:half] {
		older[distinct(rows[i].Cells[j])] = true
	}
	found, values := 0, 0
	for i := half; i < len(rows); i++ {
		if v := rows[i].Cells[j]; v.Kind != sizing.Missing {
			values++
			if older[distinct(v)] {
				found++
			}
		}
	}
	return float64(found) / float64(max(values, 1)), values > 0
}

// distinct returns a value without the text from which a number was read.
func distinct(v sizing.Value) sizing.Value {
	if v.Kind != sizing.Category {
		v.Text = ""
	}
	return v
}

// fitRecurring keeps the groups of prev if the recurring features are still the same.
func (m *models) fitRecurring(prev *models, rows []row) {
	m.RecurringColumns = findRecurring(m.Enc.Columns, rows)
	switch {
	case m.RecurringColumns == nil:
	case prev != nil && groupsAlike(prev.RecurringColumns, m.RecurringColumns):
		m.Recurring = prev.Recurring
		m.Recurring.forgetOldest()
	default:
		m.Recurring = new(groups)
		for i := range rows {
			if !rows[i].Imputed {
				m.addToRecurring(&rows[i], m.Clock-len(rows)+i+1)
			}
		}
	}
}

// groupsAlike reports whether two selections of columns are the same. A missing element counts as false, because the schema
// may have grown between the two selections.
func groupsAlike(a, b []bool) bool {
	for j := range max(len(a), len(b)) {
		if (j < len(a) && a[j]) != (j < len(b) && b[j]) {
			return false
		}
	}
	return true
}

func (m *models) addToRecurring(r *row, seen int) {
	if m.Recurring != nil {
		m.Recurring.add(groupKey(m.Enc.Columns, r.Cells, m.RecurringColumns), r, seen)
	}
}

// repeats summarises the earlier rows with the same features; g is their group, or nil. If they are fewer than enoughRepeats,
// repeats summarises the rows with the same recurring features instead, if there are any.
func (m *models) repeats(cells []sizing.Value, g *group, b *buffers) (r experts.Repeats) {
	if g != nil {
		r = experts.Repeats{Peak: g.largestPeak(), Rows: g.Rows}
	}
	if r.Rows >= enoughRepeats || m.Recurring == nil {
		return r
	}
	g = m.Recurring.find(groupKey(m.Enc.Columns, cells, m.RecurringColumns), &b.recurring)
	if g == nil {
		return r
	}
	return experts.Repeats{Peak: g.largestPeak(), Rows: g.Rows, IsPartial: true}
}

// enoughRepeats is the number of rows with the same features from which their largest peak says more than the largest peak of
// the rows with the same recurring features.
const enoughRepeats = 3
