package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/reconcile"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/source/prometheus"
	"github.com/loadaware/loadaware/internal/store"
)

// prometheusClient is a client of the Prometheus that is named.
func (c *config) prometheusClient(perSecond float64) (*prometheus.Client, error) {
	return prometheus.New(prometheus.Config{
		URL: c.PrometheusURL, Token: c.PrometheusToken, Namespace: c.PrometheusNamespace, Container: c.PrometheusContainer,
		PerSecond: perSecond,
	})
}

// reconciler looks after tries of which not all was told. Whoever knows more of them is
// one of its witnesses; without one they only expire.
func (c *config) reconciler(st store.Inquiries, svc *service.Service, metrics *httpapi.Metrics, log *slog.Logger) (*reconcile.Worker, error) {
	cfg := reconcile.Config{Delay: c.PrometheusDelay, Within: c.PrometheusWithin, Every: c.PrometheusEvery}
	results := make([]string, len(reconcile.Results))
	for i, r := range reconcile.Results {
		results[i] = string(r)
	}
	count := metrics.Reconciled(results...)
	cfg.Count = func(r reconcile.Result) { count(string(r)) }
	if c.PrometheusURL != "" {
		client, err := c.prometheusClient(0)
		if err != nil {
			return nil, usageErrorf("LOADAWARE_PROMETHEUS_URL: %v", err)
		}
		cfg.Witnesses = append(cfg.Witnesses, client.Observation)
	}
	return reconcile.New(st, svc.Observe, cfg, log), nil
}

// together runs all until ctx ends.
func together(work func(context.Context) error, others ...func(context.Context)) func(context.Context) error {
	return func(ctx context.Context) error {
		var running sync.WaitGroup
		for _, other := range others {
			running.Go(func() { other(ctx) })
		}
		defer running.Wait()
		return work(ctx)
	}
}
