package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/experiment/tracking"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
)

// fortyRuns returns a history of 40 runs as CSV. Half of the runs use more than 4 GB.
func fortyRuns() string {
	var text strings.Builder
	text.WriteString("dag_id,task_id,run_id,started_at,duration_s,memory_requested_bytes,memory_max_bytes,feature.rows\n")
	for i := range 40 {
		fmt.Fprintf(&text, "d,a,r%d,2024-01-01T00:%02d:00Z,60,20e9,%d,%d\n", i, i, 1+2e8*(i*7%40), i*7%40)
	}
	return text.String()
}

func decodeReport(t *testing.T, out string) (r experiment.Report) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	return r
}

func TestExperimentOnStandardInput(t *testing.T) {
	args := []string{"experiment", "run", "--trace", "-", "-o", "json", "--families", "prior,final,svm", "--bins", "a=4,20", "--bins", "a=2,4,20", "--seeds", "2", "--penalty", "5"}
	code, out, stderr := invoke(t, fortyRuns(), args...)
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr, "no progress bar without a terminal")
	r := decodeReport(t, out)
	require.Len(t, r.Rows, 2*3*2)
	assert.Equal(t, []float64{4, 20}, r.Rows[0].BinsGB)
	assert.Equal(t, []float64{2, 4, 20}, r.Rows[6].BinsGB)
	assert.Equal(t, "final", r.Rows[2].Family)
	assert.InDelta(t, 5.0, r.Penalty, 0)
	assert.Equal(t, "standard input", r.Trace)
	_, again, _ := invoke(t, fortyRuns(), args...)
	assert.Equal(t, out, again, "the same flags give the same output")
}

func TestExperimentRejectsPeaksInAnotherUnit(t *testing.T) {
	inAnotherUnit := strings.ReplaceAll(fortyRuns(), "00000001,", ",") // in units of 100 MB
	code, out, stderr := invoke(t, inAnotherUnit, "experiment", "run", "--trace", "-", "--families", "prior")
	assert.Equal(t, 1, code)
	assert.Empty(t, out)
	assert.Contains(t, stderr, "standard input: every peak read is below 1 MiB, so the amounts are probably not in bytes")
}

func TestPeaksAboveTheLastEdgeAreUnderEstimates(t *testing.T) {
	code, out, stderr := invoke(t, fortyRuns(), "experiment", "run", "--trace", "-", "-o", "json", "--split", "time", "--bins", "a=1,3", "--seeds", "1", "--trials", "1",
		"--families", "prior,cart,softmax-trees-argmax,regression,final,serving")
	require.Zero(t, code, stderr)
	assert.Equal(t, "warning: 25 of 40 rows of a have peaks above the last edge of its bins, 3 GB: each family under-estimates them; the largest peak is 7.8 GB\n", stderr)
	r := decodeReport(t, out)
	require.Len(t, r.Rows, 6)
	// Of the 12 newest rows, 8 have peaks above 3 GB.
	for i, row := range r.Rows {
		assert.LessOrEqual(t, row.Accuracy, 4/12.0+1e-12, row.Family)
		assert.GreaterOrEqual(t, row.URate, 8/12.0-1e-12, row.Family)
		assert.GreaterOrEqual(t, row.UScore, 100*10*8/12.0-1e-9, row.Family)
		counted := 0
		for _, counts := range r.Confusions[i].Counts {
			assert.Len(t, counts, 2)
			counted += counts[0] + counts[1]
		}
		assert.Equal(t, 4, counted, "the rows within the bins")
	}
	for _, tuned := range r.Tuned {
		assert.GreaterOrEqual(t, tuned.UScore, 500.0, "the search rates the families in the same way")
	}
}

func TestExperimentsOnDatabaseAndFileAreEqual(t *testing.T) {
	dsn := pgtest.DSN(t)
	code, _, stderr := invoke(t, fortyRuns(), "import", "--database", dsn, "-")
	require.Zero(t, code, stderr)
	args := []string{"experiment", "run", "-o", "json", "--families", "final,serving", "--seeds", "1"}
	code, stored, stderr := invoke(t, "", append(args, "--database", dsn)...)
	require.Zero(t, code, stderr)
	code, fromFile, stderr := invoke(t, fortyRuns(), append(args, "--trace", "-")...)
	require.Zero(t, code, stderr)
	a, b := decodeReport(t, stored), decodeReport(t, fromFile)
	assert.Equal(t, "the database of DATABASE_URL", a.Trace)
	a.Trace = b.Trace
	assert.Equal(t, b, a)
}

func TestExperimentIsSavedWithName(t *testing.T) {
	dsn := pgtest.Migrated(t)
	code, _, stderr := invoke(t, fortyRuns(), "experiment", "run", "--trace", "-", "--families", "final,svm", "--seeds", "2", "--bins", "a=4,20", "--save", "first try", "--database", dsn)
	require.Zero(t, code, stderr)
	assert.Contains(t, stderr, "saved as experiment 1 in the database of DATABASE_URL")
	code, out, stderr := invoke(t, "", "experiment", "show", "first try", "--database", dsn, "-o", "json")
	require.Zero(t, code, stderr)
	var shown tracking.Run
	require.NoError(t, json.Unmarshal([]byte(out), &shown))
	assert.Len(t, shown.Rows, 4)
	require.Len(t, shown.Models, 2)
	// The model that the server would use is always saved first, with the family serving.
	assert.Equal(t, "serving", shown.Models[0].Family)
	assert.Equal(t, "svm none {4;20}", shown.Models[1].Family)
	assert.JSONEq(t, `{"trace":"standard input","tasks":[],"bins_gb":{"a":[[4,20]]},"families":["final","svm"],"oversampling":["none"],
		"split":"stratified","seeds":2,"penalty":10,"trials":0,"search":"bayes"}`, string(shown.Parameters))
}

func TestExperimentRunErrors(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"no command":             {nil, 2, "name a command; see loadaware experiment --help"},
		"an unknown command":     {[]string{"walk"}, 2, `unknown command "walk"`},
		"a file without a flag":  {[]string{"run", "history.csv"}, 2, `unexpected argument "history.csv"; name the history with --trace`},
		"two histories":          {[]string{"run", "--trace", "-", "--data", "x"}, 2, "--database and --data need --save NAME"},
		"no seeds":               {[]string{"run", "--trace", "-", "--seeds", "0"}, 2, "--seeds must be 1 or more"},
		"negative trials":        {[]string{"run", "--trace", "-", "--trials", "-1"}, 2, "--trials must be 0 or more"},
		"no penalty":             {[]string{"run", "--trace", "-", "--penalty", "0"}, 2, "--penalty must be a finite number above 0"},
		"an infinite penalty":    {[]string{"run", "--trace", "-", "--penalty", "inf"}, 2, "--penalty must be a finite number above 0, not +Inf"},
		"too long a name":        {[]string{"run", "--trace", "-", "--save", strings.Repeat("ü", 251)}, 2, "--save must have at most 250 characters, not 251"},
		"an unknown family":      {[]string{"run", "--trace", "-", "--families", "xgboost"}, 2, `--families must be one of prior, cart, svm`},
		"an unknown oversampler": {[]string{"run", "--trace", "-", "--oversampling", "adasyn"}, 2, "--oversampling must be one of none, weights, random, smote"},
		"an unknown split":       {[]string{"run", "--trace", "-", "--split", "random"}, 2, "--split must be one of stratified, time"},
		"an unknown search":      {[]string{"run", "--trace", "-", "--search", "grid"}, 2, "--search must be one of bayes, random"},
		"an unknown format":      {[]string{"run", "--trace", "-", "-o", "xml"}, 2, "-o must be one of table, json, csv, markdown, html"},
		"bins without a task":    {[]string{"run", "--trace", "-", "--bins", "30,350"}, 2, "write TASK=30,350"},
		"no bins":                {[]string{"run", "--trace", "-", "--bins", "a="}, 2, "write TASK=30,350"},
		"descending bins":        {[]string{"run", "--trace", "-", "--bins", "a=350,30"}, 2, "edges must be GB above 0, ascending"},
		"a name like an id":      {[]string{"run", "--trace", "-", "--save", "7"}, 2, "--save must not be an integer"},
		"a missing file":         {[]string{"run", "--trace", "absent.csv"}, 1, "absent.csv"},
		"a name of 250 letters":  {[]string{"run", "--trace", "absent.csv", "--save", strings.Repeat("ü", 250), "--url", "http://127.0.0.1:1"}, 1, "no response from http://127.0.0.1:1"},
		"no history":             {[]string{"run", "--data", "absent"}, 1, "no history: name a file with --trace or a database with --database"},
		"a missing task":         {[]string{"run", "--trace", "-", "--tasks", "z"}, 1, `there is no task "z"`},
		"bins of another task":   {[]string{"run", "--trace", "-", "--bins", "z=1,2"}, 1, `bins are given for "z"`},
		"an invalid row":         {[]string{"run", "--trace", "-"}, 1, "standard input: line 42: started_at"},
	} {
		in := fortyRuns()
		if name == "an invalid row" {
			in += "d,a,r41,never,1,,1,1\n"
		}
		t.Setenv("DATABASE_URL", "")
		code, out, stderr := invoke(t, in, append([]string{"experiment"}, c.args...)...)
		assert.Equal(t, c.code, code, name)
		assert.Empty(t, out, name)
		assert.Contains(t, stderr, c.want, name)
	}
}

func TestExperimentHelp(t *testing.T) {
	code, out, _ := invoke(t, "", "experiment", "--help")
	assert.Zero(t, code)
	for _, name := range []string{"run", "list", "show", "compare", "export"} {
		assert.Contains(t, out, "\n  "+name)
	}
}
