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
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
)

// requestInfo is the state of a request that the middleware shares with the handlers.
type requestInfo struct {
	id           string
	grants       auth.Grants
	route        string // key of the route table, or pagesRoute; empty before routing
	query        string
	predictionID string     // prediction id of the answer; empty if the answer has none or several
	span         trace.Span // nil without tracing
}

type requestInfoKey struct{}

// infoOf returns the requestInfo that begin stored in ctx.
func infoOf(ctx context.Context) *requestInfo {
	return ctx.Value(requestInfoKey{}).(*requestInfo)
}

// validRequestID matches the request ids that the server accepts from callers. It is strict, because
// the server copies them to logs and headers.
var validRequestID = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]{1,64}$`)

// begin prepares every request: it gives the request an id, sets the headers that all answers have, starts the span, and
// stores the requestInfo. After the answer it calls end.
func (s *server) begin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		info := &requestInfo{id: r.Header.Get("X-Request-Id"), query: r.URL.RawQuery}
		if !validRequestID.MatchString(info.id) {
			info.id = rand.Text()
		}
		closeIfAmbiguous(w, r)
		h := w.Header()
		h.Set("X-Request-Id", info.id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", docsPolicy)
		h.Set("Referrer-Policy", "no-referrer")
		recorder := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		r = r.WithContext(context.WithValue(s.startSpan(r, info), requestInfoKey{}, info))
		defer s.end(recorder, r, info, started)
		next.ServeHTTP(recorder, r)
	})
}

// end counts and logs a request. After a panic it first answers 500, unless the answer has begun. It passes
// the panic http.ErrAbortHandler on, and then neither counts nor logs.
func (s *server) end(w middleware.WrapResponseWriter, r *http.Request, info *requestInfo, started time.Time) {
	if p := recover(); p != nil {
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p) // net/http aborts the answer and logs nothing
		}
		s.log.ErrorContext(r.Context(), "handler panicked", "request_id", info.id, "panic", p, "stack", string(debug.Stack()))
		if w.Status() == 0 {
			s.fail(w, r, internalError)
		}
	}
	took := time.Since(started)
	s.metrics.countRequest(info.route, w.Status(), took)
	endSpan(info, w.Status())
	level := slog.LevelDebug
	if w.Status() >= http.StatusInternalServerError {
		level = slog.LevelWarn
	}
	if !s.log.Enabled(r.Context(), level) {
		return
	}
	attrs := []slog.Attr{slog.String("request_id", info.id), slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.Int("status", w.Status()), slog.Int("bytes", w.BytesWritten()), slog.Duration("took", took)}
	if info.predictionID != "" {
		attrs = append(attrs, slog.String("prediction_id", info.predictionID))
	}
	if info.span != nil {
		attrs = append(attrs, slog.String("trace_id", info.span.SpanContext().TraceID().String()))
	}
	s.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// closeIfAmbiguous closes the connection after the answer to r if a proxy may see the end of r at
// another byte than the server does (request smuggling, RFC 9112 section 11.2).
//
// Section 6.1 requires this for a request with Transfer-Encoding and Content-Length, and for an HTTP/1.0
// request with Transfer-Encoding. net/http accepts both and deletes the headers
// before a handler can see them, so closeIfAmbiguous closes the connection after every chunked
// and every HTTP/1.0 request. The server does not answer the bytes that follow.
func closeIfAmbiguous(w http.ResponseWriter, r *http.Request) {
	if len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) {
		w.Header().Set("Connection", "close")
	}
}

// startSpan starts the span of a request, as a child of the caller's span if the request
// names one (W3C Trace Context).
func (s *server) startSpan(r *http.Request, info *requestInfo) context.Context {
	if s.tracer == nil {
		return r.Context()
	}
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, info.span = s.tracer.Start(ctx, r.Method, trace.WithSpanKind(trace.SpanKindServer))
	return ctx
}

// endSpan ends the span and names it after its route, because paths contain ids. The span
// contains no features and no tokens.
func endSpan(info *requestInfo, status int) {
	if info.span == nil {
		return
	}
	if info.span.IsRecording() {
		if info.route != "" {
			info.span.SetName(info.route)
		}
		info.span.SetAttributes(attribute.String("http.route", info.route), attribute.Int("http.response.status_code", status),
			attribute.String("loadaware.request_id", info.id), attribute.String("loadaware.prediction_id", info.predictionID))
		if status >= http.StatusInternalServerError {
			info.span.SetStatus(codes.Error, "")
		}
	}
	info.span.End()
}

// authenticate identifies the caller. It answers 401 to an unknown caller, and 403 if
// auth.Config.OriginProblem rejects the request. Public paths and / need neither check.
func (s *server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info := infoOf(r.Context())
		info.grants = s.auth.Identify(r)
		if rule := s.routeOfGET(r.URL.Path); !rule.public && !isRoot(r) {
			if len(info.grants) == 0 {
				w.Header().Set("WWW-Authenticate", auth.Challenge)
				s.fail(w, r, unknownCaller)
				return
			}
			if reason := s.auth.OriginProblem(r, rule.hasSideEffect); reason != "" {
				s.fail(w, r, &failure{class: forbidden, detail: reason})
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

var unknownCaller = &failure{class: unauthenticated, detail: "the token is missing or unknown; send Authorization: Bearer <token>"}
