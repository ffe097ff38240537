package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// tell runs what is done with kept experiments.
func tell(t *testing.T, do func(context.Context, console, []string) error, args ...string) (out, aside string, err error) {
	t.Helper()
	var outText, errText bytes.Buffer
	err = do(t.Context(), console{in: strings.NewReader(""), out: &outText, err: &errText}, args)
	return outText.String(), errText.String(), err
}

// result is a row of predict_demand on {30;350}.
func result(family string, seed uint64, u, accuracy float64) experiment.Row {
	return experiment.Row{Task: "predict_demand", BinsGB: []float64{30, 350}, Family: family, Oversampling: "none", Split: "stratified",
		Seed: seed, UScore: u, Accuracy: accuracy, URate: 0.125, Optimal: 0.5, TimeOptimal: 0.25, Estimated: 0.375}
}

// save keeps an experiment in a database, and returns what was said.
func save(t *testing.T, dsn, name, fingerprint string, models []store.RunModel, rows ...experiment.Row) string {
	t.Helper()
	cmd := newCommand("experiment run", "", "database", "data")
	var aside bytes.Buffer
	con := console{err: &aside}
	_, err := cmd.parse(con, []string{"--database", dsn})
	require.NoError(t, err)
	report := &experiment.Report{Trace: "retail.csv", Fingerprint: fingerprint, Rows: rows}
	require.NoError(t, saveExperiment(t.Context(), con, cmd, name, map[string]any{"seeds": 2}, report, models))
	return aside.String()
}

// Two experiments: of final they have both seeds, which differ by −1 and −2; cart
// was tried in the first only, svm in the second.
func twoExperiments(t *testing.T, fingerprintOfB string) (dsn string) {
	dsn = pgtest.DSN(t)
	save(t, dsn, "first", strings.Repeat("ab", 32), []store.RunModel{{Task: "predict_demand", Family: "final", Blob: []byte("abc")}},
		result("final", 0, 4, 0.75), result("final", 1, 6, 0.5), result("cart", 0, 10, 0.25))
	save(t, dsn, "", fingerprintOfB, nil,
		result("svm", 0, 20, 0.125), result("final", 0, 3, 0.75), result("final", 1, 4, 1))
	return dsn
}

func TestExperimentListIsNewestFirst(t *testing.T) {
	dsn := twoExperiments(t, "cd")
	out, _, err := tell(t, listExperiments, "--database", dsn)
	require.NoError(t, err)
	lines := strings.Split(out, "\n")
	assert.Equal(t, []string{"id", "name", "created_at", "data", "tasks", "families", "rows"}, strings.Fields(lines[0]))
	assert.Regexp(t, `^2 + \d{4}-\d\d-\d\dT[\d:]+Z +cd +predict_demand +svm final +3$`, lines[1])
	assert.Regexp(t, `^1 +first +.*Z +abababababab +predict_demand +final cart +3$`, lines[2])

	out, _, err = tell(t, listExperiments, "--database", dsn, "--before", "2", "-o", "json")
	require.NoError(t, err)
	var listed struct{ Experiments []savedRun }
	require.NoError(t, json.Unmarshal([]byte(out), &listed))
	require.Len(t, listed.Experiments, 1)
	assert.Equal(t, "first", listed.Experiments[0].Name)
	assert.JSONEq(t, `{"seeds": 2}`, string(listed.Experiments[0].Parameters))

	out, _, err = tell(t, listExperiments, "--database", dsn, "--limit", "1", "-o", "markdown")
	require.NoError(t, err)
	assert.Contains(t, out, "|---|---|---|---|---|---|---:|\n| 2 |  | ")
	assert.NotContains(t, out, "first")
}

func TestExperimentShow(t *testing.T) {
	dsn := twoExperiments(t, "cd")
	out, _, err := tell(t, showExperiment, "first", "--database", dsn)
	require.NoError(t, err)
	assert.Contains(t, out, "experiment 1, first, kept 2")
	assert.Contains(t, out, "data "+strings.Repeat("ab", 32)+"\nparameters {\"seeds\":2}\n")
	assert.Regexp(t, `predict_demand  \{30;350\}  final +none +stratified +2 +5\.000 +0\.625 +0\.125 +0\.500 +0\.250 +0\.375\n`, out)
	assert.Regexp(t, `predict_demand  final +ba7816bf8f01 +3\n`, out) // SHA-256 of abc begins so: FIPS 180-2, B.1

	out, _, err = tell(t, showExperiment, "1", "--database", dsn, "-o", "json")
	require.NoError(t, err)
	var shown savedRun
	require.NoError(t, json.Unmarshal([]byte(out), &shown))
	assert.Equal(t, []experiment.Row{result("final", 0, 4, 0.75), result("final", 1, 6, 0.5), result("cart", 0, 10, 0.25)}, shown.Rows)
	var report experiment.Report
	require.NoError(t, json.Unmarshal(shown.Report, &report))
	assert.Equal(t, "retail.csv", report.Trace)

	out, _, err = tell(t, showExperiment, "1", "--database", dsn, "-o", "csv")
	require.NoError(t, err)
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err)
	require.Len(t, lines, 1+3)
	assert.Equal(t, []string{"predict_demand", "{30;350}", "final", "none", "stratified", "1", "6", "0.5", "0.125", "0.5", "0.25", "0.375"}, lines[2])
}

func TestExperimentCompare(t *testing.T) {
	dsn := twoExperiments(t, strings.Repeat("ab", 32))
	out, aside, err := tell(t, compareExperiments, "1", "2", "--database", dsn, "-o", "csv")
	require.NoError(t, err)
	assert.NotContains(t, aside, "warning")
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err)
	setting := func(family string, rest ...string) []string {
		return append([]string{"predict_demand", "{30;350}", family, "none", "stratified"}, rest...)
	}
	require.Equal(t, [][]string{
		{"task", "bins_gb", "family", "oversampling", "split", "seeds_a", "seeds_b", "u_a", "u_b", "u_diff", "u_se", "acc_a", "acc_b", "acc_diff", "acc_se"},
		// u: −1 and −2, hence −1.5 ± 0.7071/√2; accuracy: 0 and 0.5, hence 0.25 ± 0.3536/√2
		setting("final", "2", "2", "5", "3.5", "-1.5", "0.5", "0.625", "0.875", "0.25", "0.25"),
		setting("cart", "1", "0", "10", "", "", "", "0.25", "", "", ""),
		setting("svm", "0", "1", "", "20", "", "", "", "0.125", "", ""),
	}, lines)

	out, _, err = tell(t, compareExperiments, "first", "2", "--database", dsn)
	require.NoError(t, err)
	assert.NotContains(t, out, "warning")
	assert.Contains(t, out, "A: experiment 1, first, kept 2")
	assert.Regexp(t, ` cart +none +stratified +1 +0 +10\.000 +– +– +–`, out)
}

func TestComparisonWarnsOfDifferentHistories(t *testing.T) {
	dsn := twoExperiments(t, "cd")
	for format, asideToo := range map[string]bool{"table": false, "markdown": false, "csv": true, "json": true} {
		out, aside, err := tell(t, compareExperiments, "1", "2", "--database", dsn, "-o", format)
		require.NoError(t, err)
		told := out
		if asideToo {
			told = aside
		}
		assert.Contains(t, told, "warning: the experiments used different histories", format)
		if format == "json" {
			var c comparison
			require.NoError(t, json.Unmarshal([]byte(out), &c))
			assert.False(t, c.SameData)
			assert.InDelta(t, -1.5, *c.Rows[0].UScore.Difference, 1e-12)
			assert.Nil(t, c.Rows[1].UScore.B)
		}
	}
}

func TestComparisonWarnsOfDifferentPenalties(t *testing.T) {
	kept := func(report string) *savedRun { return &savedRun{Report: json.RawMessage(report)} }
	for claim, c := range map[string]struct {
		a, b string
		says []string
	}{
		"the same":         {`{"penalty": 10}`, `{"penalty": 10}`, nil},
		"not the same":     {`{"penalty": 10}`, `{"penalty": 2.5}`, []string{"warning: the u scores use different penalties, 10 and 2.5"}},
		"none is recorded": {`{}`, `{}`, nil},
	} {
		said, err := newComparison(kept(c.a), kept(c.b)).warnings()
		require.NoError(t, err)
		assert.Equal(t, c.says, said, claim)
	}
}

func TestExperimentExport(t *testing.T) {
	dsn, dir := twoExperiments(t, "cd"), filepath.Join(t.TempDir(), "mlruns")
	for _, id := range []string{"first", "2"} {
		out, _, err := tell(t, exportExperiment, id, "--mlflow", dir, "--database", dsn)
		require.NoError(t, err)
		assert.Contains(t, out, "mlflow ui --backend-store-uri file:"+dir)
	}
	metas, err := filepath.Glob(filepath.Join(dir, "*", "*", "meta.yaml"))
	require.NoError(t, err)
	assert.Len(t, metas, (1+2)+(1+2), "each has two settings")
	models, err := filepath.Glob(filepath.Join(dir, "*", "*", "artifacts", "models", "*"))
	require.NoError(t, err)
	require.Len(t, models, 1)
	blob, err := os.ReadFile(models[0])
	require.NoError(t, err)
	assert.Equal(t, "abc", string(blob))
	assert.Equal(t, "01-predict_demand-final.bin", filepath.Base(models[0]))
}

func TestExistingNameDoesNotLoseExperiment(t *testing.T) {
	dsn := pgtest.DSN(t)
	assert.Contains(t, save(t, dsn, "again", "ab", nil, result("final", 0, 4, 0.75)), "kept as experiment 1 in the database of DATABASE_URL")
	said := save(t, dsn, "again", "cd", nil, result("final", 0, 5, 0.75))
	assert.Contains(t, said, `name "again" already exists; choose another name`)
	assert.Contains(t, said, "it is saved without a name\nkept as experiment ")
	out, _, err := tell(t, showExperiment, "again", "--database", dsn)
	require.NoError(t, err)
	assert.Contains(t, out, "data ab\n")
}

func TestExperimentIsSavedInDataFolder(t *testing.T) {
	dir := dataFolder(t)
	_, _, err := tell(t, listExperiments, "--data", dir)
	require.ErrorContains(t, err, "no saved experiments")
	cmd := newCommand("experiment run", "", "database", "data")
	_, err = cmd.parse(discardConsole(), []string{"--data", dir})
	require.NoError(t, err)
	require.NoError(t, saveExperiment(t.Context(), discardConsole(), cmd, "private", nil, &experiment.Report{}, nil))
	out, _, err := tell(t, showExperiment, "private", "--data", dir)
	require.NoError(t, err)
	assert.Contains(t, out, "experiment 1, private")
}

func TestExperimentVerbErrors(t *testing.T) {
	dsn := twoExperiments(t, "cd")
	for claim, c := range map[string]struct {
		do   func(context.Context, console, []string) error
		args []string
		code int
		says string
	}{
		"an unknown id":           {showExperiment, []string{"99"}, 1, `no experiment "99" is stored`},
		"an unknown name":         {exportExperiment, []string{"none", "--mlflow", "x"}, 1, `no experiment "none" is stored`},
		"the second is unknown":   {compareExperiments, []string{"1", "99"}, 1, `no experiment "99" is stored`},
		"no id":                   {showExperiment, nil, 2, "name one experiment"},
		"two ids":                 {showExperiment, []string{"1", "2"}, 2, "name one experiment"},
		"one to compare":          {compareExperiments, []string{"1"}, 2, "name two experiments"},
		"no folder":               {exportExperiment, []string{"1"}, 2, "a folder with --mlflow"},
		"an argument to list":     {listExperiments, []string{"1"}, 2, "list takes no argument"},
		"an unknown format":       {listExperiments, []string{"-o", "xml"}, 2, "-o must be one of table, json, csv, markdown"},
		"a page of nothing":       {listExperiments, []string{"--limit", "0"}, 2, "--limit from 1"},
		"no database at the port": {listExperiments, []string{"--database", "postgres://127.0.0.1:1/none"}, 1, "does not answer"},
	} {
		out, _, err := tell(t, c.do, append([]string{"--database", dsn}, c.args...)...)
		assert.Empty(t, out, claim)
		assert.ErrorContains(t, err, c.says, claim)
		assert.Equal(t, c.code, exitCode(err), claim)
	}
}

func TestExperimentRowsOfOtherVersion(t *testing.T) {
	_, err := newSavedRun(&store.Run{ID: 5, Rows: []byte(`{"rows": 1}`)})
	assert.ErrorContains(t, err, "decode the rows of experiment 5")
	assert.Equal(t, sizing.Internal, sizing.KindOf(err))
}
