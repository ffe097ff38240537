package service

import (
	"context"

	"github.com/loadaware/loadaware/internal/store"
)

// SaveExperiment stores a run of an experiment with its models.
func (s *Service) SaveExperiment(ctx context.Context, r store.Run, models []store.RunModel) (id int64, err error) {
	return s.store.SaveRun(ctx, r, models)
}

// Experiment reads one by its id or its name.
func (s *Service) Experiment(ctx context.Context, idOrName string) (store.Run, error) {
	return s.store.Run(ctx, idOrName)
}

// Experiments lists at most limit of them, newest first, below the id before.
func (s *Service) Experiments(ctx context.Context, before int64, limit int) ([]store.Run, error) {
	return s.store.Runs(ctx, before, limit)
}

// ExperimentModels reads the models of an experiment.
func (s *Service) ExperimentModels(ctx context.Context, id int64) ([]store.RunModel, error) {
	return s.store.RunModels(ctx, id)
}
