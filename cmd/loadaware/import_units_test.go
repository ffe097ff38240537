package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func historyInMiB(rows int) string {
	var text strings.Builder
	text.WriteString("dag_id,task_id,run_id,memory_max_bytes,memory_requested_bytes\n")
	for i := range rows {
		fmt.Fprintf(&text, "unit,t,r%d,%d,2048\n", i, 950+5*i)
	}
	return text.String()
}

func TestNothingOfFileInAnotherUnitIsStored(t *testing.T) {
	server := startServer(t, database(t))
	for name, c := range map[string]struct {
		text string
		args []string
		rows int
	}{
		"many rows":                      {historyInMiB(40), nil, 40},
		"one row":                        {historyInMiB(1), nil, 1},
		"in batches of three":            {historyInMiB(40), []string{"--batch", "3"}, 40},
		"without a peak":                 {historyInMiB(40) + "unit,t,r40,,2048\n", nil, 41},
		"strict":                         {historyInMiB(40), []string{"--strict"}, 40},
		"more rows than the check reads": {historyInMiB(12_000), nil, 10_000},
	} {
		code, out, stderr := invoke(t, c.text, append([]string{"import", "--url", server.url, "-"}, c.args...)...)
		assert.Equal(t, 1, code, name)
		assert.Regexp(t, fmt.Sprintf("^%d rows? read: 0 .*, %d rejected", c.rows, c.rows), out, name)
		assert.Regexp(t, "loadaware: (-: )?([0-9]+ (row is|rows are) probably in another unit: every peak read is below 1 MiB, .*--unit MiB|.*--strict)", stderr, name)
	}
	assert.Equal(t, 0, server.observations("unit", "t"))
	code, out, stderr := invoke(t, historyInMiB(40), "import", "--url", server.url, "--unit", "MiB", "-")
	assert.Equal(t, 0, code, stderr)
	assert.Contains(t, out, "40 new")
	code, _, stderr = invoke(t, strings.ReplaceAll(historyInMiB(9), "unit,", "small,"), "import", "--url", server.url, "--unit", "B", "-")
	assert.Equal(t, 0, code, stderr)
	assert.Equal(t, 9, server.observations("small", "t"))
}

func TestOtherFilesCanBeImportedBesideOneInAnotherUnit(t *testing.T) {
	in := folderOf(t, map[string]string{"mib.csv": historyInMiB(40), "good.csv": csvHeader + "d,good,r,1000000000\n"})
	code, out, stderr := invoke(t, "", append([]string{"import", "--dry-run"}, in("mib.csv", "good.csv")...)...)
	assert.Equal(t, 3, code, stderr)
	assert.Contains(t, out, "41 rows read: 1 can be imported, 40 rejected")
	assert.Contains(t, stderr, "mib.csv: 40 rows are probably in another unit")
}

func TestRowsInAnotherUnitAreReported(t *testing.T) {
	var text strings.Builder
	text.WriteString("dag_id,task_id,run_id,memory_max_bytes,memory_requested_bytes\n")
	for i := range 40 {
		fmt.Fprintf(&text, "unit,t,r%d,%d,4294967296\n", i, 200+75*i)
	}
	code, _, stderr := invoke(t, text.String()+"unit,t,good,1000000000,4294967296\n", "import", "--dry-run", "-")
	assert.Equal(t, 0, code, stderr)
	assert.True(t, strings.HasSuffix(stderr, "-: 40 rows are probably in another unit: --unit MiB\n"), stderr)
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
