package fitting

import (
	"fmt"

	"github.com/loadaware/loadaware/internal/sizing"
)

// elect decides of which kind a feature is whose values are of several: of the kind of
// most rows, and of the one that came first where two are equal. The fields of the other
// kinds are not read, so that their values count as missing.
func (e *encoder) electKinds(schema *sizing.Schema, rows [][]sizing.Value) {
	previous := schema.PreviousSameName()
	if previous == nil {
		return
	}
	first := make([]int, len(previous)) // field of the same name
	votes := make([]int, len(previous))
	for j, before := range previous {
		if first[j] = j; before >= 0 {
			first[j] = first[before]
		}
	}
	voted := make([]int, len(previous)) // by first: the field that a row votes for, plus one
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

// moreSpecial reports whether a value of two readings is of the first kind: a date can be
// read as a category, and a bool as a number, where the feature has such values too.
func isMoreSpecific(a, b sizing.ValueKind) bool {
	return b == sizing.Category && a != sizing.Category || a == sizing.Number && b == sizing.Bool
}

// Warnings names the features of a question or a report that the model does not use as
// they are: a value that is not of the feature's kind, or a feature that is not read. It
// knows the kinds as of the last training.
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
			warnings = append(warnings, sizing.FieldError{Field: "features." + c.Name, Detail: "is not read: " + m.describeRetired()})
		case field.Read(v).Kind == sizing.Missing:
			warnings = append(warnings, sizing.FieldError{Field: "features." + c.Name,
				Detail: fmt.Sprintf("%s is a %v, and this feature is a %v: it counts as missing; send a %v, or leave it out", describeValue(v), v.Kind, field.Kind, field.Kind)})
		}
	}
	return warnings
}

// shown is a value as its sender knows it.
func describeValue(v sizing.Value) string {
	switch v.Kind {
	case sizing.Category, sizing.Date:
		return fmt.Sprintf("%.40q", v.Text)
	case sizing.Bool:
		return fmt.Sprint(v.Num == 1)
	}
	return fmt.Sprint(v.Num)
}
