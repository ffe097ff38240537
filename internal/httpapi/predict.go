package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/httpapi/codec"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Predict answers one prediction request.
func (s *server) Predict(ctx context.Context, r api.PredictRequestObject) (api.PredictResponseObject, error) {
	a, err := s.predict(ctx, r.Body)
	if err != nil {
		return nil, err
	}
	infoOf(ctx).predictionID = a.PredictionID
	p := predictionAnswer(a)
	return codec.WritePrediction(&p), nil
}

// PredictByQuery answers a prediction request in query parameters.
func (s *server) PredictByQuery(ctx context.Context, r api.PredictByQueryRequestObject) (api.PredictByQueryResponseObject, error) {
	var f fieldReader
	features, err := f.queryFeatures(ctx)
	if err != nil {
		return nil, err
	}
	p := r.Params
	ask := &sizing.Ask{
		Try:       tryKey(taskKey(p.Namespace, p.DagID, p.TaskID), valueOr(p.RunID, ""), p.MapIndex, p.TryNumber),
		Features:  features,
		Requested: sizing.Resources{Memory: f.memory("memory", nil, p.Memory), CPU: f.cpu("cpu", nil, p.CPU)},
		MaxMemory: f.memory("max_memory", nil, p.MaxMemory),
		Timeout:   f.seconds("execution_timeout_seconds", p.ExecutionTimeoutSeconds),
	}
	a, err := s.allocate(ctx, &f, ask)
	if err != nil {
		return nil, err
	}
	infoOf(ctx).predictionID = a.PredictionID
	return api.PredictByQuery200JSONResponse(predictionAnswer(a)), nil
}

// PredictBatch answers many prediction requests. An invalid item does not affect the others.
func (s *server) PredictBatch(ctx context.Context, r api.PredictBatchRequestObject) (api.PredictBatchResponseObject, error) {
	if err := checkBatch("tasks", len(r.Body.Tasks)); err != nil {
		return nil, err
	}
	s.svc.AwaitReceipts(ctx, len(r.Body.Tasks))
	problemOf := func(i int, err error) *api.Problem { return s.itemProblem(ctx, err, fmt.Sprintf("tasks[%d].", i)) }
	return codec.WritePredictions(len(r.Body.Tasks), func(i int) (api.Prediction, *api.Problem) {
		a, err := s.predictItem(ctx, r.Body.Tasks[i])
		if err != nil {
			return api.Prediction{}, problemOf(i, err)
		}
		return predictionAnswer(a), nil
	}, problemOf)
}

// predictItem answers one item of a batch. It returns a panic as an error, so that the other items are answered.
func (s *server) predictItem(ctx context.Context, raw json.RawMessage) (a *sizing.Allocation, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the prediction panicked: %v\n%s", p, debug.Stack())
		}
	}()
	var body api.PredictRequest
	if !codec.ReadPredictRequest(raw, &body) {
		if err := s.decodeItem(raw, &body); err != nil {
			return nil, err
		}
	}
	return s.predict(ctx, &body)
}

func (s *server) predict(ctx context.Context, body *api.PredictRequest) (*sizing.Allocation, error) {
	var f fieldReader
	return s.allocate(ctx, &f, f.ask(body))
}

func (f *fieldReader) ask(body *api.PredictRequest) *sizing.Ask {
	return &sizing.Ask{
		Try:       tryKey(taskKey(body.Namespace, body.DagID, body.TaskID), f.id("run_id", body.RunID), body.MapIndex, body.TryNumber),
		Features:  f.features(body.Features),
		Requested: f.resources("requested", body.Requested),
		MaxMemory: f.memory("max_memory", body.MaxMemoryBytes, body.MaxMemory),
		Metadata:  f.metadata(body.Metadata),
		Placement: sizing.Placement{NodeType: valueOr(body.NodeType, ""), ClusterLoad: body.ClusterLoad},
		Timeout:   f.seconds("execution_timeout_seconds", body.ExecutionTimeoutSeconds),
	}
}

func (s *server) allocate(ctx context.Context, f *fieldReader, ask *sizing.Ask) (*sizing.Allocation, error) {
	if err := f.err(ask.Validate); err != nil {
		return nil, err
	}
	if err := infoOf(ctx).grants.CheckTask(ask.Try.TaskKey); err != nil {
		return nil, err
	}
	a, err := s.svc.Predict(ctx, ask)
	if err == nil {
		a.Warnings = append(a.Warnings, f.warnings...)
		s.metrics.countAnswer(a)
	}
	return a, err
}

// RetryLift answers whether a failed try is repeated, and with which allocation.
func (s *server) RetryLift(ctx context.Context, r api.RetryLiftRequestObject) (api.RetryLiftResponseObject, error) {
	var f fieldReader
	b := r.Body
	reason, _ := sizing.ParseOutcome(string(valueOr(b.Reason, api.OutcomeOomKilled))) // Validate reports an unknown outcome
	ask := &sizing.LiftAsk{
		Ask: sizing.Ask{
			Try:       tryKey(taskKey(b.Namespace, b.DagID, b.TaskID), b.RunID, b.MapIndex, b.TryNumber),
			Features:  f.features(b.Features),
			Requested: f.resources("requested", b.Requested),
			MaxMemory: f.memory("max_memory", b.MaxMemoryBytes, b.MaxMemory),
		},
		Reason: reason,
		Failed: f.memory("failed.memory", b.Failed.MemoryBytes, b.Failed.Memory),
	}
	if err := f.err(ask.Validate); err != nil {
		return nil, err
	}
	if err := infoOf(ctx).grants.CheckTask(ask.Try.TaskKey); err != nil {
		return nil, err
	}
	lift, err := s.svc.Lift(ctx, ask)
	if err != nil {
		return nil, err
	}
	s.metrics.countLift(&lift)
	infoOf(ctx).predictionID = lift.PredictionID
	return api.RetryLift200JSONResponse(liftAnswer(&lift)), nil
}

func liftAnswer(l *sizing.Lift) api.Lift {
	answer := api.Lift{
		Retry: l.Retry, Verdict: api.Verdict(l.Verdict), Attempt: l.Attempt, AttemptsLeft: l.AttemptsLeft,
		Memory: memoryAnswer(&l.Memory), Shadow: memoryAnswer(l.Shadow), Reason: l.Reason,
	}
	if l.PredictionID != "" {
		answer.PredictionID = &l.PredictionID
	}
	return answer
}

func predictionAnswer(a *sizing.Allocation) api.Prediction {
	p := api.Prediction{
		PredictionID: a.PredictionID, Namespace: a.Task.Namespace, DagID: a.Task.DAG, TaskID: a.Task.Task,
		Memory: memoryAnswer(&a.Memory), Shadow: memoryAnswer(a.Shadow), Risk: api.Risk{Promised: a.Risk.Promised, Target: a.Risk.Target},
		Source: api.Source(a.Source), Mode: api.Mode(a.Mode), Model: modelAnswer(a.Model), Reason: a.Reason, LadderBytes: int64s(a.Ladder),
		Warnings: warnings("", a.Warnings), Plan: planAnswer(a.Plan),
	}
	if a.CPU > 0 {
		p.CPU = &api.CPU{RequestCores: float64(a.CPU), Request: a.CPU.String()}
	}
	p.Duration, p.Cohort = durationAnswer(a.Duration), cohortAnswer(a.Cohort)
	if a.GPUMemory != nil {
		p.GPUMemory = &api.GPUMemory{MedianBytes: int64(a.GPUMemory.Median), P95Bytes: int64(a.GPUMemory.P95)}
	}
	if a.Bins != nil {
		p.Bins = &api.Bins{UpperBytes: int64s(a.Bins.Upper), Probabilities: a.Bins.Probabilities, Chosen: a.Bins.Chosen}
	}
	return p
}

// cohortAnswer converts a cohort. It names no usage profile if the confidence is 0, because then the namespace has none.
func cohortAnswer(c *sizing.Cohort) *api.Cohort {
	if c == nil {
		return nil
	}
	answer := &api.Cohort{Tasks: c.Tasks, Runs: c.Runs}
	if c.Confidence > 0 {
		answer.Profile, answer.Confidence = &c.Profile, &c.Confidence
	}
	return answer
}

func durationAnswer(d *sizing.Duration) *api.Duration {
	if d == nil {
		return nil
	}
	answer := &api.Duration{MedianSeconds: d.Median.Seconds(), P95Seconds: d.P95.Seconds(), TimeoutProbability: d.Timeout}
	if d.P99 > 0 { // zero in receipts, which do not store it
		p99 := d.P99.Seconds()
		answer.P99Seconds, answer.OutlierProbability = &p99, &d.Outlier
	}
	if d.Shape != "" {
		answer.Shape = &d.Shape
	}
	return answer
}

func memoryAnswer(g *sizing.Grant) *api.Memory {
	if g == nil || g.Limit == 0 {
		return nil
	}
	return &api.Memory{RequestBytes: int64(g.Request), LimitBytes: int64(g.Limit), Request: g.Request.String(), Limit: g.Limit.String()}
}

func modelAnswer(m *sizing.ModelRef) *api.Model {
	if m == nil {
		return nil
	}
	return &api.Model{Version: m.Version, Family: m.Family, Observations: m.Observations, TrainedAt: m.TrainedAt}
}

func int64s(amounts []sizing.Bytes) []int64 {
	if amounts == nil {
		return nil
	}
	out := make([]int64, len(amounts))
	for i, b := range amounts {
		out[i] = int64(b)
	}
	return out
}
