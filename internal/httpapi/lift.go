package httpapi

import (
	"context"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// RetryLift answers after a kill.
func (s *server) RetryLift(ctx context.Context, r api.RetryLiftRequestObject) (api.RetryLiftResponseObject, error) {
	var f form
	b := r.Body
	reason, _ := sizing.ParseOutcome(string(or(b.Reason, api.OutcomeOomKilled))) // the middle names an unknown one
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
	if err := checkScope(ctx, ask.Try.TaskKey); err != nil {
		return nil, err
	}
	lift, err := s.svc.Lift(ctx, ask)
	if err != nil {
		return nil, err
	}
	s.metrics.lifted(&lift)
	callOf(ctx).prediction = lift.PredictionID
	return api.RetryLift200JSONResponse(liftAnswer(&lift)), nil
}

func liftAnswer(l *sizing.Lift) api.Lift {
	answer := api.Lift{
		Retry: l.Retry, Verdict: api.Verdict(l.Verdict), Attempt: l.Attempt, AttemptsLeft: l.AttemptsLeft,
		Memory: memory(&l.Memory), Shadow: memory(l.Shadow), Reason: l.Reason,
	}
	if l.PredictionID != "" {
		answer.PredictionID = &l.PredictionID
	}
	return answer
}
