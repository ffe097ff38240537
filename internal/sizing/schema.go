package sizing

import (
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

// Field is one feature of a schema: its name, its kind, fixed by the first value
// seen, and for categories their values in order of code.
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

// Admit extends the schema by what f holds and it lacks, and reports whether it
// did. The receiver is changed only by appending; Version counts the changes.
func (s *Schema) Admit(f Features) bool {
	grown := false
	for _, name := range f.Names() {
		v := f[name]
		if v.Kind == Missing {
			continue
		}
		field := s.field(name)
		if field == nil {
			if len(s.Fields) == MaxFields {
				continue
			}
			s.Fields = append(s.Fields, Field{Name: name, Kind: v.Kind})
			field, grown = &s.Fields[len(s.Fields)-1], true
		}
		if field.Kind == Category && field.code(v) == Unseen && len(field.Categories) < MaxCategories {
			field.Categories = append(field.Categories, v.Text)
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

func (s *Schema) field(name string) *Field {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return &s.Fields[i]
		}
	}
	return nil
}

// Features decodes a stored row, which may be shorter than the schema.
func (s *Schema) Features(row []float64) Features {
	f := make(Features, len(row))
	for i := range min(len(row), len(s.Fields)) {
		if v := s.Fields[i].Value(row[i]); v.Kind != Missing {
			f[s.Fields[i].Name] = v
		}
	}
	return f
}
