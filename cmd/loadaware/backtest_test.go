package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/backtest"
)

// twoTasks has two tries of task a and one of task b. Each takes an hour.
const twoTasks = `dag_id,task_id,run_id,started_at,duration_s,memory_requested_bytes,memory_max_bytes
d,a,r1,2020-01-01T00:00:00Z,3600,,2e9
d,b,r1,2020-01-01T01:00:00Z,3600,,3e9
d,a,r2,2020-01-01T02:00:00Z,3600,,3e9
`

func TestBacktestReplaysStandardInput(t *testing.T) {
	code, out, stderr := invoke(t, twoTasks, "backtest", "-", "-o", "json", "--policies", "static,max", "--tasks", "a", "--default-gb", "8", "--ttf", "0.5")
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr, "no progress bar without a terminal")
	var reports []backtest.Report
	require.NoError(t, json.Unmarshal([]byte(out), &reports))
	require.Len(t, reports, 1)
	require.Len(t, reports[0].Results, 2)
	assert.Equal(t, 2, reports[0].Rows)
	assert.InDelta(t, 6+5, reports[0].Results[0].WastedGBh, 1e-9, "static: 8 GB for peaks of 2 and 3 GB")
	assert.InDelta(t, 6+1+1, reports[0].Results[1].WastedGBh, 1e-9, "max: 8 GB for 2, a kill of 2 GB after half an hour, then 4 GB for 3")
}

func TestBacktestReadsOtherColumnsAndUnits(t *testing.T) {
	args := []string{"backtest", "-", "-o", "json", "--policies", "static,max"}
	code, want, stderr := invoke(t, twoTasks, args...)
	require.Zero(t, code, stderr)
	other := strings.NewReplacer("memory_max_bytes", "peak", "2e9", "2", "3e9", "3").Replace(twoTasks)
	code, got, stderr := invoke(t, other, append(args, "--map", "peak=memory_max_bytes", "--unit", "GB")...)
	require.Zero(t, code, stderr)
	assert.Equal(t, want, got)
	code, _, stderr = invoke(t, other, append(args, "--unit", "gigs")...)
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, `--map or --unit: "gigs" is not a unit of memory`)
}

func TestBacktestRejectsPeaksInAnotherUnit(t *testing.T) {
	inMB := strings.NewReplacer("2e9", "2000", "3e9", "3000").Replace(twoTasks)
	code, out, stderr := invoke(t, inMB, "backtest", "-", "--policies", "max")
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, stderr, "standard input: every peak read is below 1 MiB, so the amounts are probably not in bytes; name the unit, such as --unit MiB")
	for _, unit := range []string{"MB", "B"} {
		code, _, stderr = invoke(t, inMB, "backtest", "-", "--policies", "max", "--unit", unit)
		assert.Zero(t, code, stderr)
	}
	code, _, stderr = invoke(t, inMB+"d,a,r3,2020-01-01T03:00:00Z,3600,,3e9\n", "backtest", "-", "--policies", "max")
	assert.Zero(t, code, stderr)
}

func TestBacktestSaysThatSettingsHaveNoEffect(t *testing.T) {
	for policies, isWarned := range map[string]bool{"static,max": true, "static,own-history": false, "loadaware": false} {
		code, _, stderr := invoke(t, twoTasks, "backtest", "-", "--policies", policies, "--cap", "4Gi")
		require.Zero(t, code, stderr)
		assert.Equal(t, isWarned, strings.Contains(stderr, "have no effect"), policies)
	}
	_, _, stderr := invoke(t, twoTasks, "backtest", "-", "--policies", "static")
	assert.NotContains(t, stderr, "no effect")
}

func TestBacktestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no file":                {nil, 2, "name the files to replay"},
		"an unknown policy":      {[]string{"-", "--policies", "max,oracle"}, 2, `unknown policy "oracle"; use all, or some of loadaware, static`},
		"an unknown format":      {[]string{"-", "-o", "xml"}, 2, "-o must be one of table, json, csv, markdown"},
		"an unknown feedback":    {[]string{"-", "--feedback", "late"}, 2, "--feedback must be immediate or delayed"},
		"a zero time to failure": {[]string{"-", "--ttf", "0"}, 2, "--ttf must be above 0"},
		"negative memory":        {[]string{"-", "--default-gb", "-1"}, 2, "--default-gb must be above 0 and at most 9007199, not -1"},
		"too much memory":        {[]string{"-", "--default-gb", "1e9"}, 2, "--default-gb must be above 0 and at most 9007199, not 1e+09"},
		"a negative limit":       {[]string{"-", "--limit", "-1"}, 2, "--limit must be 0 or more"},
		"a missing file":         {[]string{"absent.csv"}, 1, "absent.csv"},
		"a missing task":         {[]string{"-", "--tasks", "z"}, 1, "nothing to replay"},
	} {
		code, out, stderr := invoke(t, twoTasks, append([]string{"backtest"}, c.args...)...)
		assert.Equal(t, c.code, code, name)
		assert.Empty(t, out, name)
		assert.Contains(t, stderr, c.want, name)
	}
}

func TestBacktestSkipsAndCountsRowsThatCannotBeRead(t *testing.T) {
	args := []string{"backtest", "-", "--policies", "static,max"}
	_, want, _ := invoke(t, twoTasks, args...)
	code, out, stderr := invoke(t, twoTasks+"d,a,r3,never,1,,1\n", args...)
	assert.Equal(t, 3, code)
	assert.Contains(t, stderr, "standard input: line 5: started_at")
	assert.Contains(t, stderr, "1 row rejected")
	assert.Equal(t, strings.Replace(want, "feedback\n", "feedback; rejected rows that cannot be read: 1\n", 1), out)

	code, out, stderr = invoke(t, strings.SplitAfter(twoTasks, "\n")[0]+"d,a,r3,never,1,,1\n", args...)
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, stderr, "standard input: nothing to replay; rejected rows that cannot be read: 1; the first one: line 2: started_at")
}

func TestBacktestPrintsTheWastageByCause(t *testing.T) {
	code, out, stderr := invoke(t, twoTasks, "backtest", "-", "--policies", "max", "--ttf", "0.5")
	require.Zero(t, code, stderr)
	assert.Contains(t, out, "share of the wastage %, by cause and by number of the run within its task")
	assert.NotContains(t, out, "max: share")
	code, out, stderr = invoke(t, twoTasks, "backtest", "-", "--policies", "max", "--task-wastage")
	require.Zero(t, code, stderr)
	assert.Contains(t, out, "max: share of the wastage %, by cause and by number of the run within its task")
}
