package main

import (
	"log/slog"
	"time"

	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/retention"
)

// keptFor are the ages from which things are removed; 0 for never. They are set by
// LOADAWARE_KEEP_OBSERVATIONS and so on.
type keptFor struct {
	Observations time.Duration `envconfig:"OBSERVATIONS"` // of them only what no training reads
	Receipts     time.Duration `envconfig:"RECEIPTS"`
	Experiments  time.Duration `envconfig:"EXPERIMENTS"` // without a name
}

// keeper removes what is older than it is to be kept.
func (c *config) keeper(st retention.Store, metrics *httpapi.Metrics, log *slog.Logger) (*retention.Worker, error) {
	worker, err := retention.New(st, retention.Config{
		Observations: c.Keep.Observations, Receipts: c.Keep.Receipts, Experiments: c.Keep.Experiments,
		Removed: metrics.AddRemovedCounter(retention.Observations, retention.Receipts, retention.Experiments), Ended: metrics.AddRetentionPassCounter(),
	}, log)
	if err != nil {
		return nil, usageErrorf("LOADAWARE_KEEP_…: %v", err)
	}
	return worker, nil
}
