package importer

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/prometheus"
	"github.com/loadaware/loadaware/internal/source/prometheus/prometheustest"
)

var noon = time.Date(2026, 1, 3, 12, 0, 0, 0, time.UTC)

// podOf returns a pod with a peak of 1 GiB that runs for a minute.
func podOf(namespace, name, run string, start time.Time) prometheustest.Pod {
	try := sizing.TryKey{TaskKey: sizing.TaskKey{DAG: "etl", Task: "load"}, RunID: run, MapIndex: sizing.NoMap, Number: 1}
	return prometheustest.Pod{Namespace: namespace, Name: name, Labels: prometheus.Labels(try), Start: start,
		Memory: []float64{1 << 29, 1 << 30, 1 << 30}, Reason: "Completed", Phase: "Succeeded"}
}

func clientOf(t *testing.T, pods ...prometheustest.Pod) *prometheus.Client {
	c, err := prometheus.New(prometheus.Config{URL: prometheustest.Fake(t, pods...), PerSecond: 1000})
	require.NoError(t, err)
	return c
}

type recorder struct {
	Target
	runs []string
}

func (r *recorder) Record(_ context.Context, observations []sizing.Observation) ([]sizing.RecordResult, error) {
	for i := range observations {
		r.runs = append(r.runs, observations[i].Try.RunID)
	}
	return make([]sizing.RecordResult, len(observations)), nil
}

// The names of pods are random. The server takes the first request as the baseline of the savings.
func TestPodsAreSentInTheOrderOfTime(t *testing.T) {
	c := clientOf(t, podOf("af", "z", "run-1", noon.Add(time.Hour)), podOf("af", "c", "run-2", noon.Add(2*time.Hour)), podOf("af", "y", "run-3", noon.Add(10*time.Hour)),
		podOf("af", "a", "run-4", noon.Add(11*time.Hour)), podOf("af", "b", "run-5", noon.Add(30*time.Hour)))
	tries, target := NewTries(Console{Out: io.Discard, Err: io.Discard}, 2), &recorder{}
	tries.Target = target
	require.NoError(t, tries.Prometheus(t.Context(), c, prometheus.PodQuery{From: noon, To: noon.Add(48 * time.Hour), Namespace: "prod"}))
	assert.Equal(t, []string{"run-1", "run-2", "run-3", "run-4", "run-5"}, target.runs)
}

func TestPodsOfSeveralDeploymentsAreNotImported(t *testing.T) {
	c := clientOf(t, podOf("af-prod", "a", "run-1", noon), podOf("af-staging", "b", "run-1", noon), podOf("af-prod", "c", "run-2", noon))
	var out bytes.Buffer
	tries := NewTries(Console{Out: &out, Err: io.Discard}, 10)
	require.NoError(t, tries.Prometheus(t.Context(), c, prometheus.PodQuery{From: noon.Add(-time.Hour), To: noon.Add(time.Hour), Namespace: "prod"}))
	assert.Contains(t, out.String(), "1 try read: 1 can be imported")
	assert.Contains(t, out.String(), "2 × several Kubernetes namespaces have a pod with the labels of the try; set LOADAWARE_PROMETHEUS_NAMESPACE")
	assert.Contains(t, out.String(), "af-prod/a, af-staging/b")

	u := usage{prometheus: c}
	o := sizing.Observation{Outcome: sizing.Success, StartedAt: noon, EndedAt: noon.Add(time.Minute),
		Try: sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "prod", DAG: "etl", Task: "load"}, RunID: "run-1", MapIndex: sizing.NoMap, Number: 1}}
	missing, err := u.join(t.Context(), &o)
	require.NoError(t, err)
	assert.Contains(t, missing, "set LOADAWARE_PROMETHEUS_NAMESPACE")
	assert.Zero(t, o.MemorySampled)
}
