package taskmodel

import (
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// If the values of a category are a closed set, such as regions, an unseen value is treated as
// missing: no residual is from a run with an unseen value, so the experts' margin does not cover it.
// Otherwise it gets the mean statistic of all runs, and the residuals contain its errors.

// isUnseen reports whether field j of a row is a category value that no learned row had.
func (e *encoder) isUnseen(j int, cells []sizing.Value) bool {
	c, v := &e.Columns[j], &cells[j]
	return c.Kind == sizing.Category && v.Kind == sizing.Category && (c.MaxLevels == 0 || len(c.Levels) < c.MaxLevels) && c.find(v.Text) == nil
}

// isClosed reports whether new values of a category are rare. The share of rows whose value occurs
// only once estimates the probability of a new value (Good 1953).
func (c *column) isClosed() bool {
	if c.LineStatistic || !c.RarelyMissing { // it must have few values and be present in almost every row
		return false
	}
	rows, once := 0.0, 0.0
	for _, l := range c.Levels {
		if rows += l.Rows; l.Rows == 1 {
			once++
		}
	}
	return once*minMissingShare < rows
}

// withoutUnseen returns cells without the unseen values of closed categories.
func (m *models) withoutUnseen(cells []sizing.Value, b *buffers) []sizing.Value {
	for j := range m.Enc.Columns {
		if !m.Enc.isUnseen(j, cells) || !m.Enc.Columns[j].isClosed() {
			continue
		}
		if !b.isCleaned {
			b.cleaned, b.isCleaned = append(b.cleaned[:0], cells...), true
			cells = b.cleaned
		}
		cells[j] = sizing.Value{}
	}
	return cells
}

// describeUnseen names the unseen values of a row and the amount that they add.
func (m *Model) describeUnseen(text *strings.Builder, amount float64, b *buffers) {
	if m.Models.ridges == nil {
		return
	}
	const maxNamed = 3
	named := 0
	for j := range m.Models.Enc.Columns {
		if named < maxNamed && m.Models.Enc.isUnseen(j, b.cells) {
			named++
			text.WriteString("; " + m.Models.Enc.Columns[j].Name + " " + quoted(b.cells[j].Text) + " was not seen before")
		}
	}
	if imputed := named > 0 && b.unwidenedAmount > 0 && !m.Models.Enc.isIncomplete(b.cells); imputed && amount > b.unwidenedAmount {
		text.WriteString(", which adds " + sizing.Bytes(amount-b.unwidenedAmount).Approx())
	}
}

// quoted returns a value in quotes, shortened to maxRunes.
func quoted(value string) string {
	const maxRunes = 40
	if runes := []rune(value); len(runes) > maxRunes {
		value = string(runes[:maxRunes]) + "…"
	}
	return strconv.Quote(value)
}
