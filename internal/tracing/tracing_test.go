package tracing_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/loadaware/loadaware/internal/tracing"
)

var quiet = slog.New(slog.DiscardHandler)

func TestSpansReachTheCollector(t *testing.T) {
	var got tracepb.TracesData
	var headers http.Header
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/base/v1/traces", r.URL.Path)
		headers = r.Header
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.NoError(t, proto.Unmarshal(body, &got))
	}))
	defer collector.Close()
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
	tracer, stop, err := tracing.Start(t.Context(), tracing.Config{
		Endpoint: collector.URL + "/base/", Headers: "Authorization=Bearer%20s3cret, x-team=a=b", Version: "v1",
	}, quiet)
	require.NoError(t, err)

	ctx, request := tracer.Start(t.Context(), "POST /observe")
	queries := tracing.QueryTracer{Tracer: tracer}
	sent := queries.TraceQueryStart(ctx, nil, pgx.TraceQueryStartData{SQL: "\n\tSELECT 1\n\t FROM task", Args: []any{"secret"}})
	queries.TraceQueryEnd(sent, nil, pgx.TraceQueryEndData{})
	request.End()
	background := queries.TraceQueryStart(t.Context(), nil, pgx.TraceQueryStartData{SQL: "SELECT 2"})
	queries.TraceQueryEnd(background, nil, pgx.TraceQueryEndData{})
	require.NoError(t, stop(t.Context()))

	assert.Equal(t, "Bearer s3cret", headers.Get("Authorization"))
	assert.Equal(t, "a=b", headers.Get("X-Team"))
	assert.Equal(t, "application/x-protobuf", headers.Get("Content-Type"))
	require.Len(t, got.ResourceSpans, 1)
	attributes := map[string]string{}
	for _, kv := range got.ResourceSpans[0].Resource.Attributes {
		attributes[kv.Key] = kv.Value.GetStringValue()
	}
	assert.Equal(t, "loadaware", attributes["service.name"])
	assert.Equal(t, "v1", attributes["service.version"])
	assert.Equal(t, "test", attributes["deployment.environment"])
	spans := got.ResourceSpans[0].ScopeSpans[0].Spans
	require.Len(t, spans, 2, "the request and its statement")
	assert.Equal(t, "SELECT", spans[0].Name)
	assert.Equal(t, "POST /observe", spans[1].Name)
	assert.Equal(t, spans[1].SpanId, spans[0].ParentSpanId)
	assert.Contains(t, spans[0].String(), "SELECT 1 FROM task")
	assert.NotContains(t, spans[0].String(), "secret", "arguments are not recorded")
}

func TestCollectorErrorsAreOnlyLogged(t *testing.T) {
	collector := httptest.NewServer(http.NotFoundHandler())
	defer collector.Close()
	var log bytes.Buffer
	tracer, stop, err := tracing.Start(t.Context(), tracing.Config{Endpoint: collector.URL}, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	_, span := tracer.Start(t.Context(), "GET /readyz")
	span.End()
	require.NoError(t, stop(t.Context()))
	assert.Contains(t, log.String(), "404")
}

func TestStartWithoutEndpointOrWithMalformedSettings(t *testing.T) {
	tracer, stop, err := tracing.Start(t.Context(), tracing.Config{}, quiet)
	require.NoError(t, err)
	assert.Nil(t, tracer)
	assert.NoError(t, stop(t.Context()))
	for _, cfg := range []tracing.Config{
		{Endpoint: "collector:4318"}, {Endpoint: "grpc://collector:4317"}, {Endpoint: "http://"},
		{Endpoint: "http://c:4318", Headers: "Bearer s3cret"}, {Endpoint: "http://c:4318", Headers: "a=%zz"},
	} {
		_, _, err := tracing.Start(t.Context(), cfg, quiet)
		require.Error(t, err, cfg)
		assert.NotContains(t, err.Error(), "s3cret")
	}
}
