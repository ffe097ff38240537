package taskmodel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// chooseKinds chooses the kind of each feature whose values are of several kinds: the most frequent kind, and of two
// equally frequent kinds the kind whose field is earlier in the schema. The schema has a field for each kind. Fields of the
// other kinds get no column, so their values count as missing. There is one exception: if the chosen kind is number or bool
// and the texts recur, the texts form an additional category. Such values may be codes, such as 1012 and A17, or a text such
// as ALL among numbers, which has a meaning of its own.
func (e *encoder) chooseKinds(schema *sizing.Schema, rows [][]sizing.Value) {
	previous := schema.PreviousSameName()
	if previous == nil {
		return
	}
	first := make([]int, len(previous))  // by field: the first field of the same name
	counts := make([]int, len(previous)) // by field: number of rows whose value is of this kind
	for j, previousField := range previous {
		if first[j] = j; previousField >= 0 {
			first[j] = first[previousField]
		}
	}
	found := make([]int, len(previous)) // by first: 1 + the field of a row's value of the most specific kind; 0: no value
	for _, cells := range rows {
		clear(found)
		for j := range first {
			at := first[j]
			if cells[j].Kind != sizing.Missing && (found[at] == 0 || isMoreSpecific(cells[j].Kind, cells[found[at]-1].Kind)) {
				found[at] = j + 1
			}
		}
		for _, j := range found {
			if j > 0 {
				counts[j-1]++
			}
		}
	}
	chosen := make([]int, len(previous)) // by first: the field of the chosen kind
	for j, at := range first {
		if chosen[at] = max(chosen[at], at); counts[j] > counts[chosen[at]] {
			chosen[at] = j
		}
	}
	for j, at := range first {
		c := &e.Columns[j]
		kind := e.Columns[chosen[at]].Kind
		staysCategory := c.Kind == sizing.Category && (kind == sizing.Number || kind == sizing.Bool) && c.hasRecurringLevels()
		if chosen[at] != j && !staysCategory {
			e.Columns[j] = column{Name: c.Name, IsOtherKind: true}
		}
	}
}

// rowsPerCode is the smallest mean number of rows per level with which the levels of a category count as recurring. With a
// larger value, more texts among numbers count as missing.
const rowsPerCode = 3

// hasRecurringLevels reports whether the levels have at least rowsPerCode rows on average. The number of rows of each level
// must be set.
func (c *column) hasRecurringLevels() bool {
	rows, levels := 0.0, 0.0
	for text, l := range c.Levels {
		if text != "" {
			rows, levels = rows+l.Rows, levels+1
		}
	}
	return levels > 0 && rows >= rowsPerCode*levels
}

// isMoreSpecific reports whether kind a takes precedence over kind b for a value that fields of both kinds can read: a date
// or an amount can also be read as a category, and the numbers 0 and 1 as bools.
func isMoreSpecific(a, b sizing.ValueKind) bool {
	return b == sizing.Category && a != sizing.Category || a == sizing.Number && b == sizing.Bool
}

// Warnings lists the features of a report that the model does not use as sent: a value of another kind, a feature that is
// not stored, or a feature that is not encoded because there are too many. The kinds are those of the last fit.
func (m *Model) Warnings(f sizing.Features) []sizing.FieldError {
	return append(append(m.Schema.Warnings(f), m.unusedFeatures(f)...), m.BoolWarnings(f)...)
}

// BoolWarnings lists the bools of f whose feature is a number with known values below 0 or above 1. Such a bool counts as 0
// or 1, which is right only among numbers from 0 to 1.
func (m *Model) BoolWarnings(f sizing.Features) (warnings []sizing.FieldError) {
	if m.Models == nil || !hasBool(f) {
		return nil
	}
	ranges := m.Models.PeakTrend.Ranges
	for j := range m.Models.Enc.Columns {
		c := &m.Models.Enc.Columns[j]
		v := f[c.Name]
		if v.Kind != sizing.Bool || c.Kind != sizing.Number || j >= len(ranges) || ranges[j].Low >= 0 && ranges[j].High <= 1 {
			continue
		}
		warnings = append(warnings, sizing.FieldError{Field: "features." + c.Name,
			Detail: fmt.Sprintf("%s is a bool, and this feature is a number: it counts as %.0f; send a number, or leave it out", describeValue(v), v.Num)})
	}
	return warnings
}

func hasBool(f sizing.Features) bool {
	for _, v := range f {
		if v.Kind == sizing.Bool {
			return true
		}
	}
	return false
}

func (m *Model) unusedFeatures(f sizing.Features) (warnings []sizing.FieldError) {
	if m.Models == nil {
		return nil
	}
	for j := range m.Models.Enc.Columns {
		c := &m.Models.Enc.Columns[j]
		v, field := f[c.Name], &m.Schema.Fields[j]
		switch {
		case v.Kind == sizing.Missing || c.IsOtherKind:
		case c.Retired:
			warnings = append(warnings, sizing.FieldError{Field: "features." + c.Name, Detail: "is not used: " + m.describeRetired()})
		case field.Read(v).Kind == sizing.Missing && m.isUnreadable(c.Name, v):
			if !slices.ContainsFunc(warnings, func(w sizing.FieldError) bool { return w.Field == "features."+c.Name }) {
				detail := fmt.Sprintf("%s is a %v, and this feature is a %v: it counts as missing; send a %v, or leave it out", describeValue(v), v.Kind, field.Kind, field.Kind)
				if m.lacksText(c, v) {
					detail = fmt.Sprintf("%s is a number, but the learned runs have texts, which the model uses as a number and as a category: the number is used, and the category counts as missing; send a text", describeValue(v))
				}
				warnings = append(warnings, sizing.FieldError{Field: "features." + c.Name, Detail: detail})
			}
		}
	}
	return warnings
}

// isUnreadable reports whether no encoded field of the feature with this name can read v, or whether v lacks a text (see
// lacksText).
func (m *Model) isUnreadable(name string, v sizing.Value) bool {
	readable := false
	for j := range m.Models.Enc.Columns {
		c := &m.Models.Enc.Columns[j]
		if c.Name != name || c.IsOtherKind {
			continue
		}
		if m.lacksText(c, v) {
			return true
		}
		readable = readable || m.Schema.Fields[j].Read(v).Kind != sizing.Missing
	}
	return !readable
}

// lacksText reports whether v is a number without a text, although c is a category, nearly all rows have a text, and the
// same feature is also encoded as a number. Then the number of v is known, but its category is imputed.
func (m *Model) lacksText(c *column, v sizing.Value) bool {
	return c.Kind == sizing.Category && c.RarelyMissing && v.Kind == sizing.Number && v.Text == "" &&
		slices.ContainsFunc(m.Models.Enc.Columns, func(other column) bool {
			return other.Name == c.Name && other.Kind == sizing.Number && !other.IsOtherKind
		})
}

// AskWarnings lists the features of a question that the model does not use as sent: a value of another kind (except the bools
// of BoolWarnings), a feature that is not encoded because there are too many, or a name that no learned run has. Callers need
// these warnings only if Answer.HasMissing is true: a misspelled name leaves another feature missing.
func (m *Model) AskWarnings(f sizing.Features) []sizing.FieldError {
	warnings := m.unusedFeatures(f)
	if m.Models == nil {
		return warnings
	}
	known := make(map[string]bool, len(m.Schema.Fields))
	for j := range m.Schema.Fields {
		known[m.Schema.Fields[j].Name] = true
	}
	var unknown []string
	for name, v := range f {
		if v.Kind != sizing.Missing && !known[name] {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return warnings
	}
	slices.Sort(unknown)
	detail := "is not used: no learned run of this task has a feature of this name"
	if missing := m.missingFeatures(f); missing != "" {
		detail += "; missing: " + missing
	}
	for _, name := range unknown {
		warnings = append(warnings, sizing.FieldError{Field: "features." + name, Detail: detail})
	}
	return warnings
}

// maxNamedMissing is the largest number of missing features that a warning names; a longer list is hard to read.
const maxNamedMissing = 10

func (m *Model) missingFeatures(f sizing.Features) string {
	var names []string
	for j := range m.Models.Enc.Columns {
		c := &m.Models.Enc.Columns[j]
		if c.Kind == sizing.Missing || f[c.Name].Kind != sizing.Missing || slices.Contains(names, c.Name) {
			continue
		}
		if len(names) == maxNamedMissing {
			return strings.Join(names, ", ") + ", …"
		}
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// UnreadableFeatures describes, for the reason of an answer, the features whose value is of another
// kind; "" if there are none. It does not quote values, because receipts store each new text of a reason.
func (m *Model) UnreadableFeatures(f sizing.Features) string {
	if m.Models == nil {
		return ""
	}
	var text strings.Builder
	for j := range m.Models.Enc.Columns {
		c := &m.Models.Enc.Columns[j]
		if v := f[c.Name]; c.Kind != sizing.Missing && v.Kind != sizing.Missing && m.Schema.Fields[j].Read(v).Kind == sizing.Missing && m.isUnreadable(c.Name, v) {
			fmt.Fprintf(&text, "; %s was sent as a %v, and is a %v", c.Name, v.Kind, c.Kind)
		}
	}
	return text.String()
}

func describeValue(v sizing.Value) string {
	switch {
	case v.Text != "" || v.Kind == sizing.Category:
		return fmt.Sprintf("%.40q", v.Text)
	case v.Kind == sizing.Bool:
		return fmt.Sprint(v.Num == 1)
	}
	return sizing.FormatNumber(v.Num)
}
