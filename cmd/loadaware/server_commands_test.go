package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
)

func startWithHistory(t *testing.T) (server *process) {
	server = startServer(t, append(database(t), onlyRequested))
	for n := range 60 {
		server.post("/observe", map[string]any{
			"dag_id": "pricing", "task_id": "load", "run_id": fmt.Sprint(n), "outcome": "success", "memory_max_bytes": 1e9 + 1e7*float64(n%20),
			"duration_seconds": 60, "features": map[string]any{"rows": n % 20, "region": "emea"},
		}, nil)
	}
	return server
}

func TestCommandsOfARunningServer(t *testing.T) {
	server := startWithHistory(t)
	t.Setenv("LOADAWARE_URL", server.url)

	code, out, stderr := invoke(t, "", "train", "pricing/load")
	require.Zero(t, code, stderr)
	assert.Regexp(t, `^pricing/load: (model \d+|no new model): .+\n$`, out)

	code, out, stderr = invoke(t, "", "tasks")
	require.Zero(t, code, stderr)
	assert.Regexp(t, `(?m)^namespace +dag_id +task_id +group +model +last_seen +largest_peak +observations +kills$`, out)
	assert.Regexp(t, `(?m)^default +pricing +load +\w+ +\d+ .* 60 +0$`, out)
	code, out, _ = invoke(t, "", "tasks", "-o", "json")
	require.Zero(t, code)
	var listed api.TaskPage
	require.NoError(t, json.Unmarshal([]byte(out), &listed))
	require.Len(t, listed.Tasks, 1)
	assert.Equal(t, int64(1_190_000_000), *listed.Tasks[0].LargestPeakBytes)
	_, out, _ = invoke(t, "", "tasks", "--dag", "other", "-o", "csv")
	assert.Equal(t, 1, strings.Count(out, "\n"), "only the header")

	code, out, stderr = invoke(t, "", "runtime", "pricing", "load", "-o", "csv")
	require.Zero(t, code, stderr)
	assert.Regexp(t, `^namespace,dag_id,task_id,.*\ndefault,pricing,load,.*,59,.*\n$`, out) // the first run has no prediction

	for _, flag := range []string{"--risk", "--elapsed", "--timeout"} {
		code, _, stderr = invoke(t, "", "runtime", "pricing", "load", "--what-if", "rows=7", flag, "0.1")
		assert.Equal(t, 2, code)
		assert.Contains(t, stderr, "--risk, --elapsed and --timeout have no effect with --what-if")
	}
	code, _, stderr = invoke(t, "", "runtime", "pricing", "load", "--what-if", "nosuch=5")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "features.nosuch is not a feature of this task; known features: ")
	code, _, stderr = invoke(t, "", "runtime", "--elapsed", "600")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "--elapsed is the time of one try; name its task")
	for _, args := range [][]string{{"namespace=blue"}, {"elapsed_seconds=600"}, {"namespace=blue", "--what-if"}, {"cluster_load=1", "--what-if"}} {
		code, _, stderr = invoke(t, "", append([]string{"runtime", "pricing", "load"}, args...)...)
		assert.Equal(t, 2, code, args)
		assert.Contains(t, stderr, strconv.Quote(args[0])+": the server cannot receive a feature with this name here")
	}

	code, _, stderr = invoke(t, "", "profiles")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "namespace default has no usage profiles yet")
	code, _, stderr = invoke(t, "", "profiles", "first")
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, `"first" is neither the id of a profile nor metadata`)

	predict := []string{"predict", "pricing", "load", "rows=7", "region=emea", "--memory", "8Gi"}
	code, out, stderr = invoke(t, "", predict...)
	require.Zero(t, code, stderr)
	assert.Regexp(t, `(?m)^memory    \d+Mi$`, out)
	assert.Regexp(t, `(?m)^source    (model|profile); mode enforce\nmodel     version \d+, learned from 60 runs$`, out)
	code, out, _ = invoke(t, "", append(predict, "-o", "json", "--run-id", "r1", "--try-number", "1")...)
	require.Zero(t, code)
	var p api.Prediction
	require.NoError(t, json.Unmarshal([]byte(out), &p))
	assert.Equal(t, "load", p.TaskID)
	assert.Positive(t, p.Memory.LimitBytes)
	assert.NotEqual(t, "8Gi", p.Memory.Limit)

	code, out, stderr = invoke(t, "", "explain", "pricing", "load", "rows=7", "region=emea", "--memory", "8Gi")
	require.Zero(t, code, stderr)
	assert.Regexp(t, `(?s)^\S+ is granted\. .*\nstep +factor +memory +why\nbase +.*\nmargin .*\nsimilar run +distance +needed +ended\n`, out)
	for _, line := range strings.Split(out, "\n") {
		assert.LessOrEqual(t, len([]rune(line)), 120, line)
	}
	code, out, stderr = invoke(t, "", "explain", "--prediction", p.PredictionID, "-o", "json")
	require.Zero(t, code, stderr)
	var e api.Explanation
	require.NoError(t, json.Unmarshal([]byte(out), &e))
	assert.Equal(t, p.Memory.LimitBytes, e.GrantedBytes)
	code, _, stderr = invoke(t, "", "explain", "pricing", "load", "--prediction", p.PredictionID)
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "--prediction takes no task")

	code, out, stderr = invoke(t, "", "whatif", "--task", "pricing/load", "--floor", "2Gi", "--max-lifts", "1", "--set", "rows=3")
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr, "no progress bar without a terminal")
	assert.Regexp(t, `(?s)^replayed 60 runs, .*\ncurrent .*\nfloor 2Gi, max-lifts 1 .*\nwith the changed inputs `, out)
	code, out, stderr = invoke(t, "", "whatif", "--dag", "pricing", "-o", "json")
	require.Zero(t, code, stderr)
	var w api.WhatIf
	require.NoError(t, json.Unmarshal([]byte(out), &w))
	assert.Equal(t, 60, *w.Rows)
	for _, wrong := range [][]string{{"whatif"}, {"whatif", "--task", "a/b", "--dag", "a"}, {"whatif", "--dag", "pricing", "--cap", "2GiB"}} {
		code, _, _ = invoke(t, "", wrong...)
		assert.Equal(t, 2, code, wrong)
	}
}

func TestPolicySetChangesOnlyGivenFields(t *testing.T) {
	server := startWithHistory(t)
	t.Setenv("LOADAWARE_URL", server.url)
	policy := func(args ...string) (p api.Policy) {
		t.Helper()
		code, out, stderr := invoke(t, "", append([]string{"policy"}, append(args, "-o", "json")...)...)
		require.Zero(t, code, stderr)
		require.NoError(t, json.Unmarshal([]byte(out), &p))
		return p
	}
	defaults := policy("get", "pricing", "load")
	assert.Equal(t, api.Mode("enforce"), defaults.Mode)
	set := policy("set", "pricing/load", "--mode", "shadow", "--cap", "384Gi", "--max-lifts", "0")
	assert.Equal(t, []any{api.Mode("shadow"), "384Gi", 0}, []any{set.Mode, *set.Cap, set.MaxLifts})
	set = policy("set", "pricing/load", "--floor", "1Gi", "--bin-edges", "10Gi,60Gi", "--grid", "bins", "--never-above-requested", "--cpu-unmanaged", "--limit-ratio", "1.5", "--risk-target", "0.02")
	assert.Equal(t, []any{api.Mode("shadow"), "384Gi", 0, "1Gi", []int64{10 << 30, 60 << 30}, true, true, 1.5, 0.02},
		[]any{set.Mode, *set.Cap, set.MaxLifts, *set.Floor, set.BinEdgesBytes, set.NeverAboveRequested, set.CPUUnmanaged, set.LimitRatio, set.RiskTarget})
	set = policy("set", "pricing/load", "--cap", "none", "--never-above-requested=false", "--max-lifts", "3")
	assert.Nil(t, set.Cap)
	assert.False(t, set.NeverAboveRequested)
	assert.Equal(t, 3, set.MaxLifts)
	assert.Equal(t, set, policy("get", "pricing/load"))
	assert.Equal(t, defaults, policy("reset", "pricing/load"))
	assert.Equal(t, api.Mode("off"), policy("set", "new", "task", "--mode", "off", "--namespace", "blue").Mode)

	code, out, _ := invoke(t, "", "policy", "get", "pricing/load")
	assert.Zero(t, code)
	assert.Contains(t, out, "pricing/load\n  mode                   enforce\n  floor                  none\n")
}

func TestPolicyOfUnreportedTaskCausesNote(t *testing.T) {
	server := startWithHistory(t)
	t.Setenv("LOADAWARE_URL", server.url)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a misspelt task":      {[]string{"reset", "pricing", "lod"}, "note: the server has no report of task pricing/lod yet; reported tasks of pricing: load\n"},
		"an unknown DAG":       {[]string{"set", "new/task", "--mode", "off"}, "note: the server has no report of task new/task yet; no task of this DAG has a report\n"},
		"an unknown DAG again": {[]string{"set", "new/task", "--mode", "off"}, "note: the server has no report of task new/task yet; no task of this DAG has a report\n"},
		"a reported task":      {[]string{"set", "pricing/load", "--mode", "enforce"}, ""},
	} {
		code, out, stderr := invoke(t, "", append([]string{"policy"}, c.args...)...)
		assert.Zero(t, code, name)
		assert.Contains(t, out, "  mode  ", name)
		assert.Equal(t, c.want, stderr, name)
	}
}

func TestServerCommandErrors(t *testing.T) {
	server := startWithHistory(t)
	server.post("/observe", map[string]any{"dag_id": "zz", "task_id": "q2", "run_id": "r", "outcome": "failed"}, nil)
	code, _, stderr := invoke(t, "", "policy", "set", "zz/q2", "--floor", "4Gi", "--url", server.url)
	require.Zero(t, code, stderr)
	observer := startServer(t, append(database(t), "LOADAWARE_TOKENS=observe:"+strings.Repeat("ab", 32)))
	t.Setenv("DATABASE_URL", "")
	t.Setenv("LOADAWARE_ADDR", "127.0.0.1:1")
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no server":                    {[]string{"tasks"}, 1, "start a server with loadaware serve, or name one with --url"},
		"no token":                     {[]string{"tasks", "--url", observer.url}, 1, "name a token with sufficient rights with --token or LOADAWARE_TOKEN"},
		"arguments of tasks":           {[]string{"tasks", "pricing"}, 2, "use --dag to choose a DAG"},
		"an invalid format of tasks":   {[]string{"tasks", "-o", "xml"}, 2, "-o must be one of table, json, csv, markdown"},
		"no task":                      {[]string{"predict"}, 2, "name the task as DAG TASK, or as DAG/TASK"},
		"a DAG without a task":         {[]string{"predict", "pricing"}, 2, "name the task as DAG TASK"},
		"an empty task":                {[]string{"predict", "pricing/"}, 2, "task_id"},
		"an invalid feature":           {[]string{"predict", "pricing", "load", "rows"}, 2, `"rows" is not FEATURE=VALUE`},
		"a feature twice":              {[]string{"predict", "pricing/load", "a=1", "a=2"}, 2, "feature a: given twice"},
		"an invalid amount":            {[]string{"predict", "pricing/load", "--memory", "350GiB", "--url", server.url}, 2, `requested.memory "350GiB" is not a quantity`},
		"an unknown task":              {[]string{"predict", "pricing/absent", "--url", server.url}, 1, "set the static request with --memory"},
		"an invalid format of predict": {[]string{"predict", "pricing/load", "-o", "csv"}, 2, "-o must be text or json"},
		"no policy command":            {[]string{"policy", "pricing/load"}, 2, "use get, set or reset"},
		"nothing to set":               {[]string{"policy", "set", "pricing/load"}, 2, "name what to change"},
		"a field flag with get":        {[]string{"policy", "get", "pricing/load", "--mode", "off"}, 2, "use loadaware policy set"},
		"a policy of an unknown task":  {[]string{"policy", "get", "pricing/absent", "--url", server.url}, 1, "loadaware tasks lists the known tasks"},
		"nothing to replay":            {[]string{"whatif", "--task", "zz/q2", "--url", server.url}, 1, "replay zz/q2: no run has a measured peak and a duration; report runs with both first\n"},
		"an invalid mode":              {[]string{"policy", "set", "pricing/load", "--mode", "on", "--url", server.url}, 2, "--mode on must be enforce, shadow or off"},
		"a floor above the cap":        {[]string{"policy", "set", "pricing/load", "--floor", "64Gi", "--cap", "2Gi", "--url", server.url}, 2, "--floor 64Gi must not be above --cap 2Gi; see loadaware policy"},
		"a cap without a unit":         {[]string{"policy", "set", "pricing/load", "--cap", "350", "--url", server.url}, 2, "--cap 350 must be 1Mi to 8Pi: 350 bytes is less than any container uses: check the unit"},
		"a cap below the floor":        {[]string{"policy", "set", "zz/q2", "--cap", "2Gi", "--url", server.url}, 2, "the floor of the policy, 4Gi, must not be above --cap 2Gi"},
		"a risk out of range":          {[]string{"policy", "set", "pricing/load", "--risk-target", "0.9", "--url", server.url}, 2, "--risk-target 0.9 must be 0.0001 to 0.5"},
		"a replay with floor > cap":    {[]string{"whatif", "--task", "pricing/load", "--floor", "64Gi", "--cap", "2Gi"}, 2, "--floor 64Gi must not be above --cap 2Gi; see loadaware whatif"},
		"a replay with invalid bins":   {[]string{"whatif", "--task", "pricing/load", "--bins", "4Gi,2Gi"}, 2, "--bins 4Gi,2Gi must be 1 to 64 ascending amounts"},
		"invalid edges":                {[]string{"policy", "set", "pricing/load", "--bin-edges", "10GB"}, 2, "--bin-edges: "},
		"too many arguments":           {[]string{"policy", "get", "pricing", "load", "x"}, 2, `unexpected argument "x"`},
		"too many arguments of train":  {[]string{"train", "pricing", "load", "x"}, 2, `unexpected argument "x"`},
		"train with a database":        {[]string{"train", "pricing", "load", "--database", "postgres://x"}, 2, "--database is for the trainer process"},
		"train without a task":         {[]string{"train", "--url", server.url}, 2, "name the task to train"},
		"a trainer without a database": {[]string{"train"}, 2, "or set DATABASE_URL to run the trainer process"},
	} {
		code, out, stderr := invoke(t, "", c.args...)
		assert.Equal(t, c.code, code, "%s: %s", name, stderr)
		assert.Empty(t, out, name)
		assert.Contains(t, stderr, c.want, name)
	}
}

func TestServerCommandHelp(t *testing.T) {
	_, all, _ := invoke(t, "", "--help")
	for _, command := range []string{"tasks", "predict", "policy", "train", "import"} {
		assert.Contains(t, all, "\n  "+command)
		code, out, _ := invoke(t, "", command, "--help")
		assert.Zero(t, code)
		assert.Contains(t, out, "Usage: loadaware "+command)
		assert.Contains(t, out, "--url")
	}
}
