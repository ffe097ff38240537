package httpapi

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/loadaware/loadaware/internal/httpapi/admission"
	"github.com/loadaware/loadaware/internal/service"
)

// gauges is a prometheus.Collector of gauges and counters that reads the state of the server at
// every scrape.
type gauges struct {
	server   *server
	gates    map[string]*admission.Gate
	values   []stateValue
	kills    *prometheus.Desc
	inFlight *prometheus.Desc
	waiting  *prometheus.Desc
}

// stateValue is a series without labels. The series is absent while `read` returns false.
type stateValue struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*scrape) (value float64, ok bool)
}

type scrape struct {
	service.Counts
	service.Readiness
	admitRatio float64
}

func newGauges(s *server) *gauges {
	g := &gauges{
		server: s,
		gates: map[string]*admission.Gate{
			"predict": s.routes["POST /predict"].gate,
			"observe": s.routes["POST /observe"].gate,
			"batch":   s.routes["POST /predict/batch"].gate,
		},
		kills:    newDesc("kills_total", "Tries killed because of memory, by outcome; each try is counted once.", "outcome"),
		inFlight: newDesc("http_requests_in_flight", "Requests in flight by gate.", "gate"),
		waiting:  newDesc("http_requests_waiting", "Requests waiting at a gate, by gate.", "gate"),
	}
	g.addTries()
	g.addMemory()
	g.addLearning()
	g.addHealth()
	return g
}

func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("loadaware_"+name, help, labels, nil)
}

func (g *gauges) counter(name, help string, read func(*scrape) float64) {
	g.values = append(g.values, stateValue{newDesc(name, help), prometheus.CounterValue, alwaysKnown(read)})
}

func (g *gauges) gauge(name, help string, read func(*scrape) (float64, bool)) {
	g.values = append(g.values, stateValue{newDesc(name, help), prometheus.GaugeValue, read})
}

func alwaysKnown(read func(*scrape) float64) func(*scrape) (float64, bool) {
	return func(state *scrape) (float64, bool) { return read(state), true }
}

func (g *gauges) addTries() {
	const scope = " of first tries that succeeded or were OOM-killed, and whose answer this replica had in memory when it received their report; without kills below the static grant of a plan"
	g.counter("first_tries_total", "Number"+scope+".", func(state *scrape) float64 { return float64(state.Promises.Tries) })
	g.counter("first_tries_killed_total", "Number of OOM kills"+scope+".", func(state *scrape) float64 { return float64(state.Promises.Killed) })
	g.counter("first_tries_promised_kills_total", "Expected number of OOM kills: the sum of the promised risks"+scope+".", func(state *scrape) float64 { return state.Promises.Promised })
	g.gauge("unreported_tries_ratio", "Share without a report among the newest 10,000 first tries predicted more than a day ago.",
		func(state *scrape) (float64, bool) {
			if state.Unreported == nil {
				return 0, false
			}
			return float64(state.Unreported.Unreported) / float64(state.Unreported.Tries), true
		})
}

func (g *gauges) addMemory() {
	g.counter("requested_byte_seconds_total", "Static requests of the DAGs times the durations of the reported successes with a known request, allocation, measured peak and duration.", func(state *scrape) float64 { return state.Usage.Requested })
	g.counter("allocated_byte_seconds_total", "Allocated memory times the durations of the reported successes with a known request, allocation, measured peak and duration, and of the kills with a known allocation and duration.", func(state *scrape) float64 { return state.Usage.Allocated })
	g.counter("used_byte_seconds_total", "Peak memory times the durations of the reported successes with a known request, allocation, measured peak and duration.", func(state *scrape) float64 { return state.Usage.Used })
}

func (g *gauges) addLearning() {
	g.gauge("models", "Tasks with a stored model.", alwaysKnown(func(state *scrape) float64 { return float64(state.Counts.Models) }))
	g.gauge("oldest_model_trained_timestamp_seconds", "Training time of the oldest model in memory.", func(state *scrape) (float64, bool) { return unixSeconds(state.OldestModel) })
	g.gauge("newest_model_trained_timestamp_seconds", "Training time of the newest model in memory.", func(state *scrape) (float64, bool) { return unixSeconds(state.NewestModel) })
	g.gauge("model_memory_bytes", "Memory of the models that are decoded, estimated from their parts.", alwaysKnown(func(state *scrape) float64 { return float64(state.ModelMemory.Bytes) }))
	g.gauge("model_memory_limit_bytes", "Bound on model_memory_bytes; 0 means none.", alwaysKnown(func(state *scrape) float64 { return float64(state.ModelMemory.Limit) }))
	g.counter("model_hits_total", "Requests for the model of a task that found it in memory.", func(state *scrape) float64 { return float64(state.ModelMemory.Hits) })
	g.counter("model_misses_total", "Requests for the model of a task that did not find it in memory.", func(state *scrape) float64 { return float64(state.ModelMemory.Misses) })
	g.counter("model_evictions_total", "Models removed from memory because of its bound.", func(state *scrape) float64 { return float64(state.ModelMemory.Evictions) })
	g.gauge("trainings_due", "Tasks that are due for training by any replica.", func(state *scrape) (float64, bool) {
		if state.Backlog == nil {
			return 0, false
		}
		return float64(state.Backlog.Waiting), true
	})
	g.gauge("training_wait_seconds", "Time for which the oldest due training has been due.", func(state *scrape) (float64, bool) {
		if state.Backlog == nil {
			return 0, false
		}
		return state.Backlog.Oldest.Seconds(), true
	})
}

func (g *gauges) addHealth() {
	g.gauge("ready", "1 while the server answers predictions.", alwaysKnown(func(state *scrape) float64 { return boolValue(state.Ready) }))
	g.gauge("database_up", "1 while the database answers.", alwaysKnown(func(state *scrape) float64 { return boolValue(state.StoreOK) }))
	g.gauge("stale_seconds", "Time for which this replica may have missed changes of stored models and policies.", alwaysKnown(func(state *scrape) float64 { return state.Stale.Seconds() }))
	g.gauge("receipts_queued", "Receipts in the outbox that are not stored yet.", alwaysKnown(func(state *scrape) float64 { return float64(state.Queued) }))
	g.counter("receipts_dropped_total", "Receipts dropped because the outbox was full.", func(state *scrape) float64 { return float64(state.Dropped) })
	g.counter("receipts_thinned_total", "Receipts that no report needs (of requests without a run or repeated requests), not stored because the outbox was full.", func(state *scrape) float64 { return float64(state.Thinned) })
	g.gauge("http_admitted_ratio", "Ratio of the requests of normal priority that load shedding admits during an overload of the CPUs; the ratio of low-priority requests is lower. After the overload all requests are admitted, and each of them raises the ratio, up to 1.", alwaysKnown(func(state *scrape) float64 { return state.admitRatio }))
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func unixSeconds(at time.Time) (float64, bool) {
	return float64(at.UnixMilli()) / 1000, !at.IsZero()
}

// Describe implements prometheus.Collector.
func (g *gauges) Describe(descs chan<- *prometheus.Desc) {
	for _, v := range g.values {
		descs <- v.desc
	}
	descs <- g.kills
	descs <- g.inFlight
	descs <- g.waiting
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(metrics chan<- prometheus.Metric) {
	state := &scrape{g.server.svc.Counts(), g.server.svc.Readiness(), g.server.shedder.AdmitRatio()}
	for _, v := range g.values {
		if value, ok := v.read(state); ok {
			metrics <- prometheus.MustNewConstMetric(v.desc, v.kind, value)
		}
	}
	for outcome, n := range state.Kills {
		metrics <- prometheus.MustNewConstMetric(g.kills, prometheus.CounterValue, float64(n), outcome.String())
	}
	for _, name := range slices.Sorted(maps.Keys(g.gates)) {
		metrics <- prometheus.MustNewConstMetric(g.inFlight, prometheus.GaugeValue, float64(g.gates[name].InFlight()), name)
		metrics <- prometheus.MustNewConstMetric(g.waiting, prometheus.GaugeValue, float64(g.gates[name].Waiting()), name)
	}
}
