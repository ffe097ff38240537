package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/config"
	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/reconcile"
	"github.com/loadaware/loadaware/internal/retention"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/prometheus"
	"github.com/loadaware/loadaware/internal/store"
)

func newRetention(keep config.RetentionAges, st retention.Store, metrics *httpapi.Metrics, log *slog.Logger) (*retention.Worker, error) {
	worker, err := retention.New(st, retention.Config{
		Observations: keep.Observations, Receipts: keep.Receipts, Experiments: keep.Experiments,
		Removed: metrics.AddRemovedCounter(retention.Observations, retention.Receipts, retention.Experiments), Ended: metrics.AddRetentionPassCounter(),
	}, log)
	if err != nil {
		return nil, config.Errorf("LOADAWARE_KEEP_…: %v", err)
	}
	return worker, nil
}

// newReconciler returns a worker without a source if Prometheus is not configured. Such a worker changes no reported try. It
// only records a try as expired (reconcile.Expired) if no report has arrived by Config.Delay plus Config.Within after its
// expected end.
func newReconciler(settings *config.Config, st store.Reconciliation, svc *service.Service, metrics *httpapi.Metrics, log *slog.Logger) (*reconcile.Worker, error) {
	cfg := reconcile.Config{Delay: settings.PrometheusDelay, Within: settings.PrometheusWithin, Every: settings.PrometheusEvery}
	results := make([]string, len(reconcile.Results))
	for i, r := range reconcile.Results {
		results[i] = string(r)
	}
	count := metrics.AddReconciledCounter(results...)
	cfg.Count = func(r reconcile.Result) { count(string(r)) }
	if settings.PrometheusURL != "" {
		client, err := prometheus.New(settings.Prometheus(0))
		if err != nil {
			return nil, config.Errorf("LOADAWARE_PROMETHEUS_URL: %v", err)
		}
		cfg.Sources = append(cfg.Sources, sourceOf(client))
	}
	return reconcile.New(st, svc.Observe, cfg, log), nil
}

func sourceOf(client *prometheus.Client) reconcile.Source {
	return func(ctx context.Context, try sizing.TryKey, from, to time.Time) (sizing.Observation, bool, error) {
		o, found, err := client.Observation(ctx, try, from, to)
		if errors.Is(err, prometheus.ErrAmbiguous) {
			err = fmt.Errorf("%w: %w", reconcile.ErrAmbiguous, err)
		}
		return o, found, err
	}
}

// runAll returns a function that runs `main` and the workers with its context, waits for all of them, and returns the error
// of `main`.
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
