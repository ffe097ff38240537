package taskmodel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// chooseKinds chooses the kind of a feature whose values are of several kinds: the most frequent
// kind, and of two equally frequent kinds the earlier one. The schema has a field for each kind.
// Fields of the other kinds get no column, so their values count as missing. There is one exception: if
// the feature is a number or a bool and its texts recur, the texts stay a category beside it. The values
// may be codes, such as 1012 and A17, and a text such as ALL among numbers has a meaning of its own.
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
	found := make([]int, len(previous)) // by first: the field of a row's value, plus one; 0: none
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
		staysCategory := c.Kind == sizing.Category && (kind == sizing.Number || kind == sizing.Bool) && c.recurs()
		if chosen[at] != j && !staysCategory {
			e.Columns[j] = column{Name: c.Name, IsOtherKind: true}
		}
	}
}

// rowsPerCode is the mean number of rows per level from which the levels of a category recur.
const rowsPerCode = 3

// recurs reports whether the levels of a category recur. It needs the number of rows of each level.
func (c *column) recurs() bool {
	rows, levels := 0.0, 0.0
	for text, l := range c.Levels {
		if text != "" {
			rows, levels = rows+l.Rows, levels+1
		}
	}
	return levels > 0 && rows >= rowsPerCode*levels
}

// isMoreSpecific reports whether kind a takes precedence over b for a value that can be read as
// both: a date or an amount can also be read as a category, and the numbers 0 and 1 as bools.
func isMoreSpecific(a, b sizing.ValueKind) bool {
	return b == sizing.Category && a != sizing.Category || a == sizing.Number && b == sizing.Bool
}

// Warnings lists the features of a report that the model does not use as sent: a value of another kind, a feature that
// is not stored, or one that is not encoded because there are too many. It uses the kinds of the last training.
func (m *Model) Warnings(f sizing.Features) []sizing.FieldError {
	return append(m.Schema.Warnings(f), m.unusedFeatures(f)...)
}

// unusedFeatures lists the features of f that are not encoded because there are too many, or whose value is of another
// kind.
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
			warnings = append(warnings, sizing.FieldError{Field: "features." + c.Name, Detail: "not used: " + m.describeRetired()})
		case field.Read(v).Kind == sizing.Missing && m.isUnreadable(c.Name, v):
			if !slices.ContainsFunc(warnings, func(w sizing.FieldError) bool { return w.Field == "features."+c.Name }) {
				detail := fmt.Sprintf("%s is a %v, and this feature is a %v: it counts as missing; send a %v, or leave it out", describeValue(v), v.Kind, field.Kind, field.Kind)
				if m.lacksText(c, v) {
					detail = fmt.Sprintf("%s is a number, and the learned runs have texts, which are also categories: the category counts as missing; send a text", describeValue(v))
				}
				warnings = append(warnings, sizing.FieldError{Field: "features." + c.Name, Detail: detail})
			}
		}
	}
	return warnings
}

// isUnreadable reports whether no encoded field of a feature can read a value, or the value lacks a text.
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

// lacksText reports whether the feature of a category is also encoded as a number, nearly all rows have a text, and v is a
// number without a text. Then the number is known, but its category is imputed.
func (m *Model) lacksText(c *column, v sizing.Value) bool {
	return c.Kind == sizing.Category && c.RarelyMissing && v.Kind == sizing.Number && v.Text == "" &&
		slices.ContainsFunc(m.Models.Enc.Columns, func(other column) bool {
			return other.Name == c.Name && other.Kind == sizing.Number && !other.IsOtherKind
		})
}

// AskWarnings lists the features of a question that the model does not use as sent: a value of another kind, a feature
// that is not encoded because there are too many, or a name that no learned run has. Callers need these warnings
// only if Answer.HasMissing is true: a misspelled name leaves another feature missing.
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

// maxNamedMissing bounds the missing features that a warning names.
const maxNamedMissing = 10

// missingFeatures names the encoded features that f lacks, separated by commas.
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

// describeValue formats a value for a warning: the first 40 characters of a text in quotes, and a number as Go prints
// it (1000000 as 1e+06).
func describeValue(v sizing.Value) string {
	switch {
	case v.Text != "" || v.Kind == sizing.Category:
		return fmt.Sprintf("%.40q", v.Text)
	case v.Kind == sizing.Bool:
		return fmt.Sprint(v.Num == 1)
	}
	return fmt.Sprint(v.Num)
}
