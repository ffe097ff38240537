package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/prometheus"
	"github.com/loadaware/loadaware/internal/source/prometheus/prometheustest"
)

// podsOf returns the scraped pods of runs 0, 1 and 2: the first try of run 0 was OOM-killed,
// and run 2 has no memory samples.
func podsOf(airflow *fakeAirflow) []prometheustest.Pod {
	gib := float64(sizing.GiB)
	labels := func(run string, number int) map[string]string {
		return prometheus.Labels(sizing.TryKey{
			TaskKey: sizing.TaskKey{Namespace: "default", DAG: "etl", Task: "load"}, RunID: run, MapIndex: sizing.NoMap, Number: number,
		})
	}
	return []prometheustest.Pod{
		{Name: "killed", Labels: labels("0", 1), Start: airflow.startedAt(0), Limit: 2 * gib, Reason: "OOMKilled", Phase: "Failed", OOMs: 1, Memory: []float64{gib, 1.5 * gib}},
		{Name: "lifted", Labels: labels("0", 2), Start: airflow.startedAt(0), Limit: 4 * gib, Reason: "Completed", Phase: "Succeeded", Memory: []float64{gib, 3 * gib}},
		{Name: "fine", Labels: labels("1", 1), Start: airflow.startedAt(1), Limit: 4 * gib, Reason: "Completed", Phase: "Succeeded", Memory: []float64{gib, 2 * gib}},
		{Name: "unsampled", Labels: labels("2", 1), Start: airflow.startedAt(2), Limit: 4 * gib, Reason: "Completed", Phase: "Succeeded"},
	}
}

func TestPeaksOfPrometheusAreJoinedByPodLabels(t *testing.T) {
	const recorded = "testdata/airflow-prometheus.json"
	check := func(t *testing.T, metrics string, airflow *fakeAirflow) {
		server := startServer(t, database(t))
		code, out, stderr := invoke(t, "", "import", "airflow", "--url", airflow.url, "--user", "u", "--into", server.url, "--prometheus", metrics)
		require.Equal(t, 0, code, out+stderr)
		assert.Contains(t, out, "5 tries read: 5 new")
		assert.Contains(t, out, "4 runs; a peak was joined to 3 tries\n")
		assert.Contains(t, out, "1 × without usage: Prometheus has no sample of its pod")
		assert.Contains(t, out, "1 × without a peak: Prometheus knows its pod, and has no sample of its memory: etl/load run 2 try 1\n")
		code, out, stderr = invoke(t, `{"dag_id":"etl","task_id":"load","run_id":"0","outcome":"oom_killed","memory_sampled_bytes":1610612736,"allocated":{"memory":"2Gi"},"features":{"rows":100}}
{"dag_id":"etl","task_id":"load","run_id":"0","try_number":2,"outcome":"success","memory_sampled_bytes":3221225472,"allocated":{"memory":"4Gi"}}
{"dag_id":"etl","task_id":"load","run_id":"1","outcome":"success","memory_sampled_bytes":2147483648,"features":{"rows":101}}
`, "import", "--url", server.url, "-")
		assert.Equal(t, 0, code, stderr)
		assert.Contains(t, out, "3 rows read: 0 new, 3 already there", "Prometheus turns the failure into an OOM kill")
	}
	t.Run("recorded", func(t *testing.T) {
		check(t, prometheustest.Recorded(t, recorded), startFakeAirflow(t, 4))
	})
	t.Run("real", func(t *testing.T) {
		airflow := startFakeAirflow(t, 4)
		real := prometheustest.Start(t, prometheustest.OpenMetrics(podsOf(airflow)...))
		check(t, prometheustest.Recording(t, real, recorded), airflow)
	})
}
