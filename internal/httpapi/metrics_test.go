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
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trainer"
)

func newIdleMetrics(t testing.TB) *Metrics {
	t.Helper()
	m := NewMetrics()
	m.SetBuildInfo("v1")
	New(service.New(nil, nil, service.Config{}, slog.New(slog.DiscardHandler)), Config{Metrics: m})
	return m
}

func TestMetricsFollowPrometheusConventions(t *testing.T) {
	m := newIdleMetrics(t)
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
	assert.NotEmpty(t, problems, "the linter finds an invalid name")
}

// A source, mode or verdict without a counter would cause a panic.
func TestEverySourceModeAndVerdictHasACounter(t *testing.T) {
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
			m.countAnswer(&sizing.Allocation{Source: sizing.Source(source.(string)), Mode: sizing.Mode(mode.(string))})
		}
	}
	for _, verdict := range verdicts {
		m.countLift(&sizing.Lift{Verdict: sizing.Verdict(verdict.(string))})
	}
	assert.Len(t, m.answers, len(enum("Source"))*len(enum("Mode")))
	assert.Len(t, m.lifts, len(verdicts))
	assert.Equal(t, len(m.answers), strings.Count(scrapeMetrics(t, m), "loadaware_answers_total{"))
}

func TestTrainingsAreCountedByResult(t *testing.T) {
	m := NewMetrics()
	for _, e := range []trainer.JobEnd{
		{Report: trainer.Report{Trained: true, Published: true}, Took: 2 * time.Second},
		{Report: trainer.Report{Trained: true}},
		{Report: trainer.Report{RolledBack: true}},
		{Err: errors.New("disk failed"), Report: trainer.Report{Published: true}},
		{Search: true, Report: trainer.Report{Published: true}},
	} {
		m.CountTraining(e)
	}
	metrics := scrapeMetrics(t, m)
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

func scrapeMetrics(t *testing.T, m *Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	NewAdmin(m, auth.Config{Disabled: true}).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, rec.Code)
	return rec.Body.String()
}

func TestCountingAPredictionDoesNotAllocate(t *testing.T) {
	m := newIdleMetrics(t)
	a := &sizing.Allocation{Source: sizing.FromModel, Mode: sizing.Enforce}
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		m.countAnswer(a)
		m.countRequest("POST /predict", http.StatusOK, time.Millisecond)
	}))
}

func BenchmarkCountPrediction(b *testing.B) {
	m := newIdleMetrics(b)
	a := &sizing.Allocation{Source: sizing.FromModel, Mode: sizing.Enforce}
	b.ReportAllocs()
	for b.Loop() {
		m.countAnswer(a)
		m.countRequest("POST /predict", http.StatusOK, time.Millisecond)
	}
}

func TestRetentionPassesAreCountedByResult(t *testing.T) {
	m := NewMetrics()
	count := m.AddRetentionPassCounter()
	for _, err := range []error{nil, errors.New("database unreachable"), nil} {
		count(err)
	}
	rec := httptest.NewRecorder()
	NewAdmin(m, auth.Config{Disabled: true}).ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	assert.Contains(t, rec.Body.String(), `loadaware_retention_passes_total{result="done"} 2`)
	assert.Contains(t, rec.Body.String(), `loadaware_retention_passes_total{result="failed"} 1`)
}
