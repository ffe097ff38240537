package httpapi

import (
	"context"
	"encoding/json"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// GetReceipt returns a stored answer. It answers 404 to a caller without access to the task.
func (s *server) GetReceipt(ctx context.Context, r api.GetReceiptRequestObject) (api.GetReceiptResponseObject, error) {
	found, err := s.receipt(ctx, r.PredictionID)
	if err != nil {
		return nil, err
	}
	answer, err := receiptAnswer(found)
	return api.GetReceipt200JSONResponse(answer), err
}

func (s *server) receipt(ctx context.Context, predictionID string) (*sizing.Receipt, error) {
	if detail := sizing.CheckRunID(predictionID); detail != "" {
		return nil, sizing.InvalidField("prediction_id", "%s", detail)
	}
	found, err := s.svc.Receipt(ctx, predictionID)
	if err != nil {
		return nil, err
	}
	if !infoOf(ctx).grants.Covers(found.Ask.Try.TaskKey) {
		return nil, sizing.UnknownPrediction(predictionID)
	}
	return &found, nil
}

func receiptAnswer(r *sizing.Receipt) (api.Receipt, error) {
	ask, err := askAnswer(&r.Ask)
	guard := api.Guard{Version: r.Allocation.Guard.Version, Params: r.Allocation.Guard.Params}
	if guard.Params == nil {
		guard.Params = []float64{}
	}
	return api.Receipt{
		PredictionID: r.Allocation.PredictionID, AnsweredAt: r.At, Ask: ask, Answer: predictionAnswer(&r.Allocation), Guard: guard,
	}, err
}

// askAnswer converts the parts of a request that a receipt stores to the form in which clients send them.
func askAnswer(a *sizing.Ask) (api.PredictRequest, error) {
	q := api.PredictRequest{
		Namespace: &a.Try.Namespace, DagID: a.Try.DAG, TaskID: a.Try.Task, MapIndex: &a.Try.MapIndex, TryNumber: &a.Try.Number,
		Requested: resourcesAnswer(a.Requested),
	}
	if a.Try.RunID != "" {
		q.RunID = &a.Try.RunID
	}
	q.MaxMemoryBytes, q.MaxMemory = amountAnswer(a.MaxMemory)
	if a.Features == nil {
		return q, nil
	}
	values := make(map[string]any, len(a.Features))
	for name, v := range a.Features {
		values[name] = v.JSON()
	}
	var err error
	q.Features, err = json.Marshal(values)
	return q, err
}
