package httpapi

import (
	"context"
	"math"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// dagKey returns the key of a DAG, with an empty task id, if the caller may access the DAG.
func dagKey(ctx context.Context, namespace *api.ID, dag api.ID) (sizing.TaskKey, error) {
	key := taskKey(namespace, dag, "any") // Validate requires a task id
	if invalid := key.Validate(); len(invalid) > 0 {
		return key, invalidFields(invalid)
	}
	key.Task = ""
	return key, infoOf(ctx).grants.CheckTask(key)
}

// PutDagStructure stores the dependencies between the tasks of a DAG.
func (s *server) PutDagStructure(ctx context.Context, r api.PutDagStructureRequestObject) (api.PutDagStructureResponseObject, error) {
	key, err := dagKey(ctx, r.Params.Namespace, r.DagID)
	if err != nil {
		return nil, err
	}
	d := sizing.Structure{Namespace: key.Namespace, DAG: key.DAG}
	for _, t := range r.Body.Tasks {
		d.Tasks = append(d.Tasks, sizing.StructureTask{TaskID: t.TaskID, Upstream: t.Upstream})
	}
	if err := s.svc.SetStructure(ctx, d); err != nil {
		return nil, err
	}
	return api.PutDagStructure200JSONResponse(*r.Body), nil
}

// GetDagForecast forecasts a run of a DAG.
func (s *server) GetDagForecast(ctx context.Context, r api.GetDagForecastRequestObject) (api.GetDagForecastResponseObject, error) {
	key, err := dagKey(ctx, r.Params.Namespace, r.DagID)
	if err != nil {
		return nil, err
	}
	var f fieldReader
	features, err := f.queryFeatures(ctx)
	if err != nil {
		return nil, err
	}
	seed := valueOr(r.Params.Seed, 1)
	if seed < 0 || seed > math.MaxInt32 {
		f.add("seed", "must be 0 to %d", math.MaxInt32)
	}
	if err := f.err(features.Validate); err != nil {
		return nil, err
	}
	result, err := s.svc.Forecast(ctx, key.Namespace, key.DAG, features, uint64(seed))
	if err != nil {
		return nil, err
	}
	answer := api.DagForecast{
		Namespace: key.Namespace, DagID: key.DAG, StructureUpdatedAt: result.UpdatedAt, MedianSeconds: result.Median, P95Seconds: result.P95,
		PastRuns: result.PastRuns, MemoryPeakBytes: int64(result.Peak.Median), MemoryPeakP95Bytes: int64(result.Peak.P95),
		Tasks: []api.DagTaskForecast{}, Footprint: []api.DagFootprint{}, UnknownTasks: append([]string{}, result.Unknown...),
	}
	for _, t := range result.Tasks {
		answer.Tasks = append(answer.Tasks, api.DagTaskForecast{
			TaskID: t.ID, StartSeconds: t.Start, EndSeconds: t.End, EndP95Seconds: t.EndP95, Critical: t.Critical, Instances: t.Instances, MemoryBytes: int64(t.Memory),
		})
	}
	for _, point := range result.Footprint {
		answer.Footprint = append(answer.Footprint, api.DagFootprint{Seconds: point.Seconds, MemoryBytes: int64(point.Median), MemoryP95Bytes: int64(point.P95)})
	}
	return api.GetDagForecast200JSONResponse(answer), nil
}
