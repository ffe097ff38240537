package httpapi

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traced begins the span of a request, below that of its caller if it names one (W3C
// Trace Context). Without a tracer it costs a comparison.
func (s *server) traced(r *http.Request, c *call) context.Context {
	if s.tracer == nil {
		return r.Context()
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, c.span = s.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	return ctx
}

// endSpan names the span by its route: a path holds ids, and would make as many names.
// Features and tokens are not in it.
func (s *server) endSpan(c *call, status int) {
	if c.span == nil {
		return
	}
	if c.span.IsRecording() {
		if c.route != "" {
			c.span.SetName(c.route)
		}
		c.span.SetAttributes(attribute.String("http.route", c.route), attribute.Int("http.response.status_code", status),
			attribute.String("loadaware.request_id", c.id), attribute.String("loadaware.prediction_id", c.prediction))
		if status >= http.StatusInternalServerError {
			c.span.SetStatus(codes.Error, "")
		}
	}
	c.span.End()
}
