package prometheus_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/prometheus"
	"github.com/loadaware/loadaware/internal/source/prometheus/prometheustest"
)

const (
	mib = float64(sizing.MiB)
	gib = float64(sizing.GiB)

	killedPeak = 1900 * sizing.MiB
)

var (
	noon      = time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC)
	task      = sizing.TaskKey{Namespace: "default", DAG: "pricing", Task: "predict_demand"}
	scheduled = "scheduled__2026-01-03T02:00:00+00:00"
)

// The tries of the pods below. The label of shortenedTry does not contain its run id.
var (
	succeededTry = sizing.TryKey{TaskKey: task, RunID: scheduled, MapIndex: sizing.NoMap, Number: 1}
	killedTry    = sizing.TryKey{TaskKey: task, RunID: scheduled, MapIndex: 4, Number: 2}
	shortenedTry = sizing.TryKey{TaskKey: task, RunID: "a run of mine", MapIndex: sizing.NoMap, Number: 1}
)

func executorLabels(labels map[string]string) map[string]string {
	labels["label_kubernetes_executor"] = "True"
	return labels
}

// pods is the content of the server, scraped every 30 s.
var pods = []prometheustest.Pod{
	{Name: "fine", Labels: prometheus.Labels(succeededTry), Start: noon, Request: 2 * gib, Limit: 2 * gib, Reason: "Completed", Phase: "Succeeded",
		Memory: []float64{100 * mib, 700 * mib, 900 * mib, 300 * mib}, CPU: []float64{0, 15, 60, 63}},
	{Name: "killed", Labels: prometheus.Labels(killedTry), Start: noon, Request: gib, Limit: 2 * gib, Reason: "OOMKilled", Phase: "Failed", OOMs: 1,
		Memory: []float64{gib, 1900 * mib}, CPU: []float64{1, 10}},
	{Name: "launches-fine", Labels: executorLabels(prometheus.Labels(succeededTry)), Start: noon.Add(30 * time.Second), Memory: []float64{3 * gib, 3 * gib, 3 * gib}},
	{Name: "mine", Labels: prometheus.Labels(shortenedTry), Start: noon, Memory: []float64{gib, gib}, Reason: "Error", Phase: "Failed"},
	{Name: "short", Start: noon, MaxUsage: []float64{300 * mib}, Reason: "Completed"},
	{Name: "cgroup-v2", Start: noon, MaxUsage: []float64{0}, Reason: "Completed"},
	{Name: "a.b", Start: noon, Memory: []float64{gib}},
	{Name: "axb", Start: noon, Memory: []float64{2 * gib}},
	{Name: "restarted", Start: noon, Memory: []float64{gib, gib / 2}, CPU: []float64{90, 30}, Restarts: 1, Reason: "Completed"},
	{Name: "later", Start: noon.Add(time.Hour), Memory: []float64{gib, gib}},
}

const recordedFile = "testdata/answers.json"

func testServers(t *testing.T, test func(*testing.T, *prometheus.Client)) {
	client := func(t *testing.T, url string) *prometheus.Client {
		c, err := prometheus.New(prometheus.Config{URL: url, PerSecond: 1000})
		require.NoError(t, err)
		return c
	}
	t.Run("recorded", func(t *testing.T) { test(t, client(t, prometheustest.Recorded(t, recordedFile))) })
	t.Run("real", func(t *testing.T) {
		real := prometheustest.Start(t, prometheustest.OpenMetrics(pods...))
		test(t, client(t, prometheustest.Recording(t, real, recordedFile)))
	})
}

func TestUsageIsThatOfTheBaseContainer(t *testing.T) {
	testServers(t, func(t *testing.T, c *prometheus.Client) {
		usage := func(p prometheus.Pod) prometheus.Usage {
			u, err := c.Usage(t.Context(), p, noon, noon.Add(2*time.Minute))
			require.NoError(t, err)
			return u
		}
		named := func(name string) prometheus.Usage { return usage(prometheus.Pod{Name: name}) }

		u := usage(prometheus.Pod{Try: succeededTry})
		assert.True(t, u.Found)
		assert.Equal(t, "fine", u.Pod, "the pod must not be the executor pod, which has the same labels")
		assert.Equal(t, 900*sizing.MiB, u.PeakMemory, "the peak must be that of the container base: the sidecar has 7 GB, the whole pod 9 GB")
		assert.Equal(t, prometheus.WorkingSet, u.Source)
		assert.Equal(t, 4, u.Samples)
		assert.Equal(t, 30*time.Second, u.SampleInterval)
		assert.InDelta(t, 1.5, float64(u.PeakCPU), 1e-9, "the largest rate is 45 CPU seconds in 30 s")
		assert.Equal(t, sizing.Resources{Memory: 2 * sizing.GiB, CPU: 0.5}, u.Requested)
		assert.Equal(t, 2*sizing.GiB, u.Limit.Memory)
		assert.Equal(t, sizing.Success, u.Outcome)
		assert.Equal(t, noon, u.StartedAt.UTC())
		assert.Equal(t, noon.Add(90*time.Second), u.EndedAt.UTC())
		assert.Empty(t, u.Missing)
		assert.Equal(t, u, named("fine"), "a lookup by name and one by labels must have the same result")

		u = usage(prometheus.Pod{Try: killedTry})
		assert.Equal(t, sizing.OOMKilled, u.Outcome)
		assert.Equal(t, 1, u.OOMEvents)
		assert.Equal(t, killedPeak, u.PeakMemory)
		assert.Equal(t, "mine", usage(prometheus.Pod{Try: shortenedTry}).Pod, "the pod must be found by its shortened label")
		assert.Equal(t, sizing.Failed, usage(prometheus.Pod{Try: shortenedTry}).Outcome)

		u = named("short")
		assert.Equal(t, 300*sizing.MiB, u.PeakMemory)
		assert.Equal(t, prometheus.MaxUsage, u.Source)
		u = named("cgroup-v2")
		assert.True(t, u.Found)
		assert.Zero(t, u.PeakMemory, "the peak must be unknown, because cgroup v2 exports 0 as the maximum")
		assert.Empty(t, u.Source)
		assert.Contains(t, u.Missing, "ended before the first scrape")

		assert.Equal(t, sizing.GiB, named("a.b").PeakMemory, "the name of a pod must not be read as a pattern")
		u = named("restarted")
		assert.Equal(t, 1, u.Restarts)
		assert.Equal(t, sizing.Cores(1), u.PeakCPU, "the rate after the restart is 30 CPU seconds in 30 s")
		assert.Zero(t, named("later").PeakMemory, "the pod ran one hour after the queried time")

		other := succeededTry
		other.Number = 2
		for _, p := range []prometheus.Pod{{Name: "nobody"}, {Try: other}, {Try: succeededTry, Namespace: "elsewhere"}, {Name: "fine", Container: "main"}} {
			u := usage(p)
			assert.Zero(t, u.PeakMemory)
			assert.NotEmpty(t, u.Missing)
		}
	})
}

func TestLaunchedPodsNamesTheTryOfEachPod(t *testing.T) {
	testServers(t, func(t *testing.T, c *prometheus.Client) {
		listed, err := c.LaunchedPods(t.Context(), prometheus.PodQuery{From: noon.Add(-time.Hour), To: noon.Add(time.Hour), DAG: "pricing", Namespace: "default"})
		require.NoError(t, err)
		named := map[string]prometheus.LaunchedPod{}
		for _, l := range listed {
			named[l.Name] = l
		}
		require.Len(t, named, 3)
		assert.Equal(t, succeededTry, named["fine"].Try)
		assert.Empty(t, named["fine"].Unidentified)
		assert.Equal(t, 4, named["killed"].Try.MapIndex)
		assert.Equal(t, 2, named["killed"].Try.Number)
		assert.Contains(t, named["mine"].Unidentified, "run_id")
		none, err := c.LaunchedPods(t.Context(), prometheus.PodQuery{From: noon.Add(-time.Hour), To: noon.Add(time.Hour), DAG: "other"})
		require.NoError(t, err)
		assert.Empty(t, none)
	})
}

func TestObservationDescribesThePodOfATry(t *testing.T) {
	testServers(t, func(t *testing.T, c *prometheus.Client) {
		o, found, err := c.Observation(t.Context(), killedTry, noon, noon.Add(time.Minute))
		require.NoError(t, err)
		require.True(t, found)
		assert.Equal(t, sizing.Observation{
			Try: killedTry, Outcome: sizing.OOMKilled, MemorySampled: killedPeak, CPUMax: 0.3, Duration: 30 * time.Second,
			StartedAt: o.StartedAt, EndedAt: o.EndedAt,
			Allocated: sizing.Resources{Memory: 2 * sizing.GiB, CPU: 0.5}, Requested: sizing.Resources{Memory: sizing.GiB, CPU: 0.5},
		}, o)
		assert.Empty(t, o.Validate())
		_, found, err = c.Observation(t.Context(), sizing.TryKey{TaskKey: task, RunID: "x", MapIndex: 0, Number: 1}, noon, noon)
		require.NoError(t, err)
		assert.False(t, found)
	})
}

func TestErrorsHaveKindsAndHideSecrets(t *testing.T) {
	for status, want := range map[int]error{
		http.StatusUnauthorized: prometheus.ErrRejected, http.StatusBadRequest: prometheus.ErrRejected,
		http.StatusServiceUnavailable: prometheus.ErrUnavailable, http.StatusBadGateway: prometheus.ErrUnavailable,
	} {
		var authorization string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			authorization = r.Header.Get("Authorization")
			w.WriteHeader(status)
		}))
		defer server.Close()
		c, err := prometheus.New(prometheus.Config{URL: server.URL, Token: "t0ken"})
		require.NoError(t, err)
		_, err = c.Usage(t.Context(), prometheus.Pod{Name: "x"}, noon, noon)
		require.ErrorIs(t, err, want, "%d", status)
		assert.Equal(t, "Bearer t0ken", authorization)
		assert.NotContains(t, err.Error(), "t0ken")
	}
	for _, url := range []string{"", "prometheus:9090", "ftp://host"} {
		_, err := prometheus.New(prometheus.Config{URL: url})
		require.ErrorContains(t, err, "http://host:9090")
	}
	for _, url := range []string{"http://me:s3cret@127.0.0.1:1", "http://me:s3cret@127.0.0.1:1:2", "me:s3cret@127.0.0.1"} {
		c, err := prometheus.New(prometheus.Config{URL: url})
		if err == nil {
			_, err = c.Usage(t.Context(), prometheus.Pod{Name: "x"}, noon, noon)
		}
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "s3cret")
	}
}
