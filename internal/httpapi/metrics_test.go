package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trainer"
)

// watched are the metrics of a service that nobody has asked anything yet.
func watched(t testing.TB) *Metrics {
	t.Helper()
	m := NewMetrics()
	m.Build("v1")
	New(service.New(nil, nil, service.Config{}, slog.New(slog.DiscardHandler)), Config{Metrics: m})
	return m
}

func TestMetricsFollowTheConventionsOfPrometheus(t *testing.T) {
	m := watched(t)
	families, err := m.registry.Gather()
	require.NoError(t, err)
	assert.Greater(t, len(families), 50)
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)

	m.registry.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "loadaware_queueLatency_ms"}))
	families, err = m.registry.Gather()
	require.NoError(t, err)
	problems, err = promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	assert.NotEmpty(t, problems, "the check finds what it should")
}

// TestEveryAnswerOfTheContractHasItsCounter: one that had none would break the answer.
func TestEveryAnswerOfTheContractHasItsCounter(t *testing.T) {
	spec, err := openapi3.NewLoader().LoadFromData(loadaware.OpenAPI)
	require.NoError(t, err)
	enum := func(name string) []any {
		schema := spec.Components.Schemas[name]
		require.NotNil(t, schema, name)
		require.NotEmpty(t, schema.Value.Enum, name)
		return schema.Value.Enum
	}
	verdicts := spec.Components.Schemas["Lift"].Value.Properties["verdict"].Value.Enum
	require.NotEmpty(t, verdicts)
	m := NewMetrics()
	for _, source := range enum("Source") {
		for _, mode := range enum("Mode") {
			m.answered(&sizing.Allocation{Source: sizing.Source(source.(string)), Mode: sizing.Mode(mode.(string))})
		}
	}
	for _, verdict := range verdicts {
		m.lifted(&sizing.Lift{Verdict: sizing.Verdict(verdict.(string))})
	}
	assert.Len(t, m.answers, len(enum("Source"))*len(enum("Mode")))
	assert.Len(t, m.lifts, len(verdicts))
	assert.Equal(t, len(m.answers), strings.Count(exposition(t, m), "loadaware_answers_total{"))
}

func TestTrainingsAreCountedByWhatCameOfThem(t *testing.T) {
	m := NewMetrics()
	for _, e := range []trainer.Ended{
		{Report: trainer.Report{Trained: true, Published: true}, Took: 2 * time.Second},
		{Report: trainer.Report{Trained: true}},
		{Report: trainer.Report{RolledBack: true}},
		{Err: errors.New("the disk is gone"), Report: trainer.Report{Published: true}},
		{Search: true, Report: trainer.Report{Published: true}},
	} {
		m.Trained(e)
	}
	metrics := exposition(t, m)
	for _, line := range []string{
		`loadaware_training_duration_seconds_count{kind="training",result="published"} 1`,
		`loadaware_training_duration_seconds_sum{kind="training",result="published"} 2`,
		`loadaware_training_duration_seconds_count{kind="training",result="kept"} 1`,
		`loadaware_training_duration_seconds_count{kind="training",result="rolled_back"} 1`,
		`loadaware_training_duration_seconds_count{kind="training",result="failed"} 1`,
		`loadaware_training_duration_seconds_count{kind="search",result="published"} 1`,
		`loadaware_training_duration_seconds_count{kind="search",result="failed"} 0`,
	} {
		assert.Contains(t, metrics, line+"\n")
	}
}

// exposition is what /metrics says.
func exposition(t *testing.T, m *Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	Admin(m, Auth{Off: true}).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, rec.Code)
	return rec.Body.String()
}

func TestCountingAnAnswerTakesNoMemory(t *testing.T) {
	m := watched(t)
	a := &sizing.Allocation{Source: sizing.FromModel, Mode: sizing.Enforce}
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		m.answered(a)
		m.request("POST /predict", http.StatusOK, time.Millisecond)
	}))
}

// BenchmarkCountAnAnswer is what metrics cost a prediction.
func BenchmarkCountAnAnswer(b *testing.B) {
	m := watched(b)
	a := &sizing.Allocation{Source: sizing.FromModel, Mode: sizing.Enforce}
	b.ReportAllocs()
	for b.Loop() {
		m.answered(a)
		m.request("POST /predict", http.StatusOK, time.Millisecond)
	}
}

func TestPassesAreCountedByHowTheyEnded(t *testing.T) {
	m := NewMetrics()
	ended := m.Passes()
	for _, err := range []error{nil, errors.New("the database is away"), nil} {
		ended(err)
	}
	rec := httptest.NewRecorder()
	Admin(m, Auth{Off: true}).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	assert.Contains(t, rec.Body.String(), `loadaware_retention_passes_total{result="done"} 2`)
	assert.Contains(t, rec.Body.String(), `loadaware_retention_passes_total{result="failed"} 1`)
}
