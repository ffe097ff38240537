package httpapi

import (
	"context"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/insight/explain"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Explain explains the answer that /predict would return.
func (s *server) Explain(ctx context.Context, r api.ExplainRequestObject) (api.ExplainResponseObject, error) {
	var f fieldReader
	ask := f.ask(r.Body)
	if err := f.err(ask.Validate); err != nil {
		return nil, err
	}
	if err := infoOf(ctx).grants.CheckTask(ask.Try.TaskKey); err != nil {
		return nil, err
	}
	e, err := explain.New(s.svc).Ask(ctx, ask)
	if err != nil {
		return nil, err
	}
	return api.Explain200JSONResponse(explanationAnswer(e)), nil
}

// ExplainPrediction explains a recorded answer. It answers 404 to a caller without access to the task.
func (s *server) ExplainPrediction(ctx context.Context, r api.ExplainPredictionRequestObject) (api.ExplainPredictionResponseObject, error) {
	receipt, err := s.receipt(ctx, r.PredictionID)
	if err != nil {
		return nil, err
	}
	e, err := explain.New(s.svc).Receipt(ctx, receipt)
	if err != nil {
		return nil, err
	}
	return api.ExplainPrediction200JSONResponse(explanationAnswer(e)), nil
}

func explanationAnswer(e *explain.Explanation) api.Explanation {
	chain := chainAnswer(&e.Chain)
	answer := api.Explanation{
		Namespace: e.Try.Namespace, DagID: e.Try.DAG, TaskID: e.Try.Task,
		GrantedBytes: chain.GrantedBytes, BaseBytes: chain.BaseBytes, Base: chain.Base, ExpectedBytes: chain.ExpectedBytes, Terms: chain.Terms,
		Nearest: make([]api.SimilarRun, 0, len(e.Nearest)), LadderBytes: append([]int64{}, int64s(e.Ladder)...),
		Risk: api.Risk{Promised: e.Risk.Promised, Target: e.Risk.Target}, Source: api.Source(e.Source), Mode: api.Mode(e.Mode),
		Model: modelAnswer(e.Model), Reason: e.Reason, Text: e.Text,
	}
	if e.Shadow != nil {
		shadow := chainAnswer(e.Shadow)
		answer.Shadow = &shadow
	}
	for _, run := range e.Nearest {
		answer.Nearest = append(answer.Nearest, api.SimilarRun{
			RunID: run.RunID, MapIndex: run.MapIndex, TryNumber: run.TryNumber, EndedAt: run.At, Outcome: api.Outcome(run.Outcome.String()),
			MemoryMaxBytes: int64(run.Peak), Distance: run.Distance,
		})
	}
	if k := e.Killed; k != nil {
		answer.Killed = &api.KilledTry{KilledBytes: int64(k.At), NeededBytes: bytesOrNil(k.Needed), WouldHoldBytes: bytesOrNil(k.WouldHold), Text: k.Text}
	}
	if e.Note != "" {
		answer.Note = &e.Note
	}
	return answer
}

func chainAnswer(c *explain.Chain) api.ExplanationChain {
	answer := api.ExplanationChain{
		GrantedBytes: int64(c.Granted), BaseBytes: int64(c.Base), Base: c.BaseName, ExpectedBytes: bytesOrNil(c.Expected),
		Terms: make([]api.ExplanationTerm, 0, len(c.Terms)),
	}
	for i := range c.Terms {
		answer.Terms = append(answer.Terms, termAnswer(&c.Terms[i]))
	}
	return answer
}

func termAnswer(t *explain.Term) api.ExplanationTerm {
	answer := api.ExplanationTerm{Kind: api.ExplanationTermKind(t.Kind), Name: t.Name, Factor: t.Factor, BytesAfter: int64(t.After)}
	if t.Value != "" {
		answer.Value = &t.Value
	}
	return answer
}

// bytesOrNil returns a pointer to an amount, or nil for zero, which means unknown.
func bytesOrNil(b sizing.Bytes) *int64 {
	if b == 0 {
		return nil
	}
	n := int64(b)
	return &n
}
