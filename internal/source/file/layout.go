package file

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Layout describes a CSV whose columns have other names than those of Columns, or another unit of memory.
// The zero Layout changes nothing.
type Layout struct {
	// Fields maps a column of the file to one of Columns, or to "" to ignore it.
	Fields map[string]string
	// Unit is the unit of the columns memory_..._bytes, such as GB or GiB; bytes if empty. It does not apply to usage.*.
	Unit string
}

func (l *Layout) isSet() bool { return len(l.Fields) > 0 || l.Unit != "" }

// Check validates the layout itself. Its errors are of kind sizing.Invalid.
func (l *Layout) Check() error {
	if _, err := unitBytes(l.Unit); err != nil {
		return err
	}
	for _, column := range slices.Sorted(maps.Keys(l.Fields)) {
		if field := l.Fields[column]; field != "" && cellSetter(field) == nil {
			return sizing.Errorf(sizing.Invalid, "map column %q: unknown field %q; use one of %s", column, field, strings.Join(Columns(), ", "))
		}
	}
	return nil
}

// check checks the layout for this header. It also rejects a column of Fields that the header lacks, because a misspelt name
// would otherwise have no effect.
func (l *Layout) check(line int, header []string) error {
	names := make([]string, len(header))
	for i, name := range header {
		names[i] = strings.TrimSpace(name)
	}
	for _, column := range slices.Sorted(maps.Keys(l.Fields)) {
		if !slices.Contains(names, column) {
			return sizing.Errorf(sizing.Invalid, "line %d: map column %q: not in the header, which has %s", line, column, strings.Join(names, ", "))
		}
	}
	return l.Check()
}

func (l *Layout) field(column string) string {
	if field, ok := l.Fields[column]; ok {
		return field
	}
	return column
}

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
			return notNumber(cell, "a number of "+l.Unit+", such as 3.56")
		}
		unit, err := unitBytes(l.Unit)
		if err != nil {
			return err
		}
		bytes := math.Round(v * float64(unit)) // in floating point 1.07 · 1e9 is not a whole number
		if v > 0 {
			bytes = max(bytes, 1)
		}
		if err := set(o, strconv.FormatFloat(bytes, 'f', -1, 64)); err != nil {
			return fmt.Errorf("%.40q %s must be 1 byte to 8Pi; leave the cell empty if unknown", cell, l.Unit)
		}
		return nil
	}
}

// unitBytes returns the bytes of one unit: B, kB or KB, MB, GB, TB (powers of 1000), or KiB, MiB, GiB, TiB
// (powers of 1024). The final B may be missing, as in Kubernetes quantities. An empty unit is one byte.
func unitBytes(unit string) (sizing.Bytes, error) {
	suffix := strings.TrimSuffix(unit, "B")
	switch suffix {
	case "", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti":
		return sizing.ParseMemory("1" + suffix)
	case "K":
		return 1000, nil
	}
	return 0, sizing.Errorf(sizing.Invalid, "%q is not a unit of memory: use B, kB, MB, GB, TB, KiB, MiB, GiB or TiB", unit)
}
