package httpapi

import (
	"context"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// seriesOf reads what a try used over time; the middle looks at it.
func seriesOf(s *api.UsageSeries) *sizing.Series {
	if s == nil {
		return nil
	}
	return sizing.NewSeries(s.StepSeconds, s.MemoryBytes, s.CPUCores)
}

// GetSeries is what one try used over time.
func (s *server) GetSeries(ctx context.Context, r api.GetSeriesRequestObject) (api.GetSeriesResponseObject, error) {
	p := r.Params
	try := tryKey(taskKey(p.Namespace, r.DagID, r.TaskID), p.RunID, p.MapIndex, p.TryNumber)
	if bad := try.Validate(true); len(bad) > 0 {
		return nil, failed(bad)
	}
	if err := checkScope(ctx, try.TaskKey); err != nil {
		return nil, err
	}
	found, err := s.svc.Series(ctx, try)
	if err != nil {
		return nil, err
	}
	return api.GetSeries200JSONResponse{StepSeconds: found.Step.Seconds(), MemoryBytes: found.Memory, CPUCores: found.CPU}, nil
}
