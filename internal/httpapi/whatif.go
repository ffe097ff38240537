package httpapi

import (
	"context"
	"fmt"
	"time"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/insight/whatif"
	"github.com/loadaware/loadaware/internal/sizing"
)

// whatIfWait is the time that POST /whatif waits for a result, so that a short replay needs no second request.
const whatIfWait = 2 * time.Second

// StartWhatIf starts a what-if: a replay of the history of a task or a DAG with other settings. It waits up to
// whatIfWait for the result.
func (s *server) StartWhatIf(ctx context.Context, r api.StartWhatIfRequestObject) (api.StartWhatIfResponseObject, error) {
	var f fieldReader
	q := f.whatIf(r.Body)
	if err := f.err(q.Validate); err != nil {
		return nil, err
	}
	if err := infoOf(ctx).grants.CheckTask(q.Task); err != nil {
		return nil, err
	}
	job, err := s.whatIfs.Start(ctx, q)
	if err != nil {
		return nil, err
	}
	job.Wait(ctx, whatIfWait)
	if state, _, _, err := job.Status(); state == whatif.Failed {
		return nil, err
	}
	answer := whatIfAnswer(job)
	if answer.State == api.WhatIfStateRunning {
		location := "/whatif/" + job.ID
		return api.StartWhatIf202JSONResponse{Body: answer, Headers: api.StartWhatIf202ResponseHeaders{Location: &location}}, nil
	}
	return api.StartWhatIf200JSONResponse(answer), nil
}

// GetWhatIf returns the state of a what-if and, once it is done, its result.
func (s *server) GetWhatIf(ctx context.Context, r api.GetWhatIfRequestObject) (api.GetWhatIfResponseObject, error) {
	job, err := s.whatIf(ctx, r.WhatifID)
	if err != nil {
		return nil, err
	}
	return api.GetWhatIf200JSONResponse(whatIfAnswer(job)), nil
}

// CancelWhatIf stops a what-if and removes it with its result.
func (s *server) CancelWhatIf(ctx context.Context, r api.CancelWhatIfRequestObject) (api.CancelWhatIfResponseObject, error) {
	job, err := s.whatIf(ctx, r.WhatifID)
	if err != nil {
		return nil, err
	}
	s.whatIfs.Cancel(job)
	return api.CancelWhatIf204Response{}, nil
}

// whatIf returns a what-if. If the caller may not read it, the error is NotFound, as for an unknown id.
func (s *server) whatIf(ctx context.Context, id string) (*whatif.Job, error) {
	job, err := s.whatIfs.Find(id)
	if err == nil && !infoOf(ctx).grants.Covers(job.Task) {
		return nil, whatif.Unknown(id)
	}
	return job, err
}

func (f *fieldReader) whatIf(body *api.WhatIfRequest) *whatif.Question {
	q := &whatif.Question{Task: taskKey(body.Namespace, body.DagID, valueOr(body.TaskID, "")), Set: f.features(body.Set)}
	for i := range body.Settings {
		s := body.Settings[i]
		if s == nil {
			f.add(fmt.Sprintf("settings[%d]", i), "must be an object")
			continue
		}
		settings := whatif.Settings{RiskTarget: s.RiskTarget, MaxLifts: s.MaxLifts, Floor: (*sizing.Bytes)(s.FloorBytes), Cap: (*sizing.Bytes)(s.CapBytes)}
		for _, b := range s.Bins {
			settings.Bins = append(settings.Bins, sizing.Bytes(b))
		}
		q.Settings = append(q.Settings, settings)
	}
	return q
}

func whatIfAnswer(job *whatif.Job) api.WhatIf {
	state, progress, report, err := job.Status()
	answer := api.WhatIf{ID: job.ID, State: api.WhatIfState(state), Progress: progress}
	if err != nil {
		text := err.Error()
		answer.Error = &text
	}
	if report == nil {
		return answer
	}
	current := whatIfResult(&report.Current)
	answer.Rows, answer.LeftOut, answer.Current = &report.Rows, &report.LeftOut, &current
	for i := range report.Results {
		answer.Results = append(answer.Results, whatIfResult(&report.Results[i]))
	}
	if s := report.Set; s != nil {
		answer.Set = &api.WhatIfShift{Runs: s.Runs, Before: grantQuantiles(s.Before), After: grantQuantiles(s.After)}
	}
	return answer
}

func whatIfResult(r *whatif.Result) api.WhatIfResult {
	s := &r.Settings
	return api.WhatIfResult{
		Settings: api.WhatIfSettings{
			RiskTarget: s.RiskTarget, MaxLifts: s.MaxLifts, FloorBytes: (*int64)(s.Floor), CapBytes: (*int64)(s.Cap), Bins: int64s(s.Bins),
		},
		Rows: r.Rows, UtilisationPercent: r.Utilisation, UsedGbh: r.UsedGBh, WastedGbh: r.WastedGBh, KilledPercent: r.Killed,
		Lifts: r.Lifts, GaveUp: r.GaveUp, PromisedPercent: r.Promised, RealisedPercent: r.Realised,
	}
}

func grantQuantiles(q whatif.Quantiles) api.GrantQuantiles {
	return api.GrantQuantiles{P25Bytes: int64(q.P25), P50Bytes: int64(q.P50), P75Bytes: int64(q.P75), P95Bytes: int64(q.P95)}
}
