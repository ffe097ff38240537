package httpapi

import "github.com/prometheus/client_golang/prometheus"

// Reconciled counts tries of which not all was told, by what came of looking after
// them; all results are counted from 0 on. It is called once.
func (m *Metrics) Reconciled(results ...string) func(result string) {
	tries := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "loadaware", Name: "reconciled_tries_total",
		Help: "Looks at tries that were reported without a sampled peak, or answered and never reported, by what came of it.",
	}, []string{"result"})
	for _, result := range results {
		tries.WithLabelValues(result)
	}
	m.registry.MustRegister(tries)
	return func(result string) { tries.WithLabelValues(result).Inc() }
}
