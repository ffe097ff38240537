package httpapi

import (
	"context"
	"math"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// TrainTask trains a task now.
func (s *server) TrainTask(ctx context.Context, r api.TrainTaskRequestObject) (api.TrainTaskResponseObject, error) {
	key, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	report, err := s.svc.Train(ctx, key)
	if err != nil {
		return nil, err
	}
	answer := api.TrainTask200JSONResponse{Trained: report.Trained, Published: report.Published, Reason: report.Reason}
	if report.Version > 0 {
		answer.Version = &report.Version
	}
	return answer, nil
}

// ListModels lists the stored versions. The list of a known task may be empty. The answer for an unknown
// task is a 404.
func (s *server) ListModels(ctx context.Context, r api.ListModelsRequestObject) (api.ListModelsResponseObject, error) {
	key, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	models, err := s.svc.Models(ctx, key)
	if err != nil {
		return nil, err
	}
	if len(models) == 0 {
		if err := s.checkExists(ctx, key); err != nil {
			return nil, err
		}
	}
	list := api.ListModels200JSONResponse{Models: make([]api.ModelVersion, len(models))}
	for i, m := range models {
		list.Models[i] = api.ModelVersion{
			Version: m.Version, Family: m.Family, Observations: m.Observations, TrainedAt: m.TrainedAt, Active: m.Active,
			PinnedBy: textOrNull(m.PinnedBy), Withdrawn: m.Withdrawn, Exam: m.Evaluation,
		}
	}
	return list, nil
}

// UnpinModel lets trainings replace an activated version.
func (s *server) UnpinModel(ctx context.Context, r api.UnpinModelRequestObject) (api.UnpinModelResponseObject, error) {
	key, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	return api.UnpinModel204Response{}, s.svc.Unpin(ctx, key)
}

// ActivateModel activates a stored version and pins it.
func (s *server) ActivateModel(ctx context.Context, r api.ActivateModelRequestObject) (api.ActivateModelResponseObject, error) {
	key, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	if r.Version < 1 || r.Version > math.MaxInt32 {
		return nil, sizing.InvalidField("version", "must be 1 to %d", math.MaxInt32)
	}
	if err := s.svc.Activate(ctx, key, r.Version); err != nil {
		return nil, err
	}
	return api.ActivateModel200JSONResponse{Activated: true, Version: r.Version}, nil
}
