package sizing

import "math"

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

func (f *Field) code(v Value) float64 {
	switch {
	case v.Kind == Missing:
		return math.NaN()
	case f.Kind == Category && (v.Kind == Category || v.Kind == Date):
		// A date in a category column is a category that looks like a date.
		for code, known := range f.Categories {
			if known == v.Text {
				return float64(code)
			}
		}
		return Unseen
	case f.Kind == v.Kind:
		return v.Num
	case f.Kind == Number && v.Kind == Bool, f.Kind == Bool && v.Kind == Number && (v.Num == 0 || v.Num == 1):
		return v.Num
	}
	return math.NaN()
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
	for i, v := range row {
		if i >= len(s.Fields) || math.IsNaN(v) {
			continue
		}
		field := &s.Fields[i]
		if field.Kind != Category {
			f[field.Name] = Value{Kind: field.Kind, Num: v}
		} else if code := int(v); code >= 0 && code < len(field.Categories) {
			f[field.Name] = Value{Kind: Category, Text: field.Categories[code]}
		}
	}
	return f
}
