package taskmodel

import (
	"math"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// An unseen category value gets the mean log peak of the task as its level statistic (see encoder). It does not raise the
// grant: imputing unseen values cost 2 to 6 percentage points of utilisation on the traces pai and retail and avoided no
// kill. If the values of a category are a closed set, such as regions, no residual is from a run with an unseen value. So an
// unseen value of such a category raises the promise. If the row has no other known feature, it is sized like a row without
// features. Nothing is known about the effect of a feature that was constant so far, so the reason only names its unseen values.

// isUnseen reports whether field j of a row is a category value that no learned row had. It returns false if the
// column has MaxLevels levels, because a learned value may then have no level, or if the recurring parts of a text are known.
func (e *encoder) isUnseen(j int, cells []sizing.Value) bool {
	c, v := &e.Columns[j], &cells[j]
	return c.Kind == sizing.Category && v.Kind == sizing.Category && (c.MaxLevels == 0 || len(c.Levels) < c.MaxLevels) && c.find(v.Text) == nil && !c.Parts.areKnown(*v)
}

// constantOf returns a category or a bool in the form of column.Constant; missing for another kind.
func constantOf(v sizing.Value) sizing.Value {
	switch v.Kind {
	case sizing.Category:
		return sizing.Value{Kind: v.Kind, Text: keyOf(v.Text)}
	case sizing.Bool:
		return sizing.Value{Kind: v.Kind, Num: v.Num}
	}
	return sizing.Value{}
}

// isUnlikeConstant reports whether the feature had only one value so far, and v is another value of the same kind.
func (c *column) isUnlikeConstant(v sizing.Value) bool {
	return c.Constant.Kind != sizing.Missing && v.Kind == c.Constant.Kind && constantOf(v) != c.Constant
}

// isClosed reports whether the values of a category are a closed set, so that new values are rare. The
// share of rows whose value occurs only once estimates the probability of a new value (Good 1953).
func (c *column) isClosed() bool {
	if c.LineStatistic || !c.RarelyMissing { // a closed category has few values and is present in almost every row
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

// withoutUnseen returns cells without any feature if all features that they have are unseen values of
// closed categories; otherwise it returns cells.
func (m *models) withoutUnseen(cells []sizing.Value, b *buffers) []sizing.Value {
	hasUnseen := false
	for j := range m.Enc.Columns {
		c := &m.Enc.Columns[j]
		if c.Kind == sizing.Missing || cells[j].Kind == sizing.Missing {
			continue
		}
		if !m.Enc.isUnseen(j, cells) || !c.isClosed() {
			return cells
		}
		hasUnseen = true
	}
	if !hasUnseen {
		return cells
	}
	b.isCleaned = true
	b.cleaned = append(b.cleaned[:0], make([]sizing.Value, len(cells))...)
	return b.cleaned
}

// raiseForUnseen raises the promise for a row with unseen values of closed categories to P(peak > amount)
// of the mixture over donor rows, whose values are known, but not above one half. It skips rows with imputed features.
func (m *Model) raiseForUnseen(a *experts.Answer, p *experts.Point, b *buffers) {
	if m.Models.ridges == nil || p.Imputed {
		return
	}
	e, hasUnseen := m.Models.Enc, false
	for j := range e.Columns {
		if e.isUnseen(j, b.cells) && e.Columns[j].isClosed() {
			if !hasUnseen {
				hasUnseen, b.cleaned = true, append(b.cleaned[:0], b.cells...)
			}
			b.cleaned[j] = sizing.Value{}
		}
	}
	if !hasUnseen {
		return
	}
	line, tree, signals := b.line, b.tree, b.signals
	b.line, b.tree = nil, nil
	var mean experts.Point
	m.Models.imputeFromDonorRows(b.cleaned, &mean, b)
	b.line, b.tree, b.signals, b.noFeatures = line, tree, signals, false
	mean.Imputed = true
	a.Promised = experts.Probability(max(a.Promised, math.Min(0.5, m.mixtureExceedance(&mean, a.Amount, b))))
	b.donorPoints = b.donorPoints[:0]
}

// describeUnseen writes the first three unseen values of a row to a reason: of categories, and of bools that were constant so
// far.
func (m *Model) describeUnseen(text *strings.Builder, b *buffers) {
	const maxNamed = 3
	named := 0
	for j := range m.Models.Enc.Columns {
		c, v := &m.Models.Enc.Columns[j], b.cells[j]
		if named == maxNamed || c.Retired || !m.Models.Enc.isUnseen(j, b.cells) && !c.isUnlikeConstant(v) {
			continue
		}
		named++
		value := quoted(v.Text)
		if v.Kind == sizing.Bool && v.Text == "" {
			value = strconv.FormatBool(v.Num != 0)
		}
		text.WriteString("; " + c.Name + " " + value + " was not seen before")
	}
}

// quoted returns a value in quotes, shortened to maxRunes characters.
func quoted(value string) string {
	const maxRunes = 40
	if runes := []rune(value); len(runes) > maxRunes {
		value = string(runes[:maxRunes]) + "…"
	}
	return strconv.Quote(value)
}
