package experiments

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/experiment"
	"github.com/loadaware/loadaware/internal/experiment/tracking"
	"github.com/loadaware/loadaware/internal/experiment/tracking/trackingtest"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/store"
)

// runCommand runs a command. It returns the standard output, the notes on the standard error, and the error.
func runCommand(t *testing.T, command func(context.Context, cli.Console, []string) error, args ...string) (out, notes string, err error) {
	t.Helper()
	var outText, errText bytes.Buffer
	err = command(t.Context(), cli.Console{In: strings.NewReader(""), Out: &outText, Err: &errText}, args)
	return outText.String(), errText.String(), err
}

// save saves an experiment in the database `dsn`, and returns what tracking.Save prints to the standard error.
func save(t *testing.T, dsn, name, fingerprint string, models []store.RunModel, rows ...experiment.Row) string {
	t.Helper()
	report := &experiment.Report{Trace: "retail.csv", Fingerprint: fingerprint, Rows: rows}
	return saveReport(t, name, report, models, "--database", dsn)
}

// saveReport saves a report in the place that the flags name, and returns what tracking.Save prints to the standard error.
func saveReport(t *testing.T, name string, report *experiment.Report, models []store.RunModel, flags ...string) string {
	t.Helper()
	cmd := cli.New("experiment run", "", "database", "data")
	var notes bytes.Buffer
	con := cli.Console{Err: &notes}
	_, err := cmd.ParseArgs(con, flags)
	require.NoError(t, err)
	st, stop, err := openExperiments(t.Context(), con, cmd, true)
	require.NoError(t, err)
	defer stop()
	require.NoError(t, tracking.Save(t.Context(), st, con.Err, name, map[string]any{"seeds": 2}, report, models))
	return notes.String()
}

func TestExperimentListIsNewestFirst(t *testing.T) {
	dsn := trackingtest.SaveTwo(t, "cd")
	out, _, err := runCommand(t, listExperiments, "--database", dsn)
	require.NoError(t, err)
	lines := strings.Split(out, "\n")
	assert.Equal(t, []string{"id", "name", "created_at", "data", "tasks", "families", "rows"}, strings.Fields(lines[0]))
	assert.Regexp(t, `^2 + \d{4}-\d\d-\d\dT[\d:]+Z +cd +predict_demand +svm final +3$`, lines[1])
	assert.Regexp(t, `^1 +first +.*Z +abababababab +predict_demand +final cart +3$`, lines[2])

	out, _, err = runCommand(t, listExperiments, "--database", dsn, "--before", "2", "-o", "json")
	require.NoError(t, err)
	var listed struct {
		Experiments []struct {
			Name            string
			Parameters      json.RawMessage
			Tasks, Families []string
			Rows            int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(out), &listed))
	require.Len(t, listed.Experiments, 1)
	assert.Equal(t, "first", listed.Experiments[0].Name)
	assert.JSONEq(t, `{"seeds": 2}`, string(listed.Experiments[0].Parameters))
	assert.Equal(t, []string{"predict_demand"}, listed.Experiments[0].Tasks)
	assert.Equal(t, []string{"final", "cart"}, listed.Experiments[0].Families)
	assert.Equal(t, 3, listed.Experiments[0].Rows)

	out, _, err = runCommand(t, listExperiments, "--database", dsn, "--limit", "1", "-o", "markdown")
	require.NoError(t, err)
	assert.Contains(t, out, "|---|---|---|---|---|---|---:|\n| 2 |  | ")
	assert.NotContains(t, out, "first")
}

func TestExperimentListIncludesExperimentsWithUnreadableRows(t *testing.T) {
	dsn := trackingtest.SaveTwo(t, "cd")
	cmd := cli.New("experiment run", "", "database", "data")
	con := cli.Console{Err: io.Discard}
	_, err := cmd.ParseArgs(con, []string{"--database", dsn})
	require.NoError(t, err)
	st, stop, err := openExperiments(t.Context(), con, cmd, true)
	require.NoError(t, err)
	defer stop()
	for name, rows := range map[string]string{"odd": `[{"task": 1}]`, "newer": `[{"task": "t", "family": "f", "seed": "x"}]`} {
		_, err = st.Save(t.Context(), store.Run{Name: name, CreatedAt: time.Now(), Rows: []byte(rows)}, nil)
		require.NoError(t, err)
	}
	out, _, err := runCommand(t, listExperiments, "--database", dsn)
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^\d +odd +\S+ +0$`, out)
	assert.Regexp(t, `(?m)^\d +newer +\S+ +t +f +1$`, out)
	assert.Regexp(t, `(?m)^1 +first +.* +predict_demand +final cart +3$`, out)
	_, _, err = runCommand(t, showExperiment, "odd", "--database", dsn)
	assert.ErrorContains(t, err, "decode the rows of experiment")
}

func TestExperimentShowPrintsMeansAndModels(t *testing.T) {
	dsn := trackingtest.SaveTwo(t, "cd")
	out, _, err := runCommand(t, showExperiment, "first", "--database", dsn)
	require.NoError(t, err)
	assert.Contains(t, out, "experiment 1, first, saved 2")
	assert.Contains(t, out, "data "+strings.Repeat("ab", 32)+"\nparameters {\"seeds\":2}\n")
	assert.Regexp(t, `predict_demand  \{30;350\}  final +none +stratified +2 +5\.000 +0\.625 +0\.125 +0\.500 +0\.250 +0\.375\n`, out)
	assert.Regexp(t, `predict_demand  final +ba7816bf8f01 +3\n`, out) // SHA-256 of "abc" (FIPS 180-2, B.1)

	out, _, err = runCommand(t, showExperiment, "1", "--database", dsn, "-o", "json")
	require.NoError(t, err)
	var shown tracking.Run
	require.NoError(t, json.Unmarshal([]byte(out), &shown))
	assert.Equal(t, []experiment.Row{trackingtest.Row("final", 0, 4, 0.75), trackingtest.Row("final", 1, 6, 0.5), trackingtest.Row("cart", 0, 10, 0.25)}, shown.Rows)
	var report experiment.Report
	require.NoError(t, json.Unmarshal(shown.Report, &report))
	assert.Equal(t, "retail.csv", report.Trace)

	out, _, err = runCommand(t, showExperiment, "1", "--database", dsn, "-o", "csv")
	require.NoError(t, err)
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err)
	require.Len(t, lines, 1+3)
	assert.Equal(t, []string{"predict_demand", "{30;350}", "final", "none", "stratified", "1", "6", "0.5", "0.125", "0.5", "0.25", "0.375"}, lines[2])
}

func TestExperimentComparePrintsDifferences(t *testing.T) {
	dsn := trackingtest.SaveTwo(t, strings.Repeat("ab", 32))
	out, notes, err := runCommand(t, compareExperiments, "1", "2", "--database", dsn, "-o", "csv")
	require.NoError(t, err)
	assert.NotContains(t, notes, "warning")
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	require.NoError(t, err)
	setting := func(family string, rest ...string) []string {
		return append([]string{"predict_demand", "{30;350}", family, "none", "stratified"}, rest...)
	}
	require.Equal(t, [][]string{
		{"task", "bins_gb", "family", "oversampling", "split", "seeds_a", "seeds_b", "u_a", "u_b", "u_diff", "u_se", "acc_a", "acc_b", "acc_diff", "acc_se"},
		// The u scores differ by −1 and −2: −1.5 ± 0.7071/√2. The accuracies differ by 0 and 0.5: 0.25 ± 0.3536/√2.
		setting("final", "2", "2", "5", "3.5", "-1.5", "0.5", "0.625", "0.875", "0.25", "0.25"),
		setting("cart", "1", "0", "10", "", "", "", "0.25", "", "", ""),
		setting("svm", "0", "1", "", "20", "", "", "", "0.125", "", ""),
	}, lines)

	out, _, err = runCommand(t, compareExperiments, "first", "2", "--database", dsn)
	require.NoError(t, err)
	assert.NotContains(t, out, "warning")
	assert.Contains(t, out, "A: experiment 1, first, saved 2")
	assert.Regexp(t, ` cart +none +stratified +1 +0 +10\.000 +– +– +–`, out)
}

func TestComparisonWarnsOfDifferentHistories(t *testing.T) {
	dsn := trackingtest.SaveTwo(t, "cd")
	for format, forPrograms := range map[string]bool{"table": false, "markdown": false, "csv": true, "json": true} {
		out, notes, err := runCommand(t, compareExperiments, "1", "2", "--database", dsn, "-o", format)
		require.NoError(t, err)
		text := out
		if forPrograms {
			text = notes
		}
		assert.Contains(t, text, "warning: the experiments used different histories", format)
		if format == "json" {
			var c tracking.Comparison
			require.NoError(t, json.Unmarshal([]byte(out), &c))
			assert.False(t, c.SameData)
			assert.InDelta(t, -1.5, *c.Rows[0].UScore.Difference, 1e-12)
			assert.Nil(t, c.Rows[1].UScore.B)
		}
	}
}

func TestExperimentExportWritesMLflowRuns(t *testing.T) {
	dsn, dir := trackingtest.SaveTwo(t, "cd"), filepath.Join(t.TempDir(), "mlruns")
	for _, id := range []string{"first", "2"} {
		out, _, err := runCommand(t, exportExperiment, id, "--mlflow", dir, "--database", dsn)
		require.NoError(t, err)
		assert.Contains(t, out, "mlflow ui --backend-store-uri file:"+dir)
	}
	metas, err := filepath.Glob(filepath.Join(dir, "*", "*", "meta.yaml"))
	require.NoError(t, err)
	assert.Len(t, metas, (1+2)+(1+2), "each of the two experiments has a parent run and a child run for each of its two families")
	models, err := filepath.Glob(filepath.Join(dir, "*", "*", "artifacts", "models", "*"))
	require.NoError(t, err)
	require.Len(t, models, 1)
	blob, err := os.ReadFile(models[0])
	require.NoError(t, err)
	assert.Equal(t, "abc", string(blob))
	assert.Equal(t, "01-predict_demand-final.bin", filepath.Base(models[0]))
}

func TestExperimentWithExistingNameIsSavedWithoutName(t *testing.T) {
	dsn := pgtest.DSN(t)
	assert.Contains(t, save(t, dsn, "again", "ab", nil, trackingtest.Row("final", 0, 4, 0.75)), "saved as experiment 1 in the database of DATABASE_URL")
	notes := save(t, dsn, "again", "cd", nil, trackingtest.Row("final", 0, 5, 0.75))
	assert.Contains(t, notes, `name "again" already exists; choose another name`)
	assert.Contains(t, notes, "trying to save the experiment without a name\nsaved as experiment ")
	out, _, err := runCommand(t, showExperiment, "again", "--database", dsn)
	require.NoError(t, err)
	assert.Contains(t, out, "data ab\n")
}

func TestExperimentIsSavedInDataFolder(t *testing.T) {
	dir, err := os.MkdirTemp("", "loadaware test")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755)) // PostgreSQL may run as another user
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	dir = filepath.Join(dir, "data")
	_, _, err = runCommand(t, listExperiments, "--data", dir)
	require.ErrorContains(t, err, "no saved experiments: the data folder "+dir+" has no database")
	saveReport(t, "private", &experiment.Report{}, nil, "--data", dir)
	out, _, err := runCommand(t, showExperiment, "private", "--data", dir)
	require.NoError(t, err)
	assert.Contains(t, out, "experiment 1, private")
}

func TestExperimentCommandErrors(t *testing.T) {
	dsn := trackingtest.SaveTwo(t, "cd")
	for name, c := range map[string]struct {
		command func(context.Context, cli.Console, []string) error
		args    []string
		code    int
		want    string
	}{
		"an unknown id":            {showExperiment, []string{"99"}, 1, `no experiment "99" is stored; GET /experiments lists them`},
		"an unknown name":          {exportExperiment, []string{"none", "--mlflow", "x"}, 1, `no experiment "none" is stored`},
		"an unknown second id":     {compareExperiments, []string{"1", "99"}, 1, `no experiment "99" is stored`},
		"an unwritable folder":     {exportExperiment, []string{"1", "--mlflow", "/dev/null"}, 1, "name a folder that can be written"},
		"no id":                    {showExperiment, nil, 2, "name one experiment"},
		"two ids":                  {showExperiment, []string{"1", "2"}, 2, "name one experiment"},
		"one id to compare":        {compareExperiments, []string{"1"}, 2, "name two experiments"},
		"an export without folder": {exportExperiment, []string{"1"}, 2, "a folder with --mlflow"},
		"an argument to list":      {listExperiments, []string{"1"}, 2, "list takes no argument"},
		"an unknown format":        {listExperiments, []string{"-o", "xml"}, 2, "-o must be one of table, json, csv, markdown"},
		"a limit of 0":             {listExperiments, []string{"--limit", "0"}, 2, "--limit must be 1 or more"},
		"no database at the port":  {listExperiments, []string{"--database", "postgres://127.0.0.1:1/none"}, 1, "does not answer"},
	} {
		out, _, err := runCommand(t, c.command, append([]string{"--database", dsn}, c.args...)...)
		assert.Empty(t, out, name)
		assert.ErrorContains(t, err, c.want, name)
		assert.Equal(t, c.code, cli.ExitCode(err), name)
	}
}
