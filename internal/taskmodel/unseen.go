package taskmodel

import (
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// An unseen category value gets the mean log peak of the task as its level statistic (see encoder). It does not raise the
// grant: imputing unseen values cost 2 to 6 percentage points of utilisation on the traces pai and retail and avoided no
// kill. If the values of a category are a closed set, such as regions, almost no residual is from a run with an unseen value.
// So an unseen value of such a category raises the promise; see raiseForUnseen. If the row has no other known feature, it is
// sized like a row without features. For a feature that was constant so far, see first_change.go.

// isUnseen reports whether field j of a row is a category value that no learned row had. It returns false if the column has
// MaxLevels levels, because a learned value may then have no level, or if all recurring parts of the text are known.
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

// isClosed reports whether new values of a category are rare. The share of rows whose value occurs only once estimates the
// probability of a new value (Good 1953).
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

func (e *encoder) hasUnseen(cells []sizing.Value) bool {
	for j := range e.Columns {
		if e.isUnseen(j, cells) && e.Columns[j].isClosed() {
			return true
		}
	}
	return false
}

func (e *encoder) hasNewValue(cells []sizing.Value) bool {
	for j := range e.Columns {
		if e.Columns[j].isUnlikeConstant(cells[j]) || e.isUnseen(j, cells) && e.Columns[j].isClosed() {
			return true
		}
	}
	return false
}

// withoutUnseen returns a row without features if all encoded values in `cells` are unseen values of closed categories;
// otherwise `cells`.
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

const unseenQuantiles = 32

// raiseForUnseen raises the promise for a row with unseen values of closed categories to P(peak > amount) for such values,
// but not above one half. The effects of the known values are a sample from the distribution of all effects (a
// random-effects model). So this risk depends on the number of known values, not on the number of rows: an unseen value has
// a larger effect than all n known ones with probability 1/(n+1). While few values are known, the variance of the effects
// comes mostly from its prior (see effectOf). A row with imputed features keeps its promise, unless it has no known feature
// at all (see withoutUnseen).
func (m *Model) raiseForUnseen(a *experts.Answer, p *experts.Point, b *buffers) {
	if m.Models.ridges == nil || p.Imputed && !b.noFeatures {
		return
	}
	for j := range m.Models.Enc.Columns {
		if m.Models.Enc.isUnseen(j, b.cells) && m.Models.Enc.Columns[j].isClosed() {
			a.Promised = experts.Probability(max(a.Promised, min(0.5, m.unseenExceedance(j, p, a.Amount, b))))
		}
	}
}

// unseenExceedance returns P(peak > amount) for a row with prediction p and an unseen value of category j. The levels that a
// model predicts with the known values are a sample of a normal distribution, so the next one follows a Student's
// t-distribution (effectOf). If the row has no other known feature, p is imputed. Then mixtureExceedance would use the
// distribution of all newest peaks, which already contains the differences between the known values. So the mean of the
// predictions for the known values replaces p.
func (m *Model) unseenExceedance(j int, p *experts.Point, amount float64, b *buffers) float64 {
	var known, mean experts.Point
	n, level, squares := 0.0, 0.0, 0.0
	b.imputed = append(b.imputed[:0], b.cells...)
	line, tree, signals := b.line, b.tree, b.signals
	b.line, b.tree = nil, nil
	for _, value := range m.Models.Enc.Columns[j].knownValues() {
		b.imputed[j] = value
		m.Models.predictRow(b.imputed, &known, b)
		n++
		for k := range known.Level {
			mean.Level[k] += (known.Level[k] - mean.Level[k]) / n
		}
		for k := range known.Scale {
			mean.Scale[k] += (known.Scale[k] - mean.Scale[k]) / n
		}
		at, before := m.Experts.ColdStartLevel(&known), level
		level += (at - before) / n // West 1979
		squares += (at - before) * (at - level)
	}
	b.line, b.tree, b.signals, b.groupOf = line, tree, signals, nil
	if n == 0 {
		return 0
	}
	if b.noFeatures {
		p = &mean
	}
	return m.exceedanceWith(effectOf(n, squares, m.effectVariance(m.Models.Enc.Columns[j].Name)), p, amount, b)
}

// knownValues returns the values that have a one-hot column.
func (c *column) knownValues() (values []sizing.Value) {
	for _, name := range c.byFrequency() {
		if name != "" && c.Levels[name].OneHot >= 0 {
			values = append(values, sizing.Value{Kind: sizing.Category, Text: name})
		}
	}
	return values
}

// describeUnseen names at most three unseen values.
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
		if c.isUnlikeConstant(v) {
			text.WriteString(" (one value so far)")
		}
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
