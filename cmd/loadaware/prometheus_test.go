package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/prometheus"
	"github.com/loadaware/loadaware/internal/source/prometheus/prometheustest"
	"github.com/loadaware/loadaware/internal/testwait"
)

var firstPodStart = time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC)

func tryOf(task, run string) sizing.TryKey {
	return sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "pricing", Task: task}, RunID: run, MapIndex: sizing.NoMap, Number: 1}
}

// podOf returns the pod of a try. The pod runs for three minutes and has a peak of 1 GiB + n MiB.
func podOf(try sizing.TryKey, n int, at time.Time) prometheustest.Pod {
	peak := float64(sizing.GiB + sizing.Bytes(n)*sizing.MiB)
	return prometheustest.Pod{
		Name: fmt.Sprintf("%s-%d", try.Task, n), Labels: prometheus.Labels(try), Start: at, Reason: "Completed", Phase: "Succeeded",
		Memory: []float64{peak / 2, peak, peak, peak / 2, peak / 4, peak / 4, peak / 4}, CPU: []float64{0, 10, 20, 40, 60, 70, 80},
		Request: float64(8 * sizing.GiB), Limit: float64(8 * sizing.GiB),
	}
}

func TestPrometheusImportIsIdempotent(t *testing.T) {
	var pods []prometheustest.Pod
	for n := range 40 {
		at := firstPodStart.Add(time.Duration(n) * time.Hour)
		pods = append(pods, podOf(tryOf("fit", "scheduled__"+at.Format("2006-01-02T15:04:05+00:00")), n, at))
	}
	manual, running := podOf(tryOf("fit", "a manual run"), 40, firstPodStart), podOf(tryOf("fit", "run-1"), 41, firstPodStart)
	running.Reason, running.Phase = "", "Running"
	url := prometheustest.Start(t, prometheustest.OpenMetrics(append(pods, manual, running)...))
	server := startServer(t, append(database(t), onlyRequested))
	// One of the tries has a report already. The import fills only the unknown fields of this report.
	server.post("/observe", map[string]any{"dag_id": "pricing", "task_id": "fit", "run_id": "scheduled__2026-01-03T12:00:00+00:00",
		"outcome": "success", "memory_max_bytes": 3 << 30, "duration_seconds": 170}, nil)

	args := []string{"import", "prometheus", "--url", url, "--into", server.url, "--from", "2026-01-03", "--to", "2026-01-06", "--rate", "1000"}
	code, out, stderr := invoke(t, "", append(args, "--train")...)
	require.Equal(t, 0, code, stderr)
	t.Log(out)
	assert.Contains(t, out, "40 tries read: 39 new, 0 already there, 1 amended, 0 rejected\n")
	assert.Contains(t, out, "1 × label run_id has a hash in place of a part of the id")
	assert.Contains(t, out, "1 × without an outcome")
	assert.Contains(t, out, "airflow/fit-41")
	assert.Contains(t, out, "pricing/fit: model 1")
	assert.Equal(t, 40, server.observations("pricing", "fit"))

	var p struct {
		Source string
		Memory struct {
			Limit int64 `json:"limit_bytes"`
		}
	}
	server.post("/predict", map[string]any{"dag_id": "pricing", "task_id": "fit", "requested": map[string]any{"memory": "8Gi"}}, &p)
	assert.Contains(t, []string{"model", "profile"}, p.Source, "the server answers from the imported history")
	assert.Less(t, p.Memory.Limit, int64(8<<30))

	code, out, stderr = invoke(t, "", args...)
	require.Equal(t, 0, code, stderr)
	assert.Contains(t, out, "40 tries read: 0 new, 40 already there, 0 amended, 0 rejected\n")
	code, out, stderr = invoke(t, "", append(args, "--task", "other", "--dry-run")...)
	require.Equal(t, 0, code, stderr)
	assert.Contains(t, out, "metric-labels-allowlist")
}

func TestImportPrometheusErrors(t *testing.T) {
	for want, args := range map[string][]string{
		"name the Prometheus":    {"--from", "2026-01-01"},
		"first pods with --from": {"--url", "http://127.0.0.1:1", "--dry-run"},
		"a time before --to":     {"--url", "http://127.0.0.1:1", "--from", "2026-01-02", "--to", "2026-01-01"},
		"--from \"monday\"":      {"--url", "http://127.0.0.1:1", "--from", "monday"},
		"http://host:9090":       {"--url", "127.0.0.1:1", "--from", "2026-01-01"},
		"check --url":            {"--url", "http://127.0.0.1:1", "--from", "2026-01-01", "--dry-run"},
	} {
		code, _, stderr := invoke(t, "", append([]string{"import", "prometheus"}, args...)...)
		assert.NotZero(t, code, want)
		assert.Contains(t, stderr, want)
	}
}

func TestImportsNeedAKubernetesNamespaceOfTheirNamespace(t *testing.T) {
	t.Setenv("LOADAWARE_PROMETHEUS_NAMESPACE", "prod=af-prod")
	for _, args := range [][]string{
		{"import", "prometheus", "--url", "http://127.0.0.1:1", "--from", "2026-01-01", "--namespace", "staging"},
		{"import", "airflow", "--url", "http://127.0.0.1:1", "--prometheus", "http://127.0.0.1:1", "--namespace", "staging"},
	} {
		code, _, stderr := invoke(t, "", args...)
		assert.Equal(t, 2, code)
		assert.Contains(t, stderr, `LOADAWARE_PROMETHEUS_NAMESPACE has no Kubernetes namespace for the loadaware namespace "staging"`)
	}
}

// The server must add the sampled peak to a try without a peak.
func TestServerReconcilesTriesWithPrometheus(t *testing.T) {
	ended := time.Now().UTC().Truncate(time.Second).Add(-10 * time.Minute)
	pod := podOf(tryOf("fit", "run-1"), 0, ended.Add(-3*time.Minute))
	url := prometheustest.Start(t, prometheustest.OpenMetrics(pod))
	server := startServer(t, append(database(t), "LOADAWARE_PROMETHEUS_URL="+url, "LOADAWARE_PROMETHEUS_EVERY=200ms"), "--admin-addr", "127.0.0.1:0")
	metrics := "http://" + server.output.await(t, "metrics are at http://")
	server.post("/observe", map[string]any{"dag_id": "pricing", "task_id": "fit", "run_id": "run-1", "outcome": "success",
		"started_at": ended.Add(-3 * time.Minute), "ended_at": ended}, nil)
	require.Eventually(t, func() bool {
		return strings.Contains(scrape(t, metrics), `loadaware_reconciled_tries_total{result="amended"} 1`)
	}, testwait.Limit, 100*time.Millisecond)
	var recorded struct{ Duplicate bool }
	server.post("/observe", map[string]any{"dag_id": "pricing", "task_id": "fit", "run_id": "run-1", "outcome": "success",
		"memory_sampled_bytes": 1 << 30}, &recorded)
	assert.True(t, recorded.Duplicate, "the try has this peak already")
}

func scrape(t *testing.T, url string) string {
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text)
}
