package httpapi

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loadaware/loadaware/internal/service"
)

// gauges read the server and its service whenever somebody looks at /metrics.
type gauges struct {
	server *server
	gates  map[string]*gate
	read   []reading
	kills  *prometheus.Desc
	inside *prometheus.Desc
	queued *prometheus.Desc
}

// reading is one series without labels; ok is false where nothing is known yet.
type reading struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*snapshot) (value float64, ok bool)
}

// snapshot is what is known when somebody looks.
type snapshot struct {
	service.Counts
	service.Readiness
	admitted float64
}

func newGauges(s *server) *gauges {
	g := &gauges{
		server: s,
		gates: map[string]*gate{
			"predict": s.routes["POST /predict"].gate,
			"observe": s.routes["POST /observe"].gate,
			"batch":   s.routes["POST /predict/batch"].gate,
		},
		kills:  describe("kills_total", "Tries that died for want of memory, by outcome, each counted once.", "outcome"),
		inside: describe("http_requests_in_flight", "Requests that are being answered, by gate.", "gate"),
		queued: describe("http_requests_waiting", "Requests that wait for a place, by gate.", "gate"),
	}
	g.tries()
	g.memory()
	g.learning()
	g.health()
	return g
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("loadaware_"+name, help, labels, nil)
}

func (g *gauges) counter(name, help string, of func(*snapshot) float64) {
	g.read = append(g.read, reading{describe(name, help), prometheus.CounterValue, always(of)})
}

func (g *gauges) gauge(name, help string, of func(*snapshot) (float64, bool)) {
	g.read = append(g.read, reading{describe(name, help), prometheus.GaugeValue, of})
}

func always(of func(*snapshot) float64) func(*snapshot) (float64, bool) {
	return func(m *snapshot) (float64, bool) { return of(m), true }
}

func (g *gauges) tries() {
	const here = " of first tries that were answered and reported at this replica"
	g.counter("first_tries_total", "Number"+here+" and carried a promise.", func(m *snapshot) float64 { return float64(m.Held.Tries) })
	g.counter("first_tries_killed_total", "OOM kills"+here+".", func(m *snapshot) float64 { return float64(m.Held.Killed) })
	g.counter("first_tries_promised_kills_total", "Sum of the promised risks"+here+": the kills to be expected.", func(m *snapshot) float64 { return m.Held.Promised })
	g.gauge("unreported_tries_ratio", "Share of the newest 10,000 first tries asked for more than a day ago that nobody ever reported.",
		func(m *snapshot) (float64, bool) {
			if m.Unheard == nil {
				return 0, false
			}
			return float64(m.Unheard.Unreported) / float64(m.Unheard.Tries), true
		})
}

func (g *gauges) memory() {
	g.counter("requested_byte_seconds_total", "Static requests of the DAGs times the durations of reported successes.", func(m *snapshot) float64 { return m.Spent.Requested })
	g.counter("allocated_byte_seconds_total", "Memory allocated times the durations of reported successes and kills.", func(m *snapshot) float64 { return m.Spent.Allocated })
	g.counter("used_byte_seconds_total", "Peaks times the durations of reported successes.", func(m *snapshot) float64 { return m.Spent.Used })
}

func (g *gauges) learning() {
	g.gauge("models", "Tasks with a published model.", always(func(m *snapshot) float64 { return float64(m.Counts.Models) }))
	g.gauge("oldest_model_trained_timestamp_seconds", "When the oldest of the models that are open here was trained.", func(m *snapshot) (float64, bool) { return unix(m.OldestModel) })
	g.gauge("newest_model_trained_timestamp_seconds", "When the newest of the models that are open here was trained.", func(m *snapshot) (float64, bool) { return unix(m.NewestModel) })
	g.gauge("trainings_due", "Tasks that wait for a training by any replica.", func(m *snapshot) (float64, bool) {
		if m.Backlog == nil {
			return 0, false
		}
		return float64(m.Backlog.Waiting), true
	})
	g.gauge("training_wait_seconds", "For how long the first of the waiting tasks has been due.", func(m *snapshot) (float64, bool) {
		if m.Backlog == nil {
			return 0, false
		}
		return m.Backlog.Oldest.Seconds(), true
	})
}

func (g *gauges) health() {
	g.gauge("ready", "1 while predictions are answered.", always(func(m *snapshot) float64 { return one(m.Ready) }))
	g.gauge("database_up", "1 while the database answers.", always(func(m *snapshot) float64 { return one(m.StoreOK) }))
	g.gauge("stale_seconds", "Since this replica last knew which models and policies are stored.", always(func(m *snapshot) float64 { return m.Stale.Seconds() }))
	g.gauge("receipts_queued", "Answers whose receipts are not stored yet.", always(func(m *snapshot) float64 { return float64(m.Queued) }))
	g.counter("receipts_dropped_total", "Receipts given up, because too many waited for the database.", func(m *snapshot) float64 { return float64(m.Dropped) })
	g.gauge("http_admitted_ratio", "Share of the requests that is let in: below 1 while more come than the CPUs can answer soon.", always(func(m *snapshot) float64 { return m.admitted }))
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func unix(at time.Time) (float64, bool) {
	return float64(at.UnixMilli()) / 1000, !at.IsZero()
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(descs chan<- *prometheus.Desc) {
	for _, r := range g.read {
		descs <- r.desc
	}
	descs <- g.kills
	descs <- g.inside
	descs <- g.queued
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(metrics chan<- prometheus.Metric) {
	now := &snapshot{g.server.svc.Counts(), g.server.svc.Readiness(), float64(g.server.press.share.Load()) / whole}
	for _, r := range g.read {
		if value, ok := r.of(now); ok {
			metrics <- prometheus.MustNewConstMetric(r.desc, r.kind, value)
		}
	}
	for outcome, n := range now.Kills {
		metrics <- prometheus.MustNewConstMetric(g.kills, prometheus.CounterValue, float64(n), outcome.String())
	}
	for _, name := range slices.Sorted(maps.Keys(g.gates)) {
		metrics <- prometheus.MustNewConstMetric(g.inside, prometheus.GaugeValue, float64(g.gates[name].inside.Load()), name)
		metrics <- prometheus.MustNewConstMetric(g.queued, prometheus.GaugeValue, float64(g.gates[name].queued.Load()), name)
	}
}
