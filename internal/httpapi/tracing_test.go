package httpapi_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/tracing"
)

const requestBody = `{"dag_id": "pricing", "task_id": "load", "run_id": "r1", "requested": {"memory": "4Gi"}, "features": {"customer": "s3cret"}}`

// newWithoutStore creates a handler that answers from memory, without database and background work.
func newWithoutStore(cfg httpapi.Config) http.Handler {
	cfg.Auth = auth.Config{Disabled: true}
	return httpapi.New(service.New(nil, nil, service.Config{}, slog.New(slog.DiscardHandler)), cfg)
}

func predict(handler http.Handler, options ...option) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/predict", strings.NewReader(requestBody))
	r.Header.Set("Content-Type", "application/json")
	for _, change := range options {
		change(r)
	}
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, r)
	return rec
}

func TestTraceAndLogContainTheRequestIDs(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	tracer := sdk.NewTracerProvider(sdk.WithSyncer(spans)).Tracer("test")
	var log strings.Builder
	handler := newWithoutStore(httpapi.Config{Tracer: tracer, Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})

	const caller = "4bf92f3577b34da6a3ce929d0e0e4736"
	rec := predict(handler, header("traceparent", "00-"+caller+"-00f067aa0ba902b7-01"), header("X-Request-Id", "airflow-7"))
	require.Equal(t, http.StatusOK, rec.Code, rec.Body)
	answer := answer{t, rec.Code, rec.Header(), rec.Body.Bytes()}.json()

	require.Len(t, spans.GetSpans(), 1)
	span := spans.GetSpans()[0]
	assert.Equal(t, "POST /predict", span.Name)
	assert.Equal(t, caller, span.SpanContext.TraceID().String(), "the span is a child of the caller's span")
	attributes := map[string]string{}
	for _, a := range span.Attributes {
		attributes[string(a.Key)] = a.Value.String()
	}
	assert.Equal(t, map[string]string{
		"http.route": "POST /predict", "http.response.status_code": "200",
		"loadaware.request_id": "airflow-7", "loadaware.prediction_id": answer["prediction_id"].(string),
	}, attributes)
	for _, want := range []string{`"request_id":"airflow-7"`, `"trace_id":"` + caller + `"`, `"prediction_id":"` + answer["prediction_id"].(string) + `"`} {
		assert.Contains(t, log.String(), want)
	}
	assert.NotContains(t, log.String(), "s3cret")
}

// BenchmarkTracing compares the cheapest prediction with and without tracing of every request.
// The collector discards the traces.
func BenchmarkTracing(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer collector.Close()
	tracer, stop, err := tracing.Start(b.Context(), tracing.Config{Endpoint: collector.URL}, slog.New(slog.DiscardHandler))
	require.NoError(b, err)
	defer func() { _ = stop(b.Context()) }()
	took := map[trace.Tracer]time.Duration{}
	handlers := map[trace.Tracer]http.Handler{nil: newWithoutStore(httpapi.Config{}), tracer: newWithoutStore(httpapi.Config{Tracer: tracer})}
	for b.Loop() {
		for _, t := range []trace.Tracer{nil, tracer} {
			started := time.Now()
			for range 50 {
				predict(handlers[t])
			}
			took[t] += time.Since(started)
		}
	}
	b.ReportMetric(float64(took[tracer])/float64(took[nil]), "on/off")
	b.ReportMetric(float64(took[nil])/float64(b.N)/50, "ns-off/request")
	b.ReportMetric(float64(took[tracer])/float64(b.N)/50, "ns-on/request")
}
