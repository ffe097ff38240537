package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Predict answers one question.
func (s *server) Predict(ctx context.Context, r api.PredictRequestObject) (api.PredictResponseObject, error) {
	a, err := s.predict(ctx, r.Body)
	if err != nil {
		return nil, err
	}
	callOf(ctx).prediction = a.PredictionID
	p := prediction(a)
	return writeAnswer(&p), nil
}

// PredictByQuery answers the same question from query parameters.
func (s *server) PredictByQuery(ctx context.Context, r api.PredictByQueryRequestObject) (api.PredictByQueryResponseObject, error) {
	query, err := parseQuery(callOf(ctx).query)
	if err != nil {
		return nil, err
	}
	var f form
	p := r.Params
	ask := &sizing.Ask{
		Try:       tryKey(taskKey(p.Namespace, p.DagID, p.TaskID), or(p.RunID, ""), p.MapIndex, p.TryNumber),
		Features:  f.queryFeatures(query),
		Requested: sizing.Resources{Memory: f.memory("memory", nil, p.Memory), CPU: f.cpu("cpu", nil, p.CPU)},
		MaxMemory: f.memory("max_memory", nil, p.MaxMemory),
	}
	a, err := s.answer(ctx, &f, ask)
	if err != nil {
		return nil, err
	}
	callOf(ctx).prediction = a.PredictionID
	return api.PredictByQuery200JSONResponse(prediction(a)), nil
}

// PredictBatch answers many; an item that fails, fails alone.
func (s *server) PredictBatch(ctx context.Context, r api.PredictBatchRequestObject) (api.PredictBatchResponseObject, error) {
	if err := checkBatch("tasks", len(r.Body.Tasks)); err != nil {
		return nil, err
	}
	return writeAnswers(len(r.Body.Tasks), func(i int) (api.Prediction, *api.Problem) {
		a, err := s.predictItem(ctx, r.Body.Tasks[i])
		if err != nil {
			return api.Prediction{}, s.itemProblem(ctx, err, fmt.Sprintf("tasks[%d].", i))
		}
		return prediction(a), nil
	})
}

func (s *server) predictItem(ctx context.Context, raw json.RawMessage) (*sizing.Allocation, error) {
	var body api.PredictRequest
	if !quickQuestion(raw, &body) {
		if err := s.decodeItem(raw, &body); err != nil {
			return nil, err
		}
	}
	return s.predict(ctx, &body)
}

func (s *server) predict(ctx context.Context, body *api.PredictRequest) (*sizing.Allocation, error) {
	var f form
	return s.answer(ctx, &f, &sizing.Ask{
		Try:       tryKey(taskKey(body.Namespace, body.DagID, body.TaskID), f.id("run_id", body.RunID), body.MapIndex, body.TryNumber),
		Features:  f.features(body.Features),
		Requested: f.resources("requested", body.Requested),
		MaxMemory: f.memory("max_memory", body.MaxMemoryBytes, body.MaxMemory),
	})
}

func (s *server) answer(ctx context.Context, f *form, ask *sizing.Ask) (*sizing.Allocation, error) {
	if err := f.err(ask.Validate); err != nil {
		return nil, err
	}
	if err := checkScope(ctx, ask.Try.TaskKey); err != nil {
		return nil, err
	}
	a, err := s.svc.Predict(ctx, ask)
	if err == nil {
		s.metrics.answered(a)
	}
	return a, err
}

// prediction writes an allocation; what it does not say is null.
func prediction(a *sizing.Allocation) api.Prediction {
	p := api.Prediction{
		PredictionID: a.PredictionID, Namespace: a.Task.Namespace, DagID: a.Task.DAG, TaskID: a.Task.Task,
		Memory: memory(&a.Memory), Shadow: memory(a.Shadow), Risk: api.Risk{Promised: a.Risk.Promised, Target: a.Risk.Target},
		Source: api.Source(a.Source), Mode: api.Mode(a.Mode), Model: model(a.Model), Reason: a.Reason, LadderBytes: bytesOf(a.Ladder),
	}
	if a.CPU > 0 {
		p.CPU = &api.CPU{RequestCores: float64(a.CPU), Request: a.CPU.String()}
	}
	if a.Duration != nil {
		p.Duration = &api.Duration{MedianSeconds: a.Duration.Median.Seconds(), P95Seconds: a.Duration.P95.Seconds()}
	}
	if a.Bins != nil {
		p.Bins = &api.Bins{UpperBytes: bytesOf(a.Bins.Upper), Probabilities: a.Bins.Probabilities, Chosen: a.Bins.Chosen}
	}
	return p
}

func memory(g *sizing.Grant) *api.Memory {
	if g == nil || g.Limit == 0 {
		return nil
	}
	return &api.Memory{RequestBytes: int64(g.Request), LimitBytes: int64(g.Limit), Request: g.Request.String(), Limit: g.Limit.String()}
}

func model(m *sizing.ModelRef) *api.Model {
	if m == nil {
		return nil
	}
	return &api.Model{Version: m.Version, Family: m.Family, Observations: m.Observations, TrainedAt: m.TrainedAt}
}

func bytesOf(amounts []sizing.Bytes) []int64 {
	if amounts == nil {
		return nil
	}
	plain := make([]int64, len(amounts))
	for i, b := range amounts {
		plain[i] = int64(b)
	}
	return plain
}
