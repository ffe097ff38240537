package httpapi

import (
	"net/http"
	"net/http/pprof"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Metrics counts what passes the edge, in a registry of its own.
type Metrics struct {
	registry     *prometheus.Registry
	requests     *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
	answers      *prometheus.CounterVec
	observations *prometheus.CounterVec
	lifts        *prometheus.CounterVec
	refused      *prometheus.CounterVec
}

// NewMetrics makes counters at zero.
func NewMetrics() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "loadaware", Name: name, Help: help}, labels)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: counter("http_requests_total", "Requests by route and status.", "route", "status"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "loadaware", Name: "http_request_seconds", Help: "Time to answer, by route.",
			// 100 µs to 100 s: a prediction is at the low end, a training at the high one.
			Buckets: prometheus.ExponentialBucketsRange(1e-4, 100, 19),
		}, []string{"route"}),
		answers:      counter("answers_total", "Answers to /predict by source and mode.", "source", "mode"),
		observations: counter("observations_total", "Reports by outcome and what became of them.", "outcome", "result"),
		lifts:        counter("lifts_total", "Answers to /retry-lift by verdict.", "verdict"),
		refused:      counter("http_refused_total", "Requests told to come again, because too many were being answered, by route.", "route"),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.answers, m.observations, m.lifts, m.refused,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// watch adds what is read of the service whenever somebody looks.
func (m *Metrics) watch(svc *service.Service) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "loadaware", Name: "stale_seconds", Help: "Since this replica last knew which models and policies are stored.",
	}, func() float64 { return svc.Readiness().Stale.Seconds() }))
}

// request counts one answered request. Requests that were routed nowhere are one
// series, whatever their paths.
func (m *Metrics) request(route string, status int, took time.Duration) {
	if route == "" {
		route = "none"
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

func (m *Metrics) answered(a *sizing.Allocation) {
	m.answers.WithLabelValues(string(a.Source), string(a.Mode)).Inc()
}

func (m *Metrics) observed(o *sizing.Observation, r *sizing.Recorded) {
	result := "recorded"
	switch {
	case r.Err != nil:
		result = "refused"
	case r.Duplicate:
		result = "duplicate"
	case r.Amended:
		result = "amended"
	}
	m.observations.WithLabelValues(o.Outcome.String(), result).Inc()
}

// crowded counts a request that found no place.
func (m *Metrics) crowded(route string) { m.refused.WithLabelValues(route).Inc() }

func (m *Metrics) lifted(l *sizing.Lift) { m.lifts.WithLabelValues(string(l.Verdict)).Inc() }

// Admin serves /metrics and /debug/pprof, on a port of its own that only the
// operators reach. Metrics count and name nobody, so whoever reaches the port may
// read them. Profiles show the memory: they need the token of an admin. The command
// line, in which a password may stand, is not served at all.
func Admin(m *Metrics, auth Auth) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	profiles := http.NewServeMux()
	profiles.HandleFunc("/debug/pprof/", pprof.Index)
	profiles.HandleFunc("/debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	profiles.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.Handle("/debug/pprof/", auth.adminsOnly(profiles))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if why := auth.foreignPage(r); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// adminsOnly asks for the token of an admin of everything.
func (a Auth) adminsOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held := a.holder(r)
		if !slices.ContainsFunc(held, func(t *Token) bool { return t.Role == RoleAdmin && t.scope() == "" }) {
			w.Header().Set("WWW-Authenticate", challenge)
			http.Error(w, "send the token of an admin of all namespaces", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
