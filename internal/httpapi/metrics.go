package httpapi

import (
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

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
	}
	m.registry.MustRegister(m.requests, m.seconds, m.answers, m.observations, m.lifts,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
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

func (m *Metrics) lifted(l *sizing.Lift) { m.lifts.WithLabelValues(string(l.Verdict)).Inc() }

// Admin serves /metrics and /debug/pprof. It asks for no token: it belongs
// on a port of its own that only the operators reach.
func Admin(m *Metrics) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
