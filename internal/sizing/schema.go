package sizing

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Schema is the order in which a task's features are stored as numbers. It only grows: version v+1
// appends fields or categories to those of version v, so a row of an older version may be shorter.
type Schema struct {
	Version int
	Fields  []Field
}

// Field is one feature of a schema: its name, its kind, and for a category its values in order of
// code. A name gets a further field if its fields cannot store a value (CanStore), or if a value is a
// number in a text (Extend).
type Field struct {
	Name       string
	Kind       ValueKind
	Categories []string
}

// Unseen is the code of a category that is not in the schema.
const Unseen = -1

// MaxCategories bounds the number of categories of a field. Further values are stored as Unseen, because a field
// with so many values contains ids or free text, from which a model cannot learn.
const MaxCategories = 5000

// maxNumberCategories bounds the categories of numbers in texts. A feature with more numbers is a measure, not a
// code, and is learned as a number.
const maxNumberCategories = 256

// MaxFields bounds the number of fields of a schema. Further names are not stored, because a task with so many names
// puts ids into its feature names.
const MaxFields = 1000

// Row encodes f as one number per field: NaN for a value that is missing or cannot be converted to the
// kind of the field, Unseen for an unknown category. It reuses dst if the capacity of dst suffices.
func (s *Schema) Row(f Features, dst []float64) []float64 {
	dst = dst[:0]
	for i := range s.Fields {
		field := &s.Fields[i]
		dst = append(dst, field.code(f[field.Name]))
	}
	return dst
}

// Read converts v to the field's kind. The result is missing if v cannot be converted.
func (f *Field) Read(v Value) Value {
	switch {
	case f.Kind == Category && (v.Kind == Category || v.Kind == Date || v.Text != ""):
		// A text in a category field is a category, even if it looks like a bool, a date or an amount.
		if v.Kind == Date && v.Text == "" { // decoded from a date field
			return Value{Kind: Category, Text: dateText(v)}
		}
		return Value{Kind: Category, Text: v.Text}
	case f.Kind == Number && v.Kind == Bool, f.Kind == Bool && v.Kind == Number && (v.Num == 0 || v.Num == 1):
		return Value{Kind: f.Kind, Num: v.Num}
	case f.Kind == v.Kind:
		return v
	case f.Kind == Number && v.Kind == Category, f.Kind == Number && v.Kind == Date && len(strings.TrimSpace(v.Text)) == compactDateDigits:
		// Other values of this feature are numbers, so a number that may be a code or an id counts as a number.
		if x, ok := parseDecimal(v.Text); ok {
			return NumberValue(x)
		}
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
	return v.Code()
}

// Value decodes one stored number. An unknown code becomes a category with empty text.
func (f *Field) Value(code float64) Value {
	switch {
	case math.IsNaN(code):
		return Value{}
	case f.Kind != Category:
		return DecodeValue(f.Kind, code)
	case code >= 0 && int(code) < len(f.Categories):
		return Value{Kind: Category, Text: f.Categories[int(code)]}
	}
	return Value{Kind: Category}
}

// CanStore reports whether v needs no other field than f: f has the kind of v, or v is a bool and f a number field, which
// stores it as 0 or 1, or v is the number 0 or 1 and f a bool field. A category field cannot store a bool, a date or a number,
// because it would keep only the text. CanStore does not consider the category field that a number in a text also gets (see
// Extend).
func (f *Field) CanStore(v Value) bool {
	return f.Kind == v.Kind || v.Kind != Date && v.Kind != Category && f.Kind != Category && f.Read(v).Kind != Missing
}

// Extend appends the fields and categories that f has and the schema lacks, up to the limits. A number in a text also
// gets a category, because it may be a code. If Extend appended something, it increments Version and returns true.
func (s *Schema) Extend(f Features) bool {
	changed := false
	for _, name := range f.Names() {
		v := f[name]
		if v.Kind == Missing {
			continue
		}
		hasField, hasCategory := false, v.Kind != Number || v.Text == ""
		for i := range s.Fields {
			if field := &s.Fields[i]; field.Name == name {
				hasField = hasField || field.CanStore(v)
				hasCategory = hasCategory || field.Kind == Category
				changed = field.addCategory(v) || changed
			}
		}
		if !hasField && len(s.Fields) < MaxFields {
			s.Fields = append(s.Fields, Field{Name: name, Kind: v.Kind})
			s.Fields[len(s.Fields)-1].addCategory(v)
			changed = true
		}
		if !hasCategory && len(s.Fields) < MaxFields { // the number may be a code, such as the number of a shop
			s.Fields = append(s.Fields, Field{Name: name, Kind: Category, Categories: []string{v.Text}})
			changed = true
		}
	}
	if changed {
		s.Version++
	}
	return changed
}

// WithoutCategories returns a copy of the schema without the values of its categories.
func (s *Schema) WithoutCategories() Schema {
	without := Schema{Version: s.Version, Fields: slices.Clone(s.Fields)}
	for i := range without.Fields {
		without.Fields[i].Categories = nil
	}
	return without
}

// CanAddCategory reports whether f is a category field that lacks v and may get another category. The limit is lower if v
// is a number (see maxNumberCategories).
func (f *Field) CanAddCategory(v Value) bool {
	most := MaxCategories
	if v.Kind == Number {
		most = maxNumberCategories
	}
	return f.Kind == Category && f.code(v) == Unseen && len(f.Categories) < most
}

func (f *Field) addCategory(v Value) bool {
	if !f.CanAddCategory(v) {
		return false
	}
	f.Categories = append(f.Categories, f.Read(v).Text)
	return true
}

// PreviousSameName returns, for each field, the index of the previous field with the same
// name, or −1 if there is none. It returns nil if all names are distinct.
func (s *Schema) PreviousSameName() []int {
	last, previous, found := make(map[string]int, len(s.Fields)), make([]int, len(s.Fields)), false
	for i := range s.Fields {
		before, known := last[s.Fields[i].Name]
		if previous[i] = before; !known {
			previous[i] = -1
		}
		last[s.Fields[i].Name], found = i, found || known
	}
	if !found {
		return nil
	}
	return previous
}

// ReadStored converts a value to the kind of f. The value was decoded from another field with the same name, of a row that
// is older than f.
func (f *Field) ReadStored(v Value) Value {
	if f.Kind != Category && v.Kind == Category {
		v = TextValue(v.Text)
	}
	return f.Read(v)
}

// Features decodes a stored row, which may be shorter than the schema. If a name has several
// fields, it returns the value of the most specific kind.
func (s *Schema) Features(row []float64) Features {
	f := make(Features, len(row))
	for i := range min(len(row), len(s.Fields)) {
		v := s.Fields[i].Value(row[i])
		if v.Kind == Missing {
			continue
		}
		name := s.Fields[i].Name
		if other, twice := f[name]; twice {
			v = moreSpecific(v, other)
		}
		f[name] = v
	}
	return f
}

// moreSpecific returns the more specific of two readings of one value. A less specific category, or the number of a date
// without separators (20200103), gives the text.
func moreSpecific(a, b Value) Value {
	if specificity[a.Kind] < specificity[b.Kind] {
		a, b = b, a
	}
	switch {
	case b.Kind == Category:
		a.Text = b.Text
	case b.Kind == Number && a.Kind == Date:
		a.Text = strconv.FormatFloat(b.Num, 'f', -1, 64)
	}
	return a
}

var specificity = [...]int{Missing: 0, Category: 1, Bool: 2, Number: 3, Date: 4}

// Warnings lists the features of f that are not stored, or stored as Unseen, because the schema has reached MaxFields,
// or a category field MaxCategories. Package taskmodel warns about values of the wrong kind.
func (s *Schema) Warnings(f Features) (warnings []FieldError) {
	for _, name := range f.Names() {
		v := f[name]
		if v.Kind == Missing {
			continue
		}
		hasField, full := false, false
		for i := range s.Fields {
			if field := &s.Fields[i]; field.Name == name {
				hasField = hasField || field.CanStore(v)
				full = full || field.Kind == Category && field.code(v) == Unseen && len(field.Categories) >= MaxCategories
			}
		}
		switch {
		case !hasField && len(s.Fields) >= MaxFields:
			warnings = append(warnings, FieldError{"features." + name,
				fmt.Sprintf("is not stored: the task has reached the limit of %d fields (one for each name and kind of value); send the same names and kinds with every run", MaxFields)})
		case full:
			warnings = append(warnings, FieldError{"features." + name,
				fmt.Sprintf("%.40q is stored as an unknown category: this feature has reached the limit of %d values; send categories, not ids", v.Text, MaxCategories)})
		}
	}
	return warnings
}
