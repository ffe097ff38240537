package tracing

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// QueryTracer creates spans for the SQL statements of traced requests, not for those of background work, which are several
// per second. A span has the text of the statement, but not its arguments.
type QueryTracer struct{ Tracer trace.Tracer }

var _ pgx.QueryTracer = QueryTracer{}

// TraceQueryStart implements pgx.QueryTracer.
func (q QueryTracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx
	}
	text := strings.Join(strings.Fields(data.SQL), " ")
	keyword, _, _ := strings.Cut(text, " ")
	ctx, _ = q.Tracer.Start(ctx, strings.ToUpper(keyword), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("db.system.name", "postgresql"), attribute.String("db.query.text", text)))
	return context.WithValue(ctx, spanKey{}, true)
}

// spanKey marks the context of a statement with its own span. In any other context the span belongs
// to the request, and TraceQueryEnd must not end it.
type spanKey struct{}

// TraceQueryEnd implements pgx.QueryTracer.
func (q QueryTracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if ctx.Value(spanKey{}) == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	if data.Err != nil {
		span.SetStatus(codes.Error, "statement failed") // without the error, which may contain values
	}
	span.End()
}
