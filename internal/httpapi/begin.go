package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"go.opentelemetry.io/otel/trace"
)

// call is what is known of a request on its way through the edge.
type call struct {
	id    string
	held  []*Token // the grants of its bearer
	route string   // its line of the table of routes; empty until routed
	query string   // the raw query

	prediction string     // the id of its one answer; empty where it has none, or several
	span       trace.Span // nil where nothing is traced
}

type callKey struct{}

// callOf finds the call that begin put into ctx.
func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// saneID is what is taken for a request id; it ends up in logs and headers.
var saneID = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]{1,64}$`)

// begin gives every request an id, safe headers, a line in the log and in the
// metrics, and survives panics.
func (s *server) begin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		c := &call{id: r.Header.Get("X-Request-Id"), query: r.URL.RawQuery}
		if !saneID.MatchString(c.id) {
			c.id = rand.Text()
		}
		closeIfAmbiguous(w, r)
		h := w.Header()
		h.Set("X-Request-Id", c.id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", s.docs.policy)
		h.Set("Referrer-Policy", "no-referrer")
		seen := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		r = r.WithContext(context.WithValue(s.traced(r, c), callKey{}, c))
		defer s.end(seen, r, c, started)
		next.ServeHTTP(seen, r)
	})
}

// end answers a panic, then counts and logs.
func (s *server) end(w middleware.WrapResponseWriter, r *http.Request, c *call, started time.Time) {
	if p := recover(); p != nil {
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p) // the way to break off an answer; net/http logs nothing of it
		}
		s.log.ErrorContext(r.Context(), "a handler panicked", "request_id", c.id, "panic", p, "stack", string(debug.Stack()))
		if w.Status() == 0 {
			s.fail(w, r, vague)
		}
	}
	took := time.Since(started)
	s.metrics.request(c.route, w.Status(), took)
	s.endSpan(c, w.Status())
	level := slog.LevelDebug
	if w.Status() >= http.StatusInternalServerError {
		level = slog.LevelWarn
	}
	if !s.log.Enabled(r.Context(), level) {
		return
	}
	line := []slog.Attr{slog.String("request_id", c.id), slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.Int("status", w.Status()), slog.Int("bytes", w.BytesWritten()), slog.Duration("took", took)}
	if c.prediction != "" {
		line = append(line, slog.String("prediction_id", c.prediction))
	}
	if c.span != nil {
		line = append(line, slog.String("trace_id", c.span.SpanContext().TraceID().String()))
	}
	s.log.LogAttrs(r.Context(), level, "request", line...)
}
