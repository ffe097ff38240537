package sizing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMetadataIsBounded(t *testing.T) {
	m := Metadata{"owner": {"pricing"}, "tags": {"a", "b"}, "ünïcode": {strings.Repeat("ü", MaxMetadataValue)}}
	got, warnings := m.Bounded()
	assert.Equal(t, m, got)
	assert.Empty(t, warnings)

	hostile := Metadata{"owner": {"pricing"}, "": {"x"}, "empty": {}, "nul": {"a\x00b"}, "utf8": {"\xff"}, "many": make([]string, MaxMetadataValues+1)}
	for i := range 100_000 {
		hostile[fmt.Sprintf("z%06d", i)] = []string{"v"}
	}
	got, warnings = hostile.Bounded()
	assert.Len(t, got, MaxMetadata)
	assert.Equal(t, []string{"pricing"}, got["owner"])
	assert.LessOrEqual(t, len(warnings), MaxMetadata+1)
	for _, name := range []string{"", "empty", "nul", "utf8", "many"} {
		assert.NotContains(t, got, name)
	}

	long := Metadata{}
	for i := range MaxMetadata {
		long[fmt.Sprintf("name%02d", i)] = []string{strings.Repeat("v", MaxMetadataValue)}
	}
	got, warnings = long.Bounded()
	assert.Equal(t, long, got, "thirty long values must be kept")
	assert.Empty(t, warnings)
	for name := range long {
		long[name] = slices.Repeat(long[name], MaxMetadataValues)
	}
	long["tags"] = []string{"a"}
	got, warnings = long.Bounded()
	assert.Equal(t, Metadata{"name00": long["name00"], "tags": {"a"}}, got, "the first list of 30 long values and the short entry must be kept, and no other list")
	assert.Len(t, warnings, MaxMetadata-1)

	empty := Metadata{"zone": {"a"}}
	for i := range 2 * MaxMetadata {
		empty[fmt.Sprintf("name%02d", i)] = nil
	}
	got, warnings = empty.Bounded()
	assert.Equal(t, Metadata{"zone": {"a"}}, got, "a valid entry after many invalid ones must be kept")
	assert.Len(t, warnings, MaxMetadata)
	assert.Contains(t, warnings[MaxMetadata-1].Detail, "31 more entries")
}
