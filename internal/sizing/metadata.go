package sizing

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits on the metadata of one prediction or report.
const (
	MaxMetadata       = 30   // entries
	MaxMetadataName   = 60   // characters
	MaxMetadataValue  = 200  // characters
	MaxMetadataValues = 30   // values of one entry
	MaxMetadataBytes  = 8192 // bytes of all names and values together
)

// Metadata holds static facts about a task, such as its operator, image or owner, by name. An
// entry may have several values, such as tags.
type Metadata map[string][]string

// Bounded returns the entries within the limits, and at most MaxMetadata + 1 warnings about the other entries. If
// all entries fit, it returns m itself. Otherwise it reads the entries in the order of their names.
func (m Metadata) Bounded() (Metadata, []FieldError) {
	if len(m) <= MaxMetadata && m.fits() {
		return m, nil
	}
	size, unnamed := 0, 0 // size: bytes of the entries so far; unnamed: number of ignored entries without a warning of their own
	var warnings []FieldError
	bounded := make(Metadata, min(len(m), MaxMetadata))
	for i, name := range m.Names() {
		if len(bounded) == MaxMetadata {
			warnings = append(warnings, FieldError{"metadata", fmt.Sprintf("has %d entries, and %d are allowed: the last %d by name are ignored", len(m), MaxMetadata, len(m)-i)})
			break
		}
		warning, fits := m.checkEntry(name, size)
		switch {
		case fits:
			bounded[name] = m[name]
			size += entrySize(name, m[name])
		case len(warnings) < MaxMetadata-1:
			warnings = append(warnings, warning)
		default:
			unnamed++
		}
	}
	if unnamed > 0 {
		warnings = append(warnings, FieldError{"metadata", fmt.Sprintf("has %d more entries that are ignored, like those of the other warnings", unnamed)})
	}
	return bounded, warnings
}

// checkEntry reports whether an entry is within the limits, and returns a warning if it is not. `size` is the number of bytes
// of the entries that were accepted before.
func (m Metadata) checkEntry(name string, size int) (warning FieldError, fits bool) {
	switch {
	case name == "" || !isMetadataText(name, MaxMetadataName):
		return FieldError{"metadata", fmt.Sprintf("has the name %.40q, which is ignored: names are 1 to %d characters without control characters", name, MaxMetadataName)}, false
	case !fitsValues(m[name]):
		return FieldError{"metadata." + name, fmt.Sprintf("is ignored: it must be a string of at most %d characters without control characters, or a list of 1 to %d of them", MaxMetadataValue, MaxMetadataValues)}, false
	case size+entrySize(name, m[name]) > MaxMetadataBytes:
		return FieldError{"metadata." + name, fmt.Sprintf("is ignored: all names and values together may have %d bytes", MaxMetadataBytes)}, false
	}
	return FieldError{}, true
}

// fits reports whether the names and values are within the limits. It does not check the number of entries.
func (m Metadata) fits() bool {
	size := 0
	for name, values := range m {
		if name == "" || !isMetadataText(name, MaxMetadataName) || !fitsValues(values) {
			return false
		}
		size += entrySize(name, values)
	}
	return size <= MaxMetadataBytes
}

func entrySize(name string, values []string) int {
	size := len(name)
	for _, v := range values {
		size += len(v)
	}
	return size
}

func fitsValues(values []string) bool {
	if len(values) == 0 || len(values) > MaxMetadataValues {
		return false
	}
	return !slices.ContainsFunc(values, func(v string) bool { return !isMetadataText(v, MaxMetadataValue) })
}

func isMetadataText(s string, limit int) bool {
	if isPrintable(s) {
		return len(s) <= limit
	}
	return utf8.ValidString(s) && utf8.RuneCountInString(s) <= limit && !strings.ContainsFunc(s, unicode.IsControl)
}

// Names returns the names in ascending order.
func (m Metadata) Names() []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
