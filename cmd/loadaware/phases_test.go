package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/backtest/growth"
)

// rampSeries returns the usage series of runs as CSV. The memory of each run grows linearly for half an hour.
func rampSeries(runs int) string {
	var text strings.Builder
	text.WriteString("dag_id,task_id,run_id,seconds,memory_bytes,cpu_cores\n")
	for run := range runs {
		for at := 0; at < 1800; at += 10 {
			fmt.Fprintf(&text, "pricing,train,run-%d,%d,%d,%.1f\n", run, at, 100_000_000+at*1_000_000, 1.5)
		}
	}
	return text.String()
}

func TestPhasesReplayComparesPolicies(t *testing.T) {
	code, out, stderr := invoke(t, rampSeries(12), "phases", "replay", "-")
	require.Zero(t, code, stderr)
	assert.Contains(t, out, "12 runs of 1 task; the tables do not count 1 first run; usage read every 10 s, a new limit in force after 20 s")
	for _, policy := range []string{"static", "plan", "k-segments", "ks+", "previous phase", "previous step", "current step", "perfect"} {
		assert.Regexp(t, `(?m)^`+strings.ReplaceAll(policy, "+", `\+`)+` `, out)
	}
	code, out, stderr = invoke(t, rampSeries(12), "phases", "replay", "-o", "json", "-")
	require.Zero(t, code, stderr)
	var report growth.Report
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	assert.Less(t, report.Policies[1].ShareOfStatic, .9)
	assert.Zero(t, report.Policies[1].Killed)
	require.Len(t, report.PerTask, 1)
	assert.NotEmpty(t, report.PerTask[0].Plan.Steps)
	code, out, _ = invoke(t, rampSeries(2), "phases", "replay", "-", "--request-gb", "4", "-o", "markdown")
	require.Zero(t, code)
	assert.Contains(t, out, "2 runs of 1 task; the tables do not count 0 first runs")
}

func TestPhasesErrors(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no command":                    {[]string{"phases"}, 2, "use loadaware phases DAG TASK, or loadaware phases replay SERIES.csv"},
		"no file":                       {[]string{"phases", "replay"}, 2, "name one file of series"},
		"a missing file":                {[]string{"phases", "replay", "absent.csv"}, 1, "open the series: open absent.csv"},
		"an invalid format":             {[]string{"phases", "replay", "-", "-o", "xml"}, 2, `-o must be table, json or markdown, not "xml"`},
		"an invalid format with a task": {[]string{"phases", "pricing", "train", "-o", "csv"}, 2, `-o must be table, json or markdown, not "csv"`},
		"an invalid poll":               {[]string{"phases", "replay", "-", "--poll", "0"}, 2, "--poll must be 1 to 600 seconds, not 0"},
		"an invalid request":            {[]string{"phases", "replay", "-", "--request-gb", "-1"}, 2, "--request-gb must be 0 to 9007199, not -1"},
		"too large a request":           {[]string{"phases", "replay", "-", "--request-gb", "1e9"}, 2, "--request-gb must be 0 to 9007199, not 1e+09"},
		"no rows":                       {[]string{"phases", "replay", "-"}, 1, "standard input: read the header"},
	} {
		code, out, stderr := invoke(t, "", c.args...)
		assert.Equal(t, c.code, code, "%s: %s", name, stderr)
		assert.Empty(t, out, name)
		assert.Contains(t, stderr, c.want, name)
	}
}
