package tracing

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Queries makes spans of the statements that a traced request sends to PostgreSQL.
// What the service asks by itself, several times a second, makes none. The text of a
// statement is kept, its arguments are not.
type Queries struct{ Tracer trace.Tracer }

var _ pgx.QueryTracer = Queries{}

// TraceQueryStart implements pgx.QueryTracer.
func (q Queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx
	}
	text := strings.Join(strings.Fields(data.SQL), " ")
	verb, _, _ := strings.Cut(text, " ")
	ctx, _ = q.Tracer.Start(ctx, strings.ToUpper(verb), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("db.system.name", "postgresql"), attribute.String("db.query.text", text)))
	return context.WithValue(ctx, ours{}, true)
}

// ours marks the context of a statement that has a span of its own: at the end of any
// other one, the span of ctx is that of the request.
type ours struct{}

// TraceQueryEnd implements pgx.QueryTracer.
func (q Queries) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if ctx.Value(ours{}) == nil {
		return
	}
	span := trace.SpanFromContext(ctx)
	if data.Err != nil {
		span.SetStatus(codes.Error, "the statement failed") // its error may hold values
	}
	span.End()
}
