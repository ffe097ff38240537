package httpapi

import (
	"context"
	"fmt"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/httpapi/codec"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Observe stores one report.
func (s *server) Observe(ctx context.Context, r api.ObserveRequestObject) (api.ObserveResponseObject, error) {
	o, err := readObservation(ctx, r.Body)
	if err != nil {
		return nil, err
	}
	results, err := s.svc.Observe(ctx, []sizing.Observation{o.Observation})
	if err != nil {
		return nil, err
	}
	results[0].Warnings = append(results[0].Warnings, o.warnings...)
	s.metrics.countObservation(&o.Observation, &results[0])
	if err := results[0].Err; err != nil {
		return nil, err
	}
	return api.Observe200JSONResponse{
		Recorded: true, Duplicate: results[0].Duplicate, Amended: results[0].Amended, Warnings: warnings("", results[0].Warnings),
	}, nil
}

// ObserveBatch stores many reports. An invalid item does not affect the others.
func (s *server) ObserveBatch(ctx context.Context, r api.ObserveBatchRequestObject) (api.ObserveBatchResponseObject, error) {
	raw := r.Body.Observations
	if err := checkBatch("observations", len(raw)); err != nil {
		return nil, err
	}
	answers := make([]api.RecordedOrError, len(raw))
	valid := make([]sizing.Observation, 0, len(raw))
	ignored := make([][]sizing.FieldError, 0, len(raw)) // warnings about ignored parts of valid[i]
	index := make([]int, 0, len(raw))                   // index of valid[i] in raw
	reject := func(i int, err error) {
		answers[i] = api.RecordedOrError{Error: s.itemProblem(ctx, err, fmt.Sprintf("observations[%d].", i))}
	}
	for i := range raw {
		o, err := s.observationItem(ctx, raw[i])
		if err != nil {
			reject(i, err)
			continue
		}
		valid, index, ignored = append(valid, o.Observation), append(index, i), append(ignored, o.warnings)
	}
	results, err := s.svc.Observe(ctx, valid)
	if err != nil {
		return nil, err
	}
	for j := range results {
		s.metrics.countObservation(&valid[j], &results[j])
		if results[j].Err != nil {
			reject(index[j], results[j].Err)
			continue
		}
		answers[index[j]] = api.RecordedOrError{
			Recorded: true, Duplicate: results[j].Duplicate, Amended: results[j].Amended,
			Warnings: warnings(fmt.Sprintf("observations[%d].", index[j]), append(results[j].Warnings, ignored[j]...)),
		}
	}
	return api.ObserveBatch200JSONResponse{Results: answers}, nil
}

// warnings converts warnings; `prefix` precedes their field names.
func warnings(prefix string, all []sizing.FieldError) []api.Warning {
	var out []api.Warning
	for _, w := range all {
		out = append(out, api.Warning{Field: prefix + w.Field, Detail: w.Detail})
	}
	return out
}

type decodedReport struct {
	sizing.Observation
	warnings []sizing.FieldError
}

func (s *server) observationItem(ctx context.Context, raw []byte) (decodedReport, error) {
	var body api.Observation
	if !codec.ReadObservation(raw, &body) {
		if err := s.decodeItem(raw, &body); err != nil {
			return decodedReport{}, err
		}
	}
	return readObservation(ctx, &body)
}

func readObservation(ctx context.Context, body *api.Observation) (decodedReport, error) {
	var f fieldReader
	outcome, _ := sizing.ParseOutcome(string(body.Outcome)) // Validate reports an unknown outcome
	o := sizing.Observation{
		Try:           tryKey(taskKey(body.Namespace, body.DagID, body.TaskID), body.RunID, body.MapIndex, body.TryNumber),
		Outcome:       outcome,
		MemoryMax:     f.memory("memory_max", body.MemoryMaxBytes, body.MemoryMax),
		MemorySampled: f.memory("memory_sampled", body.MemorySampledBytes, nil),
		CPUMax:        f.cpu("cpu_max", body.CPUMaxCores, nil),
		Duration:      f.duration("duration_seconds", body.DurationSeconds),
		StartedAt:     f.time("started_at", body.StartedAt),
		EndedAt:       f.time("ended_at", body.EndedAt),
		Allocated:     f.resources("allocated", body.Allocated),
		Requested:     f.resources("requested", body.Requested),
		Features:      f.features(body.Features),
		PredictionID:  f.id("prediction_id", body.PredictionID),
		Provisional:   valueOr(body.Provisional, false),
		Series:        readSeries(body.UsageSeries),
		Executed:      readExecutedPlan(body.ExecutedPlan),
		Metadata:      f.metadata(body.Metadata),
		Usage:         api.UsageValues(body.Usage),
		Placement:     sizing.Placement{NodeType: valueOr(body.NodeType, ""), ClusterLoad: body.ClusterLoad},
	}
	if s := body.DetailedSeries; s != nil {
		o.Detailed = sizing.NewSeries(s.StepSeconds, s.MemoryBytes, s.CPUCores)
	}
	if err := f.err(o.Validate); err != nil {
		return decodedReport{Observation: o}, err
	}
	return decodedReport{o, f.warnings}, infoOf(ctx).grants.CheckTask(o.Try.TaskKey)
}

// VoidObservation deletes a report.
func (s *server) VoidObservation(ctx context.Context, r api.VoidObservationRequestObject) (api.VoidObservationResponseObject, error) {
	b := r.Body
	try := tryKey(taskKey(b.Namespace, b.DagID, b.TaskID), b.RunID, b.MapIndex, b.TryNumber)
	if invalid := try.Validate(true); len(invalid) > 0 {
		return nil, invalidFields(invalid)
	}
	if err := infoOf(ctx).grants.CheckTask(try.TaskKey); err != nil {
		return nil, err
	}
	if err := s.svc.Void(ctx, try); err != nil {
		return nil, err
	}
	return api.VoidObservation200JSONResponse{Voided: true}, nil
}

// readSeries converts a usage series; the service validates it.
func readSeries(s *api.UsageSeries) *sizing.Series {
	if s == nil {
		return nil
	}
	return sizing.NewSeries(s.StepSeconds, s.MemoryBytes, s.CPUCores)
}

// readExecutedPlan converts an executed plan; the service validates it.
func readExecutedPlan(b *api.ExecutedPlan) *sizing.ExecutedPlan {
	if b == nil {
		return nil
	}
	p := &sizing.ExecutedPlan{
		Version: b.Version, Mode: sizing.PhasesMode(b.Mode), Followed: b.Followed, Start: sizing.Bytes(valueOr(b.StartBytes, 0)), Fallback: valueOr(b.Fallback, ""),
	}
	for _, r := range b.Resizes {
		p.Resizes = append(p.Resizes, sizing.ExecutedResize{
			Seconds: r.Seconds, Memory: sizing.Bytes(valueOr(r.MemoryBytes, 0)), CPUMillicores: valueOr(r.CPUMillicores, 0), Result: r.Result, InForce: r.InForceSeconds,
		})
	}
	return p
}

// GetSeries returns the usage series of one try.
func (s *server) GetSeries(ctx context.Context, r api.GetSeriesRequestObject) (api.GetSeriesResponseObject, error) {
	p := r.Params
	try := tryKey(taskKey(p.Namespace, r.DagID, r.TaskID), p.RunID, p.MapIndex, p.TryNumber)
	if invalid := try.Validate(true); len(invalid) > 0 {
		return nil, invalidFields(invalid)
	}
	if err := infoOf(ctx).grants.CheckTask(try.TaskKey); err != nil {
		return nil, err
	}
	series, err := s.svc.Series(ctx, try)
	if err != nil {
		return nil, err
	}
	return api.GetSeries200JSONResponse{StepSeconds: series.Step.Seconds(), MemoryBytes: series.Memory, CPUCores: series.CPU}, nil
}
