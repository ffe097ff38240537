package taskmodel

import (
	"fmt"

	"github.com/loadaware/loadaware/internal/sizing"
)

// electKinds decides the kind of a feature whose values are of several kinds: the kind of most
// rows, or the one that came first if two are equal. Fields of the other kinds get no column, so
// their values count as missing.
func (e *encoder) electKinds(schema *sizing.Schema, rows [][]sizing.Value) {
	previous := schema.PreviousSameName()
	if previous == nil {
		return
	}
	first := make([]int, len(previous)) // first field of the same name
	votes := make([]int, len(previous))
	for j, previousField := range previous {
		if first[j] = j; previousField >= 0 {
			first[j] = first[previousField]
		}
	}
	voted := make([]int, len(previous)) // by first: the field that a row votes for, plus one; 0: none
	for _, cells := range rows {
		clear(voted)
		for j := range first {
			at := first[j]
			if cells[j].Kind != sizing.Missing && (voted[at] == 0 || isMoreSpecific(cells[j].Kind, cells[voted[at]-1].Kind)) {
				voted[at] = j + 1
			}
		}
		for _, j := range voted {
			if j > 0 {
				votes[j-1]++
			}
		}
	}
	elected := make([]int, len(previous)) // by first
	for j, at := range first {
		if elected[at] = max(elected[at], at); votes[j] > votes[elected[at]] {
			elected[at] = j
		}
	}
	for j, at := range first {
		if elected[at] != j {
			e.Columns[j] = column{Name: e.Columns[j].Name, Outvoted: true}
		}
	}
}

// isMoreSpecific reports whether kind a wins over b for a value that can be read as both: a date
// can be read as a category, and a bool as a number, if the feature has such values too.
func isMoreSpecific(a, b sizing.ValueKind) bool {
	return b == sizing.Category && a != sizing.Category || a == sizing.Number && b == sizing.Bool
}

// Warnings lists the features of a question or a report that the model does not use as sent: a
// value of another kind, or a feature that is not encoded. It knows the kinds of the last
// training.
func (m *Model) Warnings(f sizing.Features) []sizing.FieldError {
	warnings := m.Schema.Warnings(f)
	if m.Models == nil {
		return warnings
	}
	for j := range m.Models.Enc.Columns {
		c := &m.Models.Enc.Columns[j]
		v, field := f[c.Name], &m.Schema.Fields[j]
		switch {
		case v.Kind == sizing.Missing || c.Outvoted:
		case c.Retired:
			warnings = append(warnings, sizing.FieldError{Field: "features." + c.Name, Detail: "not used: " + m.describeRetired()})
		case field.Read(v).Kind == sizing.Missing:
			warnings = append(warnings, sizing.FieldError{Field: "features." + c.Name,
				Detail: fmt.Sprintf("%s is a %v, and this feature is a %v: it counts as missing; send a %v, or leave it out", describeValue(v), v.Kind, field.Kind, field.Kind)})
		}
	}
	return warnings
}

// describeValue formats a value as its sender wrote it.
func describeValue(v sizing.Value) string {
	switch v.Kind {
	case sizing.Category, sizing.Date:
		return fmt.Sprintf("%.40q", v.Text)
	case sizing.Bool:
		return fmt.Sprint(v.Num == 1)
	}
	return fmt.Sprint(v.Num)
}
