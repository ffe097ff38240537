package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFileInAnotherUnitIsReported(t *testing.T) {
	var text strings.Builder
	text.WriteString("dag_id,task_id,run_id,memory_max_bytes,memory_requested_bytes\n")
	for i := range 40 {
		fmt.Fprintf(&text, "unit,t,r%d,%d,4294967296\n", i, 200+75*i)
	}
	code, _, stderr := invoke(t, text.String(), "import", "--dry-run", "-")
	assert.Equal(t, 0, code, stderr)
	assert.True(t, strings.HasSuffix(stderr, "-: 40 rows look like another unit: --unit MiB\n"), stderr)
	code, _, stderr = invoke(t, text.String(), "import", "--dry-run", "--unit", "MiB", "-")
	assert.Equal(t, 0, code, stderr)
	assert.NotContains(t, stderr, "another unit:")
}

func TestTimesWithoutZoneCauseWarning(t *testing.T) {
	header := "dag_id,task_id,run_id,memory_max_bytes,ended_at\n"
	for ended, warns := range map[string]bool{
		"2024-01-03T02:00:00Z": false, "2024-01-03 02:00:00+02": false, "2024-01-03 02:00:00-07:30": false, "": false,
		"2024-01-03T02:00:00": true, "2024-01-03 02:00:00": true, "2024-01-03": true,
	} {
		code, _, stderr := invoke(t, header+"etl,load,r,1500000000,"+ended+"\n", "import", "--dry-run", "-")
		assert.Equal(t, 0, code, stderr)
		assert.Equal(t, warns, strings.Contains(stderr, "-: warning: ended_at of line 2 has no zone or no time of day, and is read as UTC"), ended+stderr)
	}
}
