package trace

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Layout says how the columns of a CSV differ from Columns. The zero Layout is that of
// Columns.
type Layout struct {
	// Fields maps the name of a column in the file to one of Columns; to "" a column
	// that is left out.
	Fields map[string]string
	// Unit is how the numbers of memory columns count, such as GB or GiB; bytes if empty.
	Unit string
}

func (l *Layout) isSet() bool { return len(l.Fields) > 0 || l.Unit != "" }

// Check returns what is wrong with the layout itself, of kind sizing.Invalid.
func (l *Layout) Check() error {
	if _, err := unitBytes(l.Unit); err != nil {
		return err
	}
	for column, field := range l.Fields {
		if field != "" && cellSetter(field) == nil {
			return sizing.Errorf(sizing.Invalid, "column %q: %q is not a field; known are %s", column, field, strings.Join(Columns(), ", "))
		}
	}
	return nil
}

// check fails where the header lacks a column that Fields names: a misspelt one would
// otherwise be without effect.
func (l *Layout) check(line int, header []string) error {
	names := make([]string, len(header))
	for i, name := range header {
		names[i] = strings.TrimSpace(name)
	}
	for column := range l.Fields {
		if !slices.Contains(names, column) {
			return sizing.Errorf(sizing.Invalid, "line %d: the header has no column %q, which is to be renamed; it has %s", line, column, strings.Join(names, ", "))
		}
	}
	return l.Check()
}

// field is the name of a column among Columns.
func (l *Layout) field(column string) string {
	if field, ok := l.Fields[column]; ok {
		return field
	}
	return column
}

// setter is how the cells of a column are read; nil if it is not known.
func (l *Layout) setter(column string) func(*sizing.Observation, string) error {
	field, renamed := l.Fields[column]
	if renamed && field == "" {
		return func(*sizing.Observation, string) error { return nil }
	}
	field = l.field(column)
	set := cellSetter(field)
	if set == nil || l.Unit == "" || !strings.HasPrefix(field, "memory_") || !strings.HasSuffix(field, "_bytes") {
		return set
	}
	return func(o *sizing.Observation, cell string) error {
		v, ok := parseNumber(cell)
		if !ok {
			return fmt.Errorf("%.40q is not a number of %s, such as 3.56", cell, l.Unit)
		}
		unit, err := unitBytes(l.Unit)
		if err != nil {
			return err
		}
		bytes := math.Round(v * float64(unit)) // 0.1 GB is not a whole number in binary
		if v > 0 {
			bytes = max(bytes, 1)
		}
		if err := set(o, strconv.FormatFloat(bytes, 'f', -1, 64)); err != nil {
			return fmt.Errorf("%.40q %s must be 1 byte to 8Pi; leave it out where it is not known", cell, l.Unit)
		}
		return nil
	}
}

// unitBytes is how many bytes one of a unit is: B, kB, MB, GB, TB (powers of 1000) and
// KiB, MiB, GiB, TiB (powers of 1024), or the suffix of a Kubernetes quantity.
func unitBytes(unit string) (sizing.Bytes, error) {
	suffix := strings.TrimSuffix(unit, "B")
	switch suffix {
	case "", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti":
		return sizing.ParseMemory("1" + suffix)
	case "K":
		return 1000, nil
	}
	return 0, sizing.Errorf(sizing.Invalid, "%q is not a unit of memory: write B, kB, MB, GB, TB, KiB, MiB, GiB or TiB", unit)
}
