package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAFileInAnotherUnitIsNamed(t *testing.T) {
	var text strings.Builder
	text.WriteString("dag_id,task_id,run_id,memory_max_bytes,memory_requested_bytes\n")
	for i := range 40 {
		fmt.Fprintf(&text, "unit,t,r%d,%d,4294967296\n", i, 200+75*i)
	}
	code, _, complaints := invoke(t, text.String(), "import", "--dry-run", "-")
	assert.Equal(t, 0, code, complaints)
	assert.True(t, strings.HasSuffix(complaints, "-: 40 rows look like another unit: --unit MiB\n"), complaints)
	code, _, complaints = invoke(t, text.String(), "import", "--dry-run", "--unit", "MiB", "-")
	assert.Equal(t, 0, code, complaints)
	assert.NotContains(t, complaints, "another unit:")
}
