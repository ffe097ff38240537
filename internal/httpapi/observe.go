package httpapi

import (
	"context"
	"fmt"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Observe records one report.
func (s *server) Observe(ctx context.Context, r api.ObserveRequestObject) (api.ObserveResponseObject, error) {
	o, err := s.observation(ctx, r.Body)
	if err != nil {
		return nil, err
	}
	results, err := s.svc.Observe(ctx, []sizing.Observation{o})
	if err != nil {
		return nil, err
	}
	s.metrics.observed(&o, &results[0])
	if err := results[0].Err; err != nil {
		return nil, err
	}
	return api.Observe200JSONResponse{
		Recorded: true, Duplicate: results[0].Duplicate, Amended: results[0].Amended, Warnings: warnings("", results[0].Warnings),
	}, nil
}

// ObserveBatch records many; an item that fails, fails alone.
func (s *server) ObserveBatch(ctx context.Context, r api.ObserveBatchRequestObject) (api.ObserveBatchResponseObject, error) {
	raw := r.Body.Observations
	if err := checkBatch("observations", len(raw)); err != nil {
		return nil, err
	}
	answers := make([]api.RecordedOrError, len(raw))
	good := make([]sizing.Observation, 0, len(raw))
	place := make([]int, 0, len(raw)) // of good[i] in raw
	reject := func(i int, err error) {
		answers[i] = api.RecordedOrError{Error: s.itemProblem(ctx, err, fmt.Sprintf("observations[%d].", i))}
	}
	for i := range raw {
		o, err := s.observationItem(ctx, raw[i])
		if err != nil {
			reject(i, err)
			continue
		}
		good, place = append(good, o), append(place, i)
	}
	results, err := s.svc.Observe(ctx, good)
	if err != nil {
		return nil, err
	}
	for j := range results {
		s.metrics.observed(&good[j], &results[j])
		if results[j].Err != nil {
			reject(place[j], results[j].Err)
			continue
		}
		answers[place[j]] = api.RecordedOrError{
			Recorded: true, Duplicate: results[j].Duplicate, Amended: results[j].Amended,
			Warnings: warnings(fmt.Sprintf("observations[%d].", place[j]), results[j].Warnings),
		}
	}
	return api.ObserveBatch200JSONResponse{Results: answers}, nil
}

// warnings writes warnings, their fields named behind prefix.
func warnings(prefix string, all []sizing.FieldError) []api.Warning {
	var out []api.Warning
	for _, w := range all {
		out = append(out, api.Warning{Field: prefix + w.Field, Detail: w.Detail})
	}
	return out
}

func (s *server) observationItem(ctx context.Context, raw []byte) (sizing.Observation, error) {
	var body api.Observation
	if !quickReport(raw, &body) {
		if err := s.decodeItem(raw, &body); err != nil {
			return sizing.Observation{}, err
		}
	}
	return s.observation(ctx, &body)
}

// observation reads a report.
func (s *server) observation(ctx context.Context, body *api.Observation) (sizing.Observation, error) {
	var f form
	outcome, _ := sizing.ParseOutcome(string(body.Outcome)) // the middle names an unknown one
	o := sizing.Observation{
		Try:           tryKey(taskKey(body.Namespace, body.DagID, body.TaskID), body.RunID, body.MapIndex, body.TryNumber),
		Outcome:       outcome,
		MemoryMax:     f.memory("memory_max", body.MemoryMaxBytes, body.MemoryMax),
		MemorySampled: f.memory("memory_sampled", body.MemorySampledBytes, nil),
		CPUMax:        f.cpu("cpu_max", body.CPUMaxCores, nil),
		Duration:      f.seconds("duration_seconds", body.DurationSeconds),
		StartedAt:     f.time("started_at", body.StartedAt),
		EndedAt:       f.time("ended_at", body.EndedAt),
		Allocated:     f.resources("allocated", body.Allocated),
		Requested:     f.resources("requested", body.Requested),
		Features:      f.features(body.Features),
		PredictionID:  f.id("prediction_id", body.PredictionID),
		Series:        seriesOf(body.UsageSeries),
	}
	if err := f.err(o.Validate); err != nil {
		return o, err
	}
	return o, checkScope(ctx, o.Try.TaskKey)
}

// VoidObservation takes a report back.
func (s *server) VoidObservation(ctx context.Context, r api.VoidObservationRequestObject) (api.VoidObservationResponseObject, error) {
	b := r.Body
	try := tryKey(taskKey(b.Namespace, b.DagID, b.TaskID), b.RunID, b.MapIndex, b.TryNumber)
	if bad := try.Validate(true); len(bad) > 0 {
		return nil, failed(bad)
	}
	if err := checkScope(ctx, try.TaskKey); err != nil {
		return nil, err
	}
	if err := s.svc.Void(ctx, try); err != nil {
		return nil, err
	}
	return api.VoidObservation200JSONResponse{Voided: true}, nil
}
