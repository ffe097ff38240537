package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// The logs are in JSON, and the collector needs a token.
func TestShutdownSendsTraces(t *testing.T) {
	var mu sync.Mutex
	spans := map[string]*tracepb.Span{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		var data tracepb.TracesData
		assert.NoError(t, proto.Unmarshal(body, &data))
		assert.Equal(t, "Bearer c0llector", r.Header.Get("Authorization"))
		mu.Lock()
		defer mu.Unlock()
		for _, resource := range data.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					spans[span.Name] = span
				}
			}
		}
	}))
	defer collector.Close()
	server := startServer(t, append(database(t), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL,
		"OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20c0llector", "LOADAWARE_LOG_FORMAT=json", "LOADAWARE_LOG_LEVEL=debug"))
	server.post("/observe", report("traced", 0), nil)
	assert.Equal(t, 1, server.observations("crash", "traced"))
	server.signal(syscall.SIGTERM)
	require.NoError(t, server.wait())

	mu.Lock()
	defer mu.Unlock()
	require.Contains(t, spans, "POST /observe")
	read := spans["GET /tasks/{dag_id}/{task_id}"]
	require.NotNil(t, read)
	require.Contains(t, spans, "SELECT")
	assert.Equal(t, read.TraceId, spans["SELECT"].TraceId, "the span of the statement belongs to the request")
	log := server.output.String()
	assert.Contains(t, log, `"trace_id":"`)
	assert.Contains(t, log, `"msg":"stopping"`)
	assert.Empty(t, leaks(log, "c0llector"))
	assert.False(t, strings.Contains(log, "level=INFO"), "the whole log is JSON")
}
