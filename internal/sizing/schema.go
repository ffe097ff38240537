package sizing

import (
	"fmt"
	"math"
	"slices"
)

// Schema is the order in which a task's features are stored as numbers. It only
// grows: version v+1 adds fields or categories behind those of v, so that rows
// written under an older version are read as shorter rows.
type Schema struct {
	Version int
	Fields  []Field
}

// Field is one feature of a schema: its name, its kind, and for categories their values
// in order of code. A name whose values are of several kinds has a field for each kind:
// training decides by majority which of them is read.
type Field struct {
	Name       string
	Kind       ValueKind
	Categories []string
}

// Unseen is the code of a category that the schema does not hold.
const Unseen = -1

// MaxCategories bounds a field's dictionary. Beyond it (ids, free text) further
// values are stored as Unseen: they tell nothing that could be learned.
const MaxCategories = 5000

// MaxFields bounds a schema: a task that sends ever new names has ids in its
// names, and the names beyond the bound are not stored.
const MaxFields = 1000

// Row encodes f: one number for each field, NaN for a missing value or one of
// another kind, Unseen for an unknown category. dst is reused where it fits.
func (s *Schema) Row(f Features, dst []float64) []float64 {
	dst = dst[:0]
	for i := range s.Fields {
		field := &s.Fields[i]
		dst = append(dst, field.code(f[field.Name]))
	}
	return dst
}

// Read is v as a value of the field's kind; missing if it is of another kind.
func (f *Field) Read(v Value) Value {
	switch {
	case f.Kind == Category && (v.Kind == Category || v.Kind == Date):
		// A date in a category column is a category that looks like a date.
		if v.Kind == Date && v.Text == "" { // it was stored as a date
			return Value{Kind: Category, Text: dateText(v.Num)}
		}
		return Value{Kind: Category, Text: v.Text}
	case f.Kind == Number && v.Kind == Bool, f.Kind == Bool && v.Kind == Number && (v.Num == 0 || v.Num == 1):
		return Value{Kind: f.Kind, Num: v.Num}
	case f.Kind == v.Kind:
		return v
	}
	return Value{}
}

func (f *Field) code(v Value) float64 {
	v = f.Read(v)
	switch v.Kind {
	case Missing:
		return math.NaN()
	case Category:
		if code := slices.Index(f.Categories, v.Text); code >= 0 {
			return float64(code)
		}
		return Unseen
	}
	return v.Num
}

// Value decodes one stored number; a code that the field does not hold is a
// category of no name.
func (f *Field) Value(code float64) Value {
	switch {
	case math.IsNaN(code):
		return Value{}
	case f.Kind != Category:
		return Value{Kind: f.Kind, Num: code}
	case code >= 0 && int(code) < len(f.Categories):
		return Value{Kind: Category, Text: f.Categories[int(code)]}
	}
	return Value{Kind: Category}
}

// Holds reports whether the field stores v as what it is: a category field reads a date
// only as text, so that a date needs a field of its own.
func (f *Field) Holds(v Value) bool {
	return f.Kind == v.Kind || v.Kind != Date && f.Read(v).Kind != Missing
}

// Admit extends the schema by what f holds and it lacks, and reports whether it
// did. The receiver is changed only by appending; Version counts the changes.
func (s *Schema) Admit(f Features) bool {
	grown := false
	for _, name := range f.Names() {
		v := f[name]
		if v.Kind == Missing {
			continue
		}
		held := false
		for i := range s.Fields {
			if field := &s.Fields[i]; field.Name == name {
				held = held || field.Holds(v)
				grown = field.admit(v) || grown
			}
		}
		if !held && len(s.Fields) < MaxFields {
			s.Fields = append(s.Fields, Field{Name: name, Kind: v.Kind})
			s.Fields[len(s.Fields)-1].admit(v)
			grown = true
		}
	}
	if grown {
		s.Version++
	}
	return grown
}

// Shape is the schema without the values of its categories: what a reader of Features
// needs of it.
func (s *Schema) Shape() Schema {
	shape := Schema{Version: s.Version, Fields: slices.Clone(s.Fields)}
	for i := range shape.Fields {
		shape.Fields[i].Categories = nil
	}
	return shape
}

// admit adds v to the dictionary of a category that lacks it.
func (f *Field) admit(v Value) bool {
	if f.Kind != Category || f.code(v) != Unseen || len(f.Categories) >= MaxCategories {
		return false
	}
	f.Categories = append(f.Categories, f.Read(v).Text)
	return true
}

// Twins says for each field which field of the same name comes before it, −1 where none
// does. It is nil where no name has two fields.
func (s *Schema) Twins() []int {
	last, twins, found := make(map[string]int, len(s.Fields)), make([]int, len(s.Fields)), false
	for i := range s.Fields {
		before, known := last[s.Fields[i].Name]
		if twins[i] = before; !known {
			twins[i] = -1
		}
		last[s.Fields[i].Name], found = i, found || known
	}
	if !found {
		return nil
	}
	return twins
}

// ReadStored is what the field makes of a value that was stored before the field was
// there, by a field of the same name and another kind.
func (f *Field) ReadStored(v Value) Value {
	if f.Kind == Date && v.Kind == Category {
		v = TextValue(v.Text)
	}
	return f.Read(v)
}

// Features decodes a stored row, which may be shorter than the schema. Of a name with
// several fields the value of the most special kind is the one that was sent.
func (s *Schema) Features(row []float64) Features {
	f := make(Features, len(row))
	for i := range min(len(row), len(s.Fields)) {
		v := s.Fields[i].Value(row[i])
		if v.Kind == Missing {
			continue
		}
		name := s.Fields[i].Name
		if other, twice := f[name]; twice {
			v = moreSpecial(v, other)
		}
		f[name] = v
	}
	return f
}

// moreSpecial is the one of two readings of a value from which the other follows. A date
// keeps the text of its reading as a category.
func moreSpecial(a, b Value) Value {
	if speciality[a.Kind] < speciality[b.Kind] {
		a, b = b, a
	}
	if a.Kind == Date && b.Kind == Category {
		a.Text = b.Text
	}
	return a
}

var speciality = [...]int{Missing: 0, Category: 1, Bool: 2, Number: 3, Date: 4}

// Warnings names the features of which something will not be stored, since the task has
// reached a limit. Package fitting knows which values do not fit their feature's kind.
func (s *Schema) Warnings(f Features) (warnings []FieldError) {
	for _, name := range f.Names() {
		v := f[name]
		if v.Kind == Missing {
			continue
		}
		held, full := false, false
		for i := range s.Fields {
			if field := &s.Fields[i]; field.Name == name {
				held = held || field.Holds(v)
				full = full || field.Kind == Category && field.code(v) == Unseen && len(field.Categories) >= MaxCategories
			}
		}
		switch {
		case !held && len(s.Fields) >= MaxFields:
			warnings = append(warnings, FieldError{"features." + name,
				fmt.Sprintf("is not stored: the task has sent %d feature names, and no more are taken; send the same names with every run", MaxFields)})
		case full:
			warnings = append(warnings, FieldError{"features." + name,
				fmt.Sprintf("%.40q is stored as another value: %d values of this feature are known, and no more are taken; send categories, not ids", v.Text, MaxCategories)})
		}
	}
	return warnings
}
