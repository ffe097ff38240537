package service

import (
	"context"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
	"github.com/loadaware/loadaware/internal/trainer"
)

// Train trains a task now. When it returns without an error, this replica uses the active model. It first stores the
// queued receipts, because a training compares their promises with the outcomes. So the trained model does not depend
// on the time at which the outbox stores receipts.
func (s *Service) Train(ctx context.Context, task sizing.TaskKey) (trainer.Report, error) {
	s.outbox.Flush(ctx)
	report, err := s.trainer.TrainNow(ctx, task)
	if err != nil {
		return report, err
	}
	s.refreshCohorts(ctx)
	s.models.ReloadNamespace(ctx, task.Namespace)
	return report, s.models.Refresh(ctx, task) // the training may have published a model or rolled back
}

// Models lists the stored versions, newest first.
func (s *Service) Models(ctx context.Context, task sizing.TaskKey) ([]store.Model, error) {
	return s.store.ModelVersions(ctx, task)
}

// Activate makes a stored version the active one, and pins it. It rejects a version that cannot be decoded.
func (s *Service) Activate(ctx context.Context, task sizing.TaskKey, version int) error {
	stored, err := s.store.Model(ctx, task, version)
	if err != nil {
		return err
	}
	if _, err := taskmodel.Open(stored.Blob); err != nil {
		return sizing.Errorf(sizing.Conflict, "activate version %d: the stored model cannot be decoded, and the active version is unchanged; activate another version: %w", version, err)
	}
	if err := s.store.Activate(ctx, task, version); err != nil {
		return err
	}
	return s.models.Refresh(ctx, task)
}

// Unpin lets trainings replace the activated version again.
func (s *Service) Unpin(ctx context.Context, task sizing.TaskKey) error {
	return s.store.Unpin(ctx, task)
}

// SaveExperiment stores an experiment with its models.
func (s *Service) SaveExperiment(ctx context.Context, r store.Run, models []store.RunModel) (id int64, err error) {
	return s.store.SaveRun(ctx, r, models)
}

// Experiment returns an experiment by its id or name.
func (s *Service) Experiment(ctx context.Context, idOrName string) (store.Run, error) {
	return s.store.Run(ctx, idOrName)
}

// Experiments lists experiments, newest first: at most `limit` with ids below `before`; if `before` is 0, with any id.
func (s *Service) Experiments(ctx context.Context, before int64, limit int) ([]store.Run, error) {
	return s.store.Runs(ctx, before, limit)
}

// ExperimentModels lists the models of an experiment.
func (s *Service) ExperimentModels(ctx context.Context, id int64) ([]store.RunModel, error) {
	return s.store.RunModels(ctx, id)
}
