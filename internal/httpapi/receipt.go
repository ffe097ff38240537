package httpapi

import (
	"context"
	"encoding/json"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// GetReceipt finds a stored answer. To a caller of another namespace it does not
// exist.
func (s *server) GetReceipt(ctx context.Context, r api.GetReceiptRequestObject) (api.GetReceiptResponseObject, error) {
	if detail := sizing.CheckRunID(r.PredictionID); detail != "" {
		return nil, sizing.InvalidField("prediction_id", "%s", detail)
	}
	found, err := s.svc.Receipt(ctx, r.PredictionID)
	if err != nil {
		return nil, err
	}
	if !mayName(ctx, found.Ask.Try.TaskKey) {
		return nil, sizing.Errorf(sizing.NotFound, "no answer has the id %q", r.PredictionID)
	}
	answer, err := receipt(&found)
	return api.GetReceipt200JSONResponse(answer), err
}

func receipt(r *sizing.Receipt) (api.Receipt, error) {
	ask, err := question(&r.Ask)
	guard := api.Guard{Version: r.Allocation.Guard.Version, Params: r.Allocation.Guard.Params}
	if guard.Params == nil {
		guard.Params = []float64{}
	}
	return api.Receipt{
		PredictionID: r.Allocation.PredictionID, AnsweredAt: r.At, Ask: ask, Answer: prediction(&r.Allocation), Guard: guard,
	}, err
}

// question writes an ask as it could have been sent.
func question(a *sizing.Ask) (api.PredictRequest, error) {
	q := api.PredictRequest{
		Namespace: &a.Try.Namespace, DagID: a.Try.DAG, TaskID: a.Try.Task, MapIndex: &a.Try.MapIndex, TryNumber: &a.Try.Number,
		Requested: resources(a.Requested),
	}
	if a.Try.RunID != "" {
		q.RunID = &a.Try.RunID
	}
	q.MaxMemoryBytes, q.MaxMemory = amount(a.MaxMemory)
	if a.Features == nil {
		return q, nil
	}
	plain := make(map[string]any, len(a.Features))
	for name, v := range a.Features {
		plain[name] = plainValue(v)
	}
	var err error
	q.Features, err = json.Marshal(plain)
	return q, err
}

func plainValue(v sizing.Value) any {
	switch v.Kind {
	case sizing.Number:
		return v.Num
	case sizing.Bool:
		return v.Num == 1
	case sizing.Category, sizing.Date:
		return v.Text
	}
	return nil
}
