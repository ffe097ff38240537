package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// historyInKiB returns a history as CSV. Its first peak is in bytes, and the peaks of the other `rows` rows are in KiB.
func historyInKiB(rows int) string {
	var text strings.Builder
	text.WriteString("dag_id,task_id,run_id,memory_max_bytes,memory_allocated_bytes\n")
	text.WriteString("etl,load,good,1500000000,4294967296\n")
	for i := range rows {
		fmt.Fprintf(&text, "etl,load,r%d,%d,4294967296\n", i, 1500000+i)
	}
	return text.String()
}

func TestImplausibleRowsAreImportedWithWarning(t *testing.T) {
	dsn := database(t)
	server := startServer(t, dsn)
	for name, args := range map[string][]string{
		"to a server":     {"import", "--url", server.url, "-"},
		"into a database": {"import", "--database", strings.TrimPrefix(dsn[0], "DATABASE_URL="), "-"},
		"as a dry run":    {"import", "--dry-run", "-"},
	} {
		code, out, stderr := invoke(t, historyInKiB(25), args...)
		assert.Equal(t, 0, code, stderr)
		assert.Contains(t, out, "26 rows read: ", name)
		assert.Contains(t, out, "; 25 with warnings\n", name)
		assert.Contains(t, stderr, "-: line 3: warning: memory_max_bytes: 1500000 bytes is 1/2863 of the 4Gi allocated: is the value in KiB?", name)
		assert.Equal(t, 20, strings.Count(stderr, ": warning: "), name)
		assert.Contains(t, stderr, "-: and 5 more rows with warnings\n", name)
	}
	assert.Equal(t, 26, server.observations("etl", "load"))
}

func TestMixedFeatureKindsCauseWarning(t *testing.T) {
	text := "dag_id,task_id,run_id,memory_max_bytes,feature.rows,feature.day,feature.store\n"
	for n := range 30 {
		rows, day := fmt.Sprint(n), "2020-01-03"
		switch n {
		case 7, 11:
			rows = "n/a"
		case 12:
			rows = "true" // converts to a number
		}
		store := []string{"007", "012", "123"}[n%3] // these cause no warning, because all three can be converted to numbers
		text += fmt.Sprintf("etl,load,r%d,1500000000,%s,%s,%s\n", n, rows, day, store)
	}
	code, _, stderr := invoke(t, text, "import", "--dry-run", "-")
	assert.Equal(t, 0, code, stderr)
	assert.Equal(t, "-: line 9: warning: feature.rows of etl/load: 2 of 30 values are of kind category, but the most frequent kind is number: they count as missing, except texts that recur among numbers or bools\n", stderr)
}
