package httpapi

import (
	"net/http"
	"net/http/pprof"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trainer"
)

// Metrics counts what passes the edge, in a registry of its own. What a request
// counts is looked up by its route before the first one comes: counting costs a
// prediction a few atomic additions and no memory.
type Metrics struct {
	registry     *prometheus.Registry
	requests     *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
	observations *prometheus.CounterVec
	refused      *prometheus.CounterVec
	trainings    *prometheus.HistogramVec

	routes  map[string]routeMetrics
	answers map[answerKind]prometheus.Counter
	lifts   map[sizing.Verdict]prometheus.Counter
}

// routeMetrics are those of one line of the table of routes.
type routeMetrics struct {
	ok      prometheus.Counter // answered by 200
	seconds prometheus.Observer
}

type answerKind struct {
	source sizing.Source
	mode   sizing.Mode
}

// nowhere is the route of requests that were routed nowhere: they are one series,
// whatever their paths.
const nowhere = "none"

// NewMetrics makes counters at zero.
func NewMetrics() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "loadaware", Name: name, Help: help}, labels)
	}
	answers := counter("answers_total", "Answers to /predict by source and mode.", "source", "mode")
	lifts := counter("lifts_total", "Answers to /retry-lift by verdict.", "verdict")
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: counter("http_requests_total", "Requests by route and status.", "route", "status"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "loadaware", Name: "http_request_duration_seconds", Help: "Time to answer, by route.",
			// 100 µs to 100 s: a prediction is at the low end, a training at the high one.
			Buckets: prometheus.ExponentialBucketsRange(1e-4, 100, 19),
		}, []string{"route"}),
		observations: counter("observations_total", "Reports by outcome and what became of them.", "outcome", "result"),
		refused:      counter("http_refused_total", "Requests told to come again, because too many were being answered, by route.", "route"),
		trainings: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "loadaware", Name: "training_duration_seconds",
			Help:    "Trainings of one task and searches for its parameters that ended here, by what came of them: published, kept (the champion), rolled_back or failed.",
			Buckets: prometheus.ExponentialBucketsRange(0.01, 1000, 16),
		}, []string{"kind", "result"}),
		answers: map[answerKind]prometheus.Counter{}, lifts: map[sizing.Verdict]prometheus.Counter{},
	}
	m.registry.MustRegister(m.requests, m.seconds, answers, m.observations, lifts, m.refused, m.trainings,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, source := range []sizing.Source{sizing.FromModel, sizing.FromProfile, sizing.FromCohort, sizing.FromRequested, sizing.FromLift} {
		for _, mode := range []sizing.Mode{sizing.Enforce, sizing.Shadow, sizing.Off} {
			m.answers[answerKind{source, mode}] = answers.WithLabelValues(string(source), string(mode))
		}
	}
	for _, verdict := range []sizing.Verdict{sizing.VerdictLift, sizing.VerdictAtCap, sizing.VerdictExhausted, sizing.VerdictNotMemory, sizing.VerdictLeakSuspected} {
		m.lifts[verdict] = lifts.WithLabelValues(string(verdict))
	}
	for _, kind := range []string{"training", "search"} {
		for _, result := range []string{"published", "kept", "rolled_back", "failed"} {
			m.trainings.WithLabelValues(kind, result)
		}
	}
	return m
}

// Build tells which build this is, as the version of a series that is always 1.
func (m *Metrics) Build(version string) {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "loadaware", Name: "build_info", Help: "1, by the version of this build.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(build)
}

// Learner tells what the process that learns takes, by its process id: what the service's
// own is told as, with loadaware_learner before it. Nothing while pid fails, nor beside
// Linux: there the collector would tell of this process in place of that one.
func (m *Metrics) Learner(pid func() (int, error)) {
	if runtime.GOOS != "linux" {
		return
	}
	m.registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{Namespace: "loadaware_learner", PidFn: pid}))
}

// watch adds the routes of a server, and what is read of it and of its service
// whenever somebody looks.
func (m *Metrics) watch(s *server) {
	m.routes = map[string]routeMetrics{}
	add := func(route string) {
		m.routes[route] = routeMetrics{m.requests.WithLabelValues(route, "200"), m.seconds.WithLabelValues(route)}
	}
	add(nowhere)
	for route, rule := range s.routes {
		add(route)
		if rule.gate != nil {
			m.refused.WithLabelValues(route)
		}
	}
	m.registry.MustRegister(newGauges(s))
}

// request counts one answered request.
func (m *Metrics) request(route string, status int, took time.Duration) {
	if _, known := m.routes[route]; !known {
		route = nowhere
	}
	counted := m.routes[route]
	counted.seconds.Observe(took.Seconds())
	if status == http.StatusOK {
		counted.ok.Inc()
		return
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

func (m *Metrics) answered(a *sizing.Allocation) {
	m.answers[answerKind{a.Source, a.Mode}].Inc()
}

func (m *Metrics) observed(o *sizing.Observation, r *sizing.RecordResult) {
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

func (m *Metrics) lifted(l *sizing.Lift) { m.lifts[l.Verdict].Inc() }

// Trained counts a training or a search; it is what trainer.Config.Ended wants.
func (m *Metrics) Trained(e trainer.Ended) {
	kind, result := "training", "kept"
	if e.Search {
		kind = "search"
	}
	switch {
	case e.Err != nil:
		result = "failed"
	case e.Report.RolledBack:
		result = "rolled_back"
	case e.Report.Published:
		result = "published"
	}
	m.trainings.WithLabelValues(kind, result).Observe(e.Took.Seconds())
}

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
		closeIfAmbiguous(w, r)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if why := auth.foreignPage(r, true); why != "" {
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
