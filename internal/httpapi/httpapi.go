// Package httpapi is the HTTP edge: it admits a request, translates it into the
// words of sizing, calls the service, and translates the answer back.
//
//	begin ─▶ authenticate ─▶ route ─▶ admit ─▶ decode ─▶ handler ─▶ service
//	  │          401        404, 405   403, 503  4xx         │
//	  └──────────────── fail: problem+json, one table ◀──────┘
//
// It knows openapi.yaml, status codes, tokens and limits, and nothing of SQL or
// learning. A rule about allocations found here has lost its way.
package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-json-experiment/json"
	"go.opentelemetry.io/otel/trace"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/service"
)

// Config says who may ask, and how much at once. The zero Config admits nobody
// and is otherwise fit for production.
type Config struct {
	Auth    Auth
	Metrics *Metrics     // what Admin serves; counted for nobody if nil
	Log     *slog.Logger // slog.Default() if nil
	Tracer  trace.Tracer // nothing is traced if nil
	Limits  Limits
}

// server is the handlers and what they share.
type server struct {
	svc     *service.Service
	auth    Auth
	metrics *Metrics
	log     *slog.Logger
	tracer  trace.Tracer
	routes  map[string]route
	press   *pressure
	bodies  shelves
	strict  json.Options // how bodies are read
	docs    page
}

// New serves the API of openapi.yaml. Server timeouts for reading and writing are
// the caller's to set.
func New(svc *service.Service, cfg Config) http.Handler {
	s := &server{
		svc: svc, auth: cfg.Auth, metrics: cfg.Metrics, log: cfg.Log, tracer: cfg.Tracer,
		routes: newRoutes(cfg.Limits), press: newPressure(), bodies: newShelves(), strict: api.Strict(), docs: newPage(),
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.metrics == nil {
		s.metrics = NewMetrics()
	}
	s.metrics.watch(s)
	mux := chi.NewRouter()
	mux.Use(s.begin, s.authenticate, middleware.GetHead)
	mux.NotFound(s.unrouted)
	mux.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, wrongMethod(w, r, mux)) })
	// What With holds runs when the route is known and before its parameters are read.
	api.HandlerWithOptions(api.NewStrictHandler(s, s.decode, s.fail), api.ChiServerOptions{
		BaseRouter:       mux.With(s.admit),
		ErrorHandlerFunc: s.fail,
	})
	return mux
}

// unrouted answers what the contract has no path for: / leads on, all else gets a 404
// problem.
func (s *server) unrouted(w http.ResponseWriter, r *http.Request) {
	if isRoot(r) {
		s.root(w, r)
		return
	}
	s.fail(w, r, unknownPath(r))
}
