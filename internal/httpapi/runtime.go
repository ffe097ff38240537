package httpapi

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/insight/placement"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// GetTaskRunTime describes the run times of a task.
func (s *server) GetTaskRunTime(ctx context.Context, r api.GetTaskRunTimeRequestObject) (api.GetTaskRunTimeResponseObject, error) {
	key, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	var f fieldReader
	features, err := f.queryFeatures(ctx)
	if err != nil {
		return nil, err
	}
	ask := &service.RunTimeAsk{
		Task: key, Features: features, Risk: valueOr(r.Params.Risk, service.DefaultTimeoutRisk),
		Elapsed: f.seconds("elapsed_seconds", r.Params.ElapsedSeconds), Timeout: f.seconds("execution_timeout_seconds", r.Params.ExecutionTimeoutSeconds),
	}
	if err := f.err(ask.Features.Validate); err != nil {
		return nil, err
	}
	a, err := s.svc.RunTime(ctx, ask)
	if err != nil {
		return nil, err
	}
	return api.GetTaskRunTime200JSONResponse(runTimeAnswer(ask, a)), nil
}

func runTimeAnswer(ask *service.RunTimeAsk, a *service.RunTimeAnswer) api.RunTime {
	p := &a.Profile
	answer := api.RunTime{
		Namespace: ask.Task.Namespace, DagID: ask.Task.DAG, TaskID: ask.Task.Task, Runs: p.Runs,
		MedianSeconds: a.Median, P95Seconds: a.P95, P99Seconds: a.P99, LongestSeconds: a.LongestSeen,
		ExecutionTimeout:   api.SuggestedTimeout{Seconds: a.SuggestedTimeout, Risk: ask.Risk, CurrentSeconds: secondsOrNil(a.Timeout)},
		TimeoutProbability: a.TimeoutProbability,
		Newest:             api.NewestRun{Ratio: p.NewestRatio, IsOutlier: p.IsOutlier}, Drift: a.Drift,
		Histogram: api.RunTimeHistogram{Width: p.BinWidth(), Counts: make([]int, len(p.Histogram)), Predicted: p.Predicted[:]},
		Shapes:    []api.ShapeMembership{}, NoShapeProbability: p.None,
	}
	for h, n := range p.Histogram {
		answer.Histogram.Counts[h] = int(n)
	}
	for _, m := range p.Shapes {
		answer.Shapes = append(answer.Shapes, api.ShapeMembership{Name: m.Name, Probability: m.Probability, Density: m.Density[:]})
	}
	if a.Remaining != nil {
		answer.Remaining = &api.RemainingTime{MedianSeconds: a.Remaining.Median, P95Seconds: a.Remaining.P95}
	}
	return answer
}

func secondsOrNil(d time.Duration) *float64 {
	if d == 0 {
		return nil
	}
	seconds := d.Seconds()
	return &seconds
}

// GetTaskRunTimeWhatIf compares the run times of a task before and after a change.
func (s *server) GetTaskRunTimeWhatIf(ctx context.Context, r api.GetTaskRunTimeWhatIfRequestObject) (api.GetTaskRunTimeWhatIfResponseObject, error) {
	key, err := pathKey(ctx, r.Params.Namespace, r.DagID, r.TaskID)
	if err != nil {
		return nil, err
	}
	var f fieldReader
	features, err := f.queryFeatures(ctx)
	if err != nil {
		return nil, err
	}
	change := &placement.Change{
		Set: features, From: valueOr(r.Params.FromNodeType, ""),
		To: sizing.Placement{NodeType: valueOr(r.Params.NodeType, ""), ClusterLoad: r.Params.ClusterLoad},
	}
	if err := f.err(change.Validate); err != nil {
		return nil, err
	}
	w, err := s.svc.RunTimeWhatIf(ctx, key, change)
	if err != nil {
		return nil, err
	}
	return api.GetTaskRunTimeWhatIf200JSONResponse{
		Namespace: key.Namespace, DagID: key.DAG, TaskID: key.Task, Runs: w.Runs, Before: runTimeQuantiles(w.Before), After: runTimeQuantiles(w.After),
		NodeTypes: append([]string{}, w.NodeTypes...),
	}, nil
}

func runTimeQuantiles(q placement.Quantiles) api.RunTimeQuantiles {
	return api.RunTimeQuantiles{P25Seconds: q.P25, MedianSeconds: q.Median, P75Seconds: q.P75, P95Seconds: q.P95, OutlierShare: q.Outliers}
}
