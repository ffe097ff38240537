package httpapi

import "github.com/prometheus/client_golang/prometheus"

// Removed counts what was removed because of its age, by kind; all kinds are counted
// from 0 on. It is called once.
func (m *Metrics) Removed(kinds ...string) func(kind string, rows int) {
	removed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "loadaware", Name: "removed_total",
		Help: "Rows that this replica removed because of their age, by what they are.",
	}, []string{"kind"})
	for _, kind := range kinds {
		removed.WithLabelValues(kind)
	}
	m.registry.MustRegister(removed)
	return func(kind string, rows int) { removed.WithLabelValues(kind).Add(float64(rows)) }
}

// Passes counts how the passes that remove what is old ended: done or failed, both from
// 0 on. It is called once.
func (m *Metrics) Passes() func(error) {
	passes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "loadaware", Name: "retention_passes_total",
		Help: "Passes over what is old that this replica made for all, by how they ended: done or failed.",
	}, []string{"result"})
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
