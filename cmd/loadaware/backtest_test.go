package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/backtest"
)

// twoHours are two tries of task a, of an hour each, and one of task b between them.
const twoHours = `dag_id,task_id,run_id,started_at,duration_s,memory_requested_bytes,memory_max_bytes
d,a,r1,2020-01-01T00:00:00Z,3600,,2e9
d,b,r1,2020-01-01T01:00:00Z,3600,,3e9
d,a,r2,2020-01-01T02:00:00Z,3600,,3e9
`

func TestBacktestReplaysStandardInput(t *testing.T) {
	code, out, stderr := invoke(t, twoHours, "backtest", "-", "-o", "json", "--policies", "static,max", "--tasks", "a", "--default-gb", "8", "--ttf", "0.5")
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr, "no bar where nobody reads it")
	var reports []backtest.Report
	require.NoError(t, json.Unmarshal([]byte(out), &reports))
	require.Len(t, reports, 1)
	require.Len(t, reports[0].Results, 2)
	assert.Equal(t, 2, reports[0].Rows)
	assert.InDelta(t, 6+5, reports[0].Results[0].WastedGBh, 1e-9, "static: 8 GB for 2 and for 3")
	assert.InDelta(t, 6+1+1, reports[0].Results[1].WastedGBh, 1e-9, "max: 8 for 2, then half an hour of 2 killed, then 4 for 3")
}

func TestBacktestErrors(t *testing.T) {
	for claim, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no file":             {nil, 2, "name the files to replay"},
		"an unknown policy":   {[]string{"-", "--policies", "max,oracle"}, 2, `unknown policy "oracle"; use all, or some of loadaware, static`},
		"an unknown format":   {[]string{"-", "-o", "xml"}, 2, "-o must be one of table, json, csv, markdown"},
		"an unknown feedback": {[]string{"-", "--feedback", "late"}, 2, "--feedback must be immediate or delayed"},
		"no time to failure":  {[]string{"-", "--ttf", "0"}, 2, "--ttf must be above 0"},
		"no memory":           {[]string{"-", "--default-gb", "-1"}, 2, "--default-gb must be above 0"},
		"a limit below zero":  {[]string{"-", "--limit", "-1"}, 2, "--limit must be 0 or more"},
		"no such file":        {[]string{"absent.csv"}, 1, "absent.csv"},
		"no such task":        {[]string{"-", "--tasks", "z"}, 1, "nothing to replay"},
		"a row that is wrong": {[]string{"-"}, 1, "standard input: line 5: started_at"},
	} {
		in := twoHours
		if claim == "a row that is wrong" {
			in += "d,a,r3,never,1,,1\n"
		}
		code, out, stderr := invoke(t, in, append([]string{"backtest"}, c.args...)...)
		assert.Equal(t, c.code, code, claim)
		assert.Empty(t, out, claim)
		assert.Contains(t, stderr, c.says, claim)
	}
}
