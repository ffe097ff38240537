// Package deploy tests the Grafana dashboard and the alerts of the Helm chart: every query uses metrics
// that a server exports, the panels show data of a running server, and every alert has a runbook and a test.
package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/testcluster"
	"github.com/loadaware/loadaware/internal/testwait"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

type query struct{ panel, expr string }

func queries(t *testing.T) []query {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "chart/files/dashboard.json")), &dashboard))
	var all []query
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all = append(all, query{p.Title, target.Expr})
		}
	}
	require.NotEmpty(t, all)
	return all
}

var (
	metricName   = regexp.MustCompile(`\bloadaware_[a-z_]+`)
	metricFamily = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)`)
	alert        = regexp.MustCompile(`- alert: (\S+)`)
	runbook      = regexp.MustCompile(`runbook: (\S+)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// exportedNames lists the series that a server can export.
func exportedNames(t *testing.T) map[string]bool {
	t.Helper()
	m := httpapi.NewMetrics()
	m.SetBuildInfo("v1")
	m.AddRemovedCounter("receipts")
	m.AddRetentionPassCounter()
	access := auth.Config{Disabled: true}
	httpapi.New(service.New(nil, nil, service.Config{}, slog.New(slog.DiscardHandler)), httpapi.Config{Auth: access, Metrics: m})
	rec := httptest.NewRecorder()
	httpapi.NewAdmin(m, access).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	names := map[string]bool{ // a running server exports these series of httpapi only after some time
		"loadaware_trainings_due": true, "loadaware_training_wait_seconds": true, "loadaware_unreported_tries_ratio": true,
		"loadaware_oldest_model_trained_timestamp_seconds": true, "loadaware_newest_model_trained_timestamp_seconds": true,
		"loadaware_observations_total": true,
		// These exist only on Linux while a training process runs.
		"loadaware_learner_process_cpu_seconds_total": true, "loadaware_learner_process_resident_memory_bytes": true,
	}
	for _, f := range metricFamily.FindAllStringSubmatch(rec.Body.String(), -1) {
		names[f[1]] = true
		if f[2] == "histogram" {
			names[f[1]+"_bucket"], names[f[1]+"_count"], names[f[1]+"_sum"] = true, true, true
		}
	}
	return names
}

func TestEveryQueryUsesExportedMetrics(t *testing.T) {
	names := exportedNames(t)
	text := read(t, "chart/files/alerts.yaml")
	for _, q := range queries(t) {
		text += "\n" + q.expr
	}
	used := metricName.FindAllString(text, -1)
	assert.Greater(t, len(used), 40)
	for _, name := range used {
		assert.True(t, names[name], "no server exports %s", name)
	}
	assert.False(t, names["loadaware_stale_second"], "a misspelled name must not count as exported")
}

func TestEveryAlertHasARunbookAndATest(t *testing.T) {
	rules, doc := read(t, "chart/files/alerts.yaml"), read(t, "../../docs/operations.md")
	anchors := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(doc, -1) {
		anchors[strings.ReplaceAll(strings.ToLower(h[1]), " ", "-")] = true
	}
	alerts, runbooks := alert.FindAllStringSubmatch(rules, -1), runbook.FindAllStringSubmatch(rules, -1)
	require.NotEmpty(t, alerts)
	require.Len(t, runbooks, len(alerts))
	tests := read(t, "alerts_test.yaml")
	for i, a := range alerts {
		want := strings.ToLower(a[1])
		assert.Equal(t, "docs/operations.md#"+want, runbooks[i][1])
		assert.True(t, anchors[want], "docs/operations.md has no heading %s", a[1])
		assert.Regexp(t, `alertname: `+a[1]+`\n\s+exp_alerts: \[\{`, tests, "no test shows that %s fires", a[1])
	}
	assert.False(t, anchors["loadawaresomethingelse"])
}

// TestEveryPanelShowsDataFromARunningServer uses a real Prometheus, the program in $PROMETHEUS.
func TestEveryPanelShowsDataFromARunningServer(t *testing.T) {
	program := os.Getenv("PROMETHEUS")
	if program == "" {
		t.Skip("set $PROMETHEUS to a Prometheus binary, as make deploy-test does")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cluster, err := testcluster.Open(ctx, testcluster.Config{Replicas: 2})
	require.NoError(t, err)
	defer func() { assert.NoError(t, cluster.Close()) }()
	countSeries := startPrometheus(ctx, t, program, cluster)
	ended := make(chan struct{})
	traffic, stop := context.WithCancel(ctx)
	go func() { defer close(ended); generateTraffic(traffic, t, cluster) }()
	defer func() { stop(); <-ended }()

	// This panel shows tries whose prediction is older than one day. A new server has none.
	emptyPanels := map[string]bool{"Unreported tries": true}
	missing := map[string]bool{}
	all, withData := queries(t), 0
	require.Eventually(t, func() bool {
		clear(missing)
		withData = 0
		for _, q := range all {
			n, err := countSeries(q.expr)
			if !assert.NoError(t, err, q.panel) || n == 0 && !emptyPanels[q.panel] {
				missing[q.panel+": "+q.expr] = true
			}
			if n > 0 {
				withData++
			}
		}
		return len(missing) == 0
	}, testwait.Limit, 2*time.Second)
	assert.Empty(t, missing, "panels without data")
	n, err := countSeries("loadaware_misspelt_total")
	assert.NoError(t, err)
	assert.Zero(t, n, "a query without data must return no series")
	_, err = countSeries("sum(rate(loadaware_ready[5m])")
	assert.Error(t, err, "an invalid expression must return an error")
	t.Logf("%d of %d queries of the dashboard returned data, seed %d", withData, len(all), seed)
}

// startPrometheus starts a Prometheus that scrapes the replicas and evaluates the alert rules. It returns a function that
// counts the series of an expression.
func startPrometheus(ctx context.Context, t *testing.T, program string, cluster *testcluster.Cluster) func(expr string) (int, error) {
	t.Helper()
	rules, err := filepath.Abs("chart/files/alerts.yaml")
	require.NoError(t, err)
	var targets []string
	for _, r := range cluster.Replicas {
		targets = append(targets, fmt.Sprintf("%q", strings.TrimPrefix(r.Admin, "http://")))
	}
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs: [{job_name: loadaware, static_configs: [{targets: [%s]}]}]\n",
		rules, strings.Join(targets, ", "))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600))
	port, err := testcluster.FreePort()
	require.NoError(t, err)
	prometheus := exec.CommandContext(ctx, program, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:"+port, "--log.level=error")
	prometheus.Stderr = os.Stderr
	require.NoError(t, prometheus.Start())
	t.Cleanup(func() {
		_ = prometheus.Process.Kill() // its data is temporary
		_ = prometheus.Wait()
	})
	countSeries := func(expr string) (int, error) {
		expr = strings.ReplaceAll(expr, "$__rate_interval", "10s")
		r, err := http.Get("http://127.0.0.1:" + port + "/api/v1/query?query=" + url.QueryEscape(expr))
		if err != nil {
			return 0, err
		}
		defer r.Body.Close()
		var answer struct {
			Error string
			Data  struct{ Result []any }
		}
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
			return 0, err
		}
		if answer.Error != "" {
			return 0, fmt.Errorf("%s: %s", expr, answer.Error)
		}
		return len(answer.Data.Result), nil
	}
	require.Eventually(t, func() bool { _, err := countSeries("up"); return err == nil }, testwait.Limit, 100*time.Millisecond)
	return countSeries
}

const seed = 1

// generateTraffic trains two tasks and then, until ctx ends, sends predictions, reports, OOM kills, lifts and invalid
// requests.
func generateTraffic(ctx context.Context, t *testing.T, cluster *testcluster.Cluster) {
	tasks, err := cluster.Fill(ctx, testcluster.History{Tasks: 2, Runs: 60, Seed: seed})
	if !assert.NoError(t, err) {
		return
	}
	random := rand.New(rand.NewPCG(seed, 1))
	for n := 0; ctx.Err() == nil; n++ {
		replica, task := cluster.Replicas[n%2], tasks[n%len(tasks)]
		run := testcluster.DrawRun(random, task, fmt.Sprintf("run-%d", n))
		body := map[string]any{"dag_id": task.DAG, "task_id": task.Task, "run_id": run.RunID, "features": run.Features, "requested": run.Requested}
		_, _, _ = replica.Call(ctx, http.MethodPost, "/predict", body)
		report := map[string]any{"dag_id": task.DAG, "task_id": task.Task, "run_id": run.RunID, "outcome": "success", "duration_seconds": run.Duration,
			"memory_max_bytes": run.Peak, "allocated": map[string]any{"memory": "16Gi"}, "requested": run.Requested}
		if n%20 == 19 {
			report["outcome"] = "oom_killed"
			delete(report, "memory_max_bytes")
		}
		_, _, _ = replica.Call(ctx, http.MethodPost, "/observe", report)
		if n%20 == 19 {
			body["failed"] = map[string]any{"memory": "16Gi"}
			_, _, _ = replica.Call(ctx, http.MethodPost, "/retry-lift", body)
			_, _, _ = replica.Call(ctx, http.MethodPost, "/predict", []byte(`{"dag_id": 7}`))
		}
		time.Sleep(20 * time.Millisecond)
	}
}
