package httpapi

import (
	"net/http"
	"net/http/pprof"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trainer"
)

// Metrics collects the Prometheus metrics of the server in its own registry. It creates the
// series of every route in advance, so that counting a prediction needs a few atomic additions
// and no allocation; see BenchmarkCountPrediction.
type Metrics struct {
	registry     *prometheus.Registry
	requests     *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
	observations *prometheus.CounterVec
	rejected     *prometheus.CounterVec
	trainings    *prometheus.HistogramVec

	routes  map[string]routeMetrics
	answers map[answerKind]prometheus.Counter
	lifts   map[sizing.Verdict]prometheus.Counter
}

type routeMetrics struct {
	ok      prometheus.Counter // answers with status 200
	seconds prometheus.Observer
}

type answerKind struct {
	source sizing.Source
	mode   sizing.Mode
}

// noRoute is the route label of requests outside the route table: of /, of unknown paths and methods, and of
// callers that are rejected before routing.
const noRoute = "none"

func newCounterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "loadaware", Name: name, Help: help}, labels)
}

// NewMetrics creates the metrics. The series of answers, lifts and trainings exist from the start, at zero.
func NewMetrics() *Metrics {
	answers := newCounterVec("answers_total", "Answers to /predict by source and mode.", "source", "mode")
	lifts := newCounterVec("lifts_total", "Answers to /retry-lift by verdict.", "verdict")
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		requests: newCounterVec("http_requests_total", "Requests by route and status.", "route", "status"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "loadaware", Name: "http_request_duration_seconds", Help: "Request duration by route.",
			// 100 µs to 100 s: predictions are at the low end, trainings at the high end.
			Buckets: prometheus.ExponentialBucketsRange(1e-4, 100, 19),
		}, []string{"route"}),
		observations: newCounterVec("observations_total", "Reports by outcome and result.", "outcome", "result"),
		rejected:     newCounterVec("http_refused_total", "Requests rejected because the server was overloaded, by route.", "route"),
		trainings: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "loadaware", Name: "training_duration_seconds",
			Help:    "Duration of trainings and hyperparameter searches of one task, by result: published, kept (no new version), rolled_back or failed.",
			Buckets: prometheus.ExponentialBucketsRange(0.01, 1000, 16),
		}, []string{"kind", "result"}),
		answers: map[answerKind]prometheus.Counter{}, lifts: map[sizing.Verdict]prometheus.Counter{},
	}
	m.registry.MustRegister(m.requests, m.seconds, answers, m.observations, lifts, m.rejected, m.trainings,
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

// SetBuildInfo registers loadaware_build_info, a constant 1 with the version as label.
func (m *Metrics) SetBuildInfo(version string) {
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "loadaware", Name: "build_info", Help: "Constant 1, labelled with the version of this build.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(build)
}

// AddTrainerProcess registers the process metrics of the trainer subprocess with the prefix
// loadaware_learner. The metrics are absent while the function `pid` fails. On systems other than Linux they are always
// absent, because the collector would report this process instead.
func (m *Metrics) AddTrainerProcess(pid func() (int, error)) {
	if runtime.GOOS != "linux" {
		return
	}
	m.registry.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{Namespace: "loadaware_learner", PidFn: pid}))
}

// AddReconciledCounter registers the counter of reconciled tries, with every result at zero,
// and returns the function that counts. Call it once.
func (m *Metrics) AddReconciledCounter(results ...string) func(result string) {
	tries := newCounterVec("reconciled_tries_total", "Reconciliations by result: of predicted tries without a report, and of reported tries without a sampled peak.", "result")
	for _, result := range results {
		tries.WithLabelValues(result)
	}
	m.registry.MustRegister(tries)
	return func(result string) { tries.WithLabelValues(result).Inc() }
}

// AddRemovedCounter registers the counter of rows that retention removed, with every kind at
// zero, and returns the function that counts. Call it once.
func (m *Metrics) AddRemovedCounter(kinds ...string) func(kind string, rows int) {
	removed := newCounterVec("removed_total", "Rows that this replica removed because of their age, by kind.", "kind")
	for _, kind := range kinds {
		removed.WithLabelValues(kind)
	}
	m.registry.MustRegister(removed)
	return func(kind string, rows int) { removed.WithLabelValues(kind).Add(float64(rows)) }
}

// AddRetentionPassCounter registers the counter of retention passes and returns the function
// that counts a pass by its error. Call it once.
func (m *Metrics) AddRetentionPassCounter() func(error) {
	passes := newCounterVec("retention_passes_total", "Retention passes of this replica by result: done or failed.", "result")
	done, failed := passes.WithLabelValues("done"), passes.WithLabelValues("failed")
	m.registry.MustRegister(passes)
	return func(err error) {
		if err != nil {
			failed.Inc()
			return
		}
		done.Inc()
	}
}

// CountTraining counts a training or a search; trainer.Config.Ended calls it.
func (m *Metrics) CountTraining(e trainer.JobEnd) {
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

func (m *Metrics) register(s *server) {
	m.routes = map[string]routeMetrics{}
	add := func(route string) {
		m.routes[route] = routeMetrics{m.requests.WithLabelValues(route, "200"), m.seconds.WithLabelValues(route)}
	}
	add(noRoute)
	for route, rule := range s.routes {
		add(route)
		if rule.gate != nil {
			m.rejected.WithLabelValues(route)
		}
	}
	if s.pages != nil {
		add(pagesRoute)
		m.rejected.WithLabelValues(pagesRoute)
	}
	m.registry.MustRegister(newGauges(s))
}

// countRequest counts an answered request and its duration. It allocates memory only for a status other than 200.
func (m *Metrics) countRequest(route string, status int, took time.Duration) {
	if _, known := m.routes[route]; !known {
		route = noRoute
	}
	series := m.routes[route]
	series.seconds.Observe(took.Seconds())
	if status == http.StatusOK {
		series.ok.Inc()
		return
	}
	m.requests.WithLabelValues(route, strconv.Itoa(status)).Inc()
}

func (m *Metrics) countRejected(route string) { m.rejected.WithLabelValues(route).Inc() }

func (m *Metrics) countAnswer(a *sizing.Allocation) {
	m.answers[answerKind{a.Source, a.Mode}].Inc()
}

func (m *Metrics) countLift(l *sizing.Lift) { m.lifts[l.Verdict].Inc() }

func (m *Metrics) countObservation(o *sizing.Observation, r *sizing.RecordResult) {
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

// NewAdmin returns the handler of the operators' port: /metrics and /debug/pprof. Metrics name
// no task, so they need no token. Profiles may contain secrets from memory, so they need the token of an
// unlimited admin. /debug/pprof/cmdline is not served, because it may contain a password.
func NewAdmin(m *Metrics, access auth.Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	profiles := http.NewServeMux()
	profiles.HandleFunc("/debug/pprof/", pprof.Index)
	profiles.HandleFunc("/debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	profiles.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.Handle("/debug/pprof/", access.RequireUnlimitedAdmin(profiles))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		closeIfAmbiguous(w, r)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		if reason := access.OriginProblem(r, true); reason != "" {
			http.Error(w, reason, http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
