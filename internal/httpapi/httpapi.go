// Package httpapi serves the HTTP API: it admits a request, converts it to the types of
// package sizing, calls the service, and converts the result to an answer.
//
//	begin ─▶ authenticate ─▶ route ─▶ admit ─▶ decode ─▶ handler ─▶ service
//	  │        401, 403     404, 405   4xx, 503  4xx         │
//	  └──────────── fail: every error as problem+json ◀──────┘
//
// Between begin and authenticate, servePages answers the paths of the HTML pages, if there are pages.
//
// Rules about allocations belong in package sizing or service. Of the subpackages, auth identifies
// callers, admission sheds load, and codec reads and writes the most frequent JSON.
package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-json-experiment/json"
	"go.opentelemetry.io/otel/trace"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/httpapi/admission"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/insight/savings"
	"github.com/loadaware/loadaware/internal/insight/whatif"
	"github.com/loadaware/loadaware/internal/service"
)

// Config configures the API. The zero Config admits callers to / and the public paths only, and
// otherwise suits production.
type Config struct {
	Auth    auth.Config
	Metrics *Metrics     // the metrics that NewAdmin serves; if nil, metrics are collected and not served
	Log     *slog.Logger // slog.Default() if nil
	Tracer  trace.Tracer // no tracing if nil
	Limits  admission.Limits
	Prices  savings.Prices // of GET /savings and GET /report; no money is stated if zero
	Version string         // of this build, for GET /readyz; "unknown" if empty
	Pages   Pages          // no pages if nil
	WhatIfs *whatif.Jobs   // jobs that the pages share; New creates them if nil
}

// Pages serves the HTML pages for people. It identifies its callers itself.
type Pages interface {
	http.Handler
	// Handles reports whether ServeHTTP serves a path.
	Handles(path string) bool
	// Home returns the path to which the server redirects a browser from /.
	Home() string
}

// server implements the operations of openapi.yaml.
type server struct {
	svc      *service.Service
	auth     auth.Config
	metrics  *Metrics
	log      *slog.Logger
	tracer   trace.Tracer
	routes   map[string]route
	whatIfs  *whatif.Jobs
	shedder  *admission.LoadShedder
	buffers  admission.BodyBuffers
	strict   json.Options // of the strict decoder
	prices   savings.Prices
	version  string
	pages    Pages
	pageGate *admission.Gate
}

// New returns the handler of the API. The caller sets the read and write timeouts of its
// http.Server.
func New(svc *service.Service, cfg Config) http.Handler {
	s := &server{
		svc: svc, whatIfs: whatif.NewJobs(svc), auth: cfg.Auth, metrics: cfg.Metrics, log: cfg.Log, tracer: cfg.Tracer,
		routes: newRoutes(cfg.Limits), shedder: admission.NewLoadShedder(), buffers: admission.NewBodyBuffers(),
		strict: api.Strict(), prices: cfg.Prices, version: cmp.Or(cfg.Version, "unknown"), pages: cfg.Pages, pageGate: admission.NewGate(maxPages, nil),
	}
	if cfg.WhatIfs != nil {
		s.whatIfs = cfg.WhatIfs
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	if s.metrics == nil {
		s.metrics = NewMetrics()
	}
	s.metrics.register(s)
	mux := chi.NewRouter()
	mux.Use(s.begin, s.servePages, s.authenticate, middleware.GetHead)
	mux.NotFound(s.unrouted)
	mux.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) { s.fail(w, r, methodError(w, r, mux)) })
	// The middleware of With runs after routing and before the parameters are parsed.
	api.HandlerWithOptions(api.NewStrictHandler(s, s.decode, s.fail), api.ChiServerOptions{
		BaseRouter:       mux.With(s.admit),
		ErrorHandlerFunc: s.fail,
	})
	return mux
}

func (s *server) unrouted(w http.ResponseWriter, r *http.Request) {
	if isRoot(r) {
		s.root(w, r)
		return
	}
	s.fail(w, r, pathError(r))
}

// Health reports that the process is alive.
func (s *server) Health(context.Context, api.HealthRequestObject) (api.HealthResponseObject, error) {
	return api.Health200JSONResponse{Status: api.HealthStatusOk}, nil
}

// Ready reports whether the server can answer predictions.
func (s *server) Ready(context.Context, api.ReadyRequestObject) (api.ReadyResponseObject, error) {
	r := s.svc.Readiness()
	answer := api.Readiness{Status: api.ReadinessStatusStarting, Observe: api.ReadinessObserve(r.Observe), Models: r.Models, Version: &s.version}
	if !r.Ready {
		return api.Ready503JSONResponse(answer), nil
	}
	stale := r.Stale.Seconds()
	answer.Status, answer.StaleSeconds = api.ReadinessStatusReady, &stale
	return api.Ready200JSONResponse(answer), nil
}
