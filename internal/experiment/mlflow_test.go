package experiment_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/experiment"
)

// storedRun returns a run of two settings with two seeds each. Its name needs YAML escapes.
func storedRun() *experiment.StoredRun {
	row := func(family string, seed uint64, u float64) experiment.Row {
		return experiment.Row{Task: "d/predict", BinsGB: []float64{10, 62.5, 350}, Family: family, Oversampling: "none", Split: "stratified",
			Seed: seed, Accuracy: 0.75, UScore: u, URate: 0.25, Optimal: 0.5, TimeOptimal: 0.25, Estimated: 0.125}
	}
	return &experiment.StoredRun{
		ID: 7, Name: "first: \"näïve\" #1\n☃", CreatedAt: time.UnixMicro(1_700_000_000_123_456).UTC(), Fingerprint: "00ff",
		Parameters: []byte(`{"seeds": 2, "families": ["final","cart"], "trace": "a.csv", "odd/../key": true, "..": 1}`),
		Rows:       []experiment.Row{row("final", 2, 3.5), row("cart", 1, 10), row("final", 1, 1.5), row("cart", 2, 11)},
		Report:     []byte(`{"rows": []}`),
		Models:     []experiment.StoredModel{{Task: "d/predict", Family: "final", Blob: []byte{0, 255}}, {Task: "d/predict", Family: "final", Blob: []byte{1}}},
	}
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	require.NoError(t, err)
	return files
}

// runWith returns the folder of a run whose file with this name has exactly this text.
func runWith(t *testing.T, files map[string]string, name, text string) string {
	t.Helper()
	for path, got := range files {
		if run, found := strings.CutSuffix(path, "/"+name); found && got == text {
			return run + "/"
		}
	}
	require.Failf(t, "no run has this file", "%s = %s", name, text)
	return ""
}

func TestExportHasTheLayoutOfMLflowsFileStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new one", "mlruns")
	require.NoError(t, experiment.ExportMLflow(dir, storedRun()))
	files := tree(t, dir)
	parent := runWith(t, files, "tags/mlflow.runName", storedRun().Name)
	final := runWith(t, files, "params/family", "final")
	home, id := filepath.Split(strings.TrimSuffix(parent, "/"))

	for name, want := range map[string]string{
		parent + "params/seeds":                                             "2",
		parent + "params/families":                                          `["final","cart"]`,
		parent + "params/trace":                                             "a.csv",
		parent + "params/odd_.._key":                                        "true",
		parent + "params/_.":                                                "1",
		parent + "artifacts/report.json":                                    `{"rows": []}`,
		parent + "artifacts/models/01-d_predict-final.bin":                  "\x00\xff",
		parent + "artifacts/models/02-d_predict-final.bin":                  "\x01",
		final + "tags/mlflow.runName":                                       "d/predict {10;62.5;350} final none stratified",
		final + "tags/mlflow.parentRunId":                                   id,
		final + "tags/loadaware.fingerprint":                                "00ff",
		final + "params/bins_gb":                                            "{10;62.5;350}",
		final + "metrics/u_score":                                           "1700000000123 1.5 1\n1700000000123 3.5 2\n",
		final + "metrics/u_score_mean":                                      "1700000000123 2.5 0\n",
		final + "metrics/accuracy":                                          "1700000000123 0.75 1\n1700000000123 0.75 2\n",
		runWith(t, files, "params/family", "cart") + "metrics/u_score_mean": "1700000000123 10.5 0\n",
	} {
		assert.Equal(t, want, files[name], name)
	}
	assert.Contains(t, files[home+"meta.yaml"], "name: \"loadaware\"\n")
	meta := files[parent+"meta.yaml"]
	assert.Contains(t, meta, `run_name: "first: \"n\u00e4\u00efve\" #1\n\u2603"`+"\n")
	assert.Contains(t, meta, `run_id: "`+id+`"`+"\n")
	assert.Contains(t, meta, "status: 3\n")
	assert.Contains(t, meta, "new%20one/mlruns/"+parent+"artifacts\"\n")
	metas := 0
	for name := range files {
		if filepath.Base(name) == "meta.yaml" {
			metas++
		}
	}
	assert.Equal(t, 1+1+2, metas, "number of files meta.yaml: one for the experiment, one for the parent and one for each of the two settings")
}

func TestASecondExportReplacesOnlyTheSameRun(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, experiment.ExportMLflow(dir, storedRun()))
	first := tree(t, dir)
	stale := filepath.Join(dir, runWith(t, first, "params/family", "cart"), "metrics", "stale")
	require.NoError(t, os.WriteFile(stale, nil, 0o600))
	require.NoError(t, experiment.ExportMLflow(dir, storedRun()))
	require.Equal(t, first, tree(t, dir))

	other := storedRun() // a run of another database with the same id
	other.CreatedAt = other.CreatedAt.Add(time.Microsecond)
	require.NoError(t, experiment.ExportMLflow(dir, other))
	both := tree(t, dir)
	require.Len(t, both, 2*len(first)-1, "the runs share only the meta.yaml of the experiment")
	for name, text := range first {
		require.Equal(t, text, both[name], name)
	}
}

func TestExportOfAMinimalRun(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, experiment.ExportMLflow(dir, &experiment.StoredRun{ID: 3}))
	require.NotEmpty(t, runWith(t, tree(t, dir), "tags/mlflow.runName", "experiment 3"))
	require.ErrorContains(t, experiment.ExportMLflow(dir, &experiment.StoredRun{ID: 3, Parameters: []byte(`[]`)}), "not a JSON object")
}

// testdata/oracle/mlflow/open.py creates opened.json from an export. MLFLOW_EXPORT names the
// folder to which this test writes the export.
func TestMLflowReadsAnExport(t *testing.T) {
	dir := t.TempDir()
	if folder := os.Getenv("MLFLOW_EXPORT"); folder != "" {
		dir = folder
	}
	require.NoError(t, experiment.ExportMLflow(dir, storedRun()))
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "oracle", "mlflow", "opened.json"))
	require.NoError(t, err)
	var opened struct {
		Experiments []struct {
			ID, Name string
			Runs     []struct {
				ID, Name, Status string
				Start            int64
				Params, Tags     map[string]string
				Metrics          map[string]float64
				History          map[string][][3]float64
				Artifacts        map[string]string
			}
		}
		Best, Warned []string
	}
	require.NoError(t, json.Unmarshal(text, &opened))
	require.Empty(t, opened.Warned)
	require.Len(t, opened.Experiments, 1)
	require.Equal(t, "loadaware", opened.Experiments[0].Name)
	require.Len(t, opened.Experiments[0].Runs, 3)

	read, files := map[string]string{}, tree(t, dir)
	for _, run := range opened.Experiments[0].Runs {
		require.Equal(t, "FINISHED", run.Status)
		require.EqualValues(t, 1_700_000_000_123, run.Start)
		home := opened.Experiments[0].ID + "/" + run.ID + "/"
		require.Contains(t, files, home+"meta.yaml")
		for name, value := range run.Params {
			read[home+"params/"+name] = value
		}
		for name, value := range run.Tags {
			read[home+"tags/"+name] = value
		}
		for name, content := range run.Artifacts {
			bytes, err := hex.DecodeString(content)
			require.NoError(t, err)
			read[home+"artifacts/"+name] = string(bytes)
		}
		for name, points := range run.History {
			for _, p := range points {
				read[home+"metrics/"+name] += fmt.Sprintf("%.0f %v %.0f\n", p[0], p[1], p[2])
			}
		}
		if run.Params["family"] == "final" {
			require.Equal(t, []string{run.ID}, opened.Best)
			require.InDelta(t, 2.5, run.Metrics["u_score_mean"], 1e-12)
			require.InDelta(t, 3.5, run.Metrics["u_score"], 1e-12, "the metric without _mean has the value of the last seed")
		}
	}
	for name := range files {
		if filepath.Base(name) == "meta.yaml" {
			delete(files, name)
		}
	}
	require.Equal(t, files, read, "MLflow must read every file with its contents")
}
