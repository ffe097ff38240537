package taskmodel

import "github.com/loadaware/loadaware/internal/sizing"

// exceptionRows is the number of rows from which a rare value, such as the flag of a monthly full refresh, is no exception. The
// experts learn their weights from all rows, so the weights say little about runs with a value that few rows have. The cold
// start of a task ends after as many rows.
const exceptionRows = 32

// valueCounts counts the rows that have a feature. Top is set only for a category or a bool, and Bool only for a bool.
type valueCounts struct {
	Rows float64    `cbor:",omitzero"` // rows that have the feature
	Top  float64    `cbor:",omitzero"` // rows that have the most frequent value
	Bool [2]float64 `cbor:",omitzero"` // rows with false and with true
}

func (c *column) count(v sizing.Value) {
	if v.Kind == sizing.Missing {
		return
	}
	c.Counts.Rows++
	switch c.Kind {
	case sizing.Bool:
		n := &c.Counts.Bool[boolToInt(v.Num != 0)]
		*n++
		c.Counts.Top = max(c.Counts.Top, *n)
	case sizing.Category:
		c.Counts.Top = max(c.Counts.Top, c.level(v).Rows)
	}
}

// isException reports whether a value is exceptional: some rows have it, but fewer than exceptionRows, and more than half of
// the rows that have the feature have one other value. So no value of a category of many values, such as an id, is
// exceptional. A flag may also be sent only if it is set. So every value is exceptional if some rows have the feature, but
// fewer than exceptionRows, and more than half of the fitted rows lack it.
//
// In a model stored before the counts existed, the levels of a category count more rows than Counts.Rows until the next fit.
// Until then, no value of a category is exceptional because few rows have it, and the counts of the other kinds start at zero.
func (c *column) isException(v sizing.Value) bool {
	if v.Kind == sizing.Missing || c.Kind == sizing.Missing {
		return false
	}
	if c.PeakDays.isException(clockDays(v, c.LocalTime)) {
		return true
	}
	if 0 < c.PresentShare && c.PresentShare < 0.5 && 0 < c.Counts.Rows && c.Counts.Rows < exceptionRows {
		return true
	}
	if 2*c.Counts.Top <= c.Counts.Rows || c.Counts.Top > c.Counts.Rows {
		return false
	}
	rows := 0.0
	switch c.Kind {
	case sizing.Bool:
		rows = c.Counts.Bool[boolToInt(v.Num != 0)]
	case sizing.Category:
		if l := c.find(v.Text); l != nil {
			rows = l.Rows
		}
	}
	return 0 < rows && rows < min(exceptionRows, c.Counts.Top)
}

func (e *encoder) hasException(cells []sizing.Value) bool {
	for j := range e.Columns {
		if e.Columns[j].isException(cells[j]) {
			return true
		}
	}
	return false
}
