package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/reconcile"
	"github.com/loadaware/loadaware/internal/retention"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/source/prometheus"
	"github.com/loadaware/loadaware/internal/store"
)

// retentionAges are the maximum ages of stored rows, set by LOADAWARE_KEEP_OBSERVATIONS
// and so on; 0 means no limit.
type retentionAges struct {
	Observations time.Duration `envconfig:"OBSERVATIONS"` // only those that no training reads
	Receipts     time.Duration `envconfig:"RECEIPTS"`
	Experiments  time.Duration `envconfig:"EXPERIMENTS"` // only those without a name
}

// retentionWorker returns the background worker that deletes old rows.
func (c *config) retentionWorker(st retention.Store, metrics *httpapi.Metrics, log *slog.Logger) (*retention.Worker, error) {
	worker, err := retention.New(st, retention.Config{
		Observations: c.Keep.Observations, Receipts: c.Keep.Receipts, Experiments: c.Keep.Experiments,
		Removed: metrics.AddRemovedCounter(retention.Observations, retention.Receipts, retention.Experiments), Ended: metrics.AddRetentionPassCounter(),
	}, log)
	if err != nil {
		return nil, usageErrorf("LOADAWARE_KEEP_…: %v", err)
	}
	return worker, nil
}

// prometheusConfig returns the configuration of a Prometheus client.
func (c *config) prometheusConfig(perSecond float64) prometheus.Config {
	return prometheus.Config{
		URL: c.PrometheusURL, Token: c.PrometheusToken, Namespace: c.PrometheusNamespace, Container: c.PrometheusContainer,
		PerSecond: perSecond,
	}
}

func (c *config) prometheusClient(perSecond float64) (*prometheus.Client, error) {
	return prometheus.New(c.prometheusConfig(perSecond))
}

// reconciler returns the background worker that looks up tries without a complete report.
// Without Prometheus these tries only expire.
func (c *config) reconciler(st store.Reconciliation, svc *service.Service, metrics *httpapi.Metrics, log *slog.Logger) (*reconcile.Worker, error) {
	cfg := reconcile.Config{Delay: c.PrometheusDelay, Within: c.PrometheusWithin, Every: c.PrometheusEvery}
	results := make([]string, len(reconcile.Results))
	for i, r := range reconcile.Results {
		results[i] = string(r)
	}
	count := metrics.AddReconciledCounter(results...)
	cfg.Count = func(r reconcile.Result) { count(string(r)) }
	if c.PrometheusURL != "" {
		client, err := c.prometheusClient(0)
		if err != nil {
			return nil, usageErrorf("LOADAWARE_PROMETHEUS_URL: %v", err)
		}
		cfg.Sources = append(cfg.Sources, client.Observation)
	}
	return reconcile.New(st, svc.Observe, cfg, log), nil
}

// runAll returns a function that runs main and the workers until its context ends, and
// returns the error of main.
func runAll(main func(context.Context) error, workers ...func(context.Context)) func(context.Context) error {
	return func(ctx context.Context) error {
		var running sync.WaitGroup
		for _, worker := range workers {
			running.Go(func() { worker(ctx) })
		}
		defer running.Wait()
		return main(ctx)
	}
}
