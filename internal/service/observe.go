package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/service/modelcache"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// maxLearnedBeforeAck is the largest batch whose rows are learned before Observe returns. Learning a row takes longer than
// storing it, so the rows of larger batches are learned later: the caller does not wait.
const maxLearnedBeforeAck = 100

// Observe stores reports and returns after commit, with one result for each report in order.
// Invalid reports fail alone. After an error the caller repeats the whole batch.
func (s *Service) Observe(ctx context.Context, reports []sizing.Observation) ([]sizing.RecordResult, error) {
	results := make([]sizing.RecordResult, len(reports))
	valid := make([]sizing.Observation, 0, len(reports))
	index := make([]int, 0, len(reports))   // of valid[i] in reports
	warned := map[int][]sizing.FieldError{} // warnings about reports[i]
	for i := range reports {
		if bad := reports[i].Validate(); len(bad) > 0 {
			results[i].Err = invalid(bad)
			continue
		}
		report := reports[i]
		report.RunScore = s.tries.RunScore(&report.Try)
		if answer, ok := s.tries.Find(&report.Try); ok && answer.At.After(report.PredictedAt) {
			report.PredictedAt = answer.At
		}
		report.DeriveDuration()
		if warnings := append(report.BoundContext(), s.changedFeatures(&reports[i])...); len(warnings) > 0 {
			warned[i] = warnings
		}
		valid, index = append(valid, report), append(index, i)
	}
	if len(valid) == 0 {
		return results, nil
	}
	s.inheritFeatures(valid)
	recorded, err := s.store.Record(ctx, valid)
	s.rejection.update(ctx, err, s.cfg.Now())
	if err != nil {
		return nil, err
	}
	s.learnRecorded(ctx, valid, recorded)
	for i := range recorded {
		results[index[i]] = recorded[i]
	}
	for i, warnings := range warned {
		if results[i].Err == nil {
			results[i].Warnings = append(results[i].Warnings, warnings...)
		}
	}
	return results, nil
}

// learnRecorded applies the stored reports to the models and the other state in memory. It recovers from panics, because the
// answer must say that the reports are stored.
func (s *Service) learnRecorded(ctx context.Context, reports []sizing.Observation, results []sizing.RecordResult) {
	now := s.cfg.Now()
	learnsNow := len(results) <= maxLearnedBeforeAck
	later := map[*modelcache.Task][]taskmodel.TrainingRow{}
	for i := range results {
		o, r := &reports[i], &results[i]
		if r.Err != nil {
			continue
		}
		s.recoverPanic("applying a stored report", o.Try.TaskKey, func() {
			if r.Duplicate {
				s.addWarnings(r, o, nil, nil, now)
				return
			}
			task, row := s.applyReport(ctx, o, r, now)
			switch {
			case row == nil:
				s.addWarnings(r, o, task, nil, now)
			case learnsNow:
				s.addWarnings(r, o, task, row, now)
				s.models.LearnNow(task, row)
			default:
				s.addWarnings(r, o, task, nil, now)
				later[task] = append(later[task], *row)
			}
		})
	}
	for task, rows := range later {
		s.models.LearnLater(task, rows)
	}
}

// inheritFeatures completes the reports without features from memory, or else from another report of the run in the batch. The
// order of the tries in the batch has no effect. The store completes the rest.
func (s *Service) inheritFeatures(reports []sizing.Observation) {
	var ofRuns map[sizing.TryKey]sizing.Features
	for i := range reports {
		o := &reports[i]
		if o.Features != nil {
			continue
		}
		if o.Features = s.tries.Features(&o.Try); o.Features == nil {
			if ofRuns == nil {
				ofRuns = featuresOfRuns(reports)
			}
			o.Features = ofRuns[firstTry(o.Try)]
		}
		o.InheritsFeatures = o.Features != nil
	}
}

// featuresOfRuns returns the known features of the runs by the key of their first try.
func featuresOfRuns(reports []sizing.Observation) map[sizing.TryKey]sizing.Features {
	known := map[sizing.TryKey]sizing.Features{}
	for i := range reports {
		if features := reports[i].Features; features != nil {
			known[firstTry(reports[i].Try)] = features
		}
	}
	return known
}

func firstTry(try sizing.TryKey) sizing.TryKey {
	try.Number = 1
	return try
}

// changedFeatures warns of each feature whose reported value differs from the predicted one. A model that learns values known
// only at the end states too low a risk for predictions from the values before the launch.
func (s *Service) changedFeatures(o *sizing.Observation) (warnings []sizing.FieldError) {
	if len(o.Features) == 0 {
		return nil
	}
	answer, ok := s.tries.Find(&o.Try)
	if !ok {
		return nil
	}
	predicted := answer.Features()
	for _, name := range o.Features.Names() {
		was, is := predicted[name], o.Features[name]
		if was.Kind != sizing.Missing && is.Kind != sizing.Missing && (was.Kind != is.Kind || was.Num != is.Num || was.Kind == sizing.Category && was.Text != is.Text) {
			warnings = append(warnings, sizing.FieldError{Field: "features." + name, Detail: fmt.Sprintf(
				"is %v here and %v in the prediction of the try: the models learn %[1]v, but predict from values like %[2]v; send the same value, or leave the features out of the report", is.JSON(), was.JSON())})
		}
	}
	return warnings
}

// applyReport applies a committed report to the state in memory. It returns nil in place of a row if the model learns none.
// Other replicas learn the row when they next load the task.
func (s *Service) applyReport(ctx context.Context, o *sizing.Observation, r *sizing.RecordResult, now time.Time) (*modelcache.Task, *taskmodel.TrainingRow) {
	task := s.models.GetOrCreate(o.Try.TaskKey)
	if r.Late {
		return task, nil // the next training learns the report; the state in memory is that of a later run with the same run id
	}
	if replaced := r.Replaced; replaced != nil && r.Explained {
		kill := *o
		kill.Outcome, kill.Allocated.Memory = sizing.OOMKilled, cmp.Or(o.Allocated.Memory, replaced.Allocated.Memory)
		o = &kill
	}
	request := s.tries.Request(&o.Try) // of the try, completed by that of a killed try of its run
	answer, _ := s.tries.End(&o.Try)
	answer.Request = request
	if r.Replaced != nil {
		s.tries.Void(&o.Try)
		s.runs.Remove(o.Try.TaskKey, o.Try.Run())
		s.reloadVoided(ctx, &o.Try)
	}
	if r.Superseded != "" {
		s.tries.EndRun(&o.Try)
		s.runs.Remove(o.Try.TaskKey, o.Try.Run())
		task.RenameRun(o.Try.Run(), sizing.RunHash(r.Superseded, o.Try.MapIndex))
	}
	static := staticGrant(o, &answer)
	isBelowStatic := o.Outcome.OOM() && sizing.IsBelowStatic(killedAt(o), static)
	if isBelowStatic { // the promise states the risk of the static grant, not of a lower limit
		answer.Promised = nil
	}
	switch {
	case o.Outcome.OOM():
		s.tries.AddKill(&o.Try, killedAt(o), o.Features, inflight.Request{Resources: o.Requested}.Or(answer.Request), now)
		s.tries.SetStatic(&o.Try, static)
	case o.Outcome == sizing.Success:
		s.tries.EndRun(&o.Try)
	}
	if sizing.IsReproduction(o.Try.RunID) {
		return task, nil // the next training learns the report as a row with the time of the archived run
	}
	if r.Amended && r.Replaced == nil {
		if r.Explained {
			s.counts.addKill(o.Outcome)
		}
		return task, s.amendedRow(ctx, o, r)
	}
	if o.Outcome == sizing.Unschedulable {
		task.Open.AddUnschedulable(o.Allocated.Memory, o.At(now))
	}
	s.counts.add(o, &answer, r.Replaced)
	_, censoring := o.Peak()
	if isBelowStatic || censoring == sizing.OwnLimit { // neither is a reason to raise the grants of other runs
		task.Open.EndPlanned(&o.Try)
	} else {
		task.Open.End(&o.Try, o.Outcome)
	}
	row := trainingRow(o, r.Seq, &answer, now)
	if o.Outcome.OOM() {
		row.Granted = s.grantedTo(&o.Try, answer.Largest)
	}
	s.learnFirstRun(o, &row, answer.Level)
	return task, &row
}

func killedAt(o *sizing.Observation) sizing.Bytes {
	peak, _ := o.Peak()
	return cmp.Or(o.Allocated.Memory, peak)
}

// staticGrant returns the static grant of a try with a memory plan, or zero. If only the report names the plan, the static
// grant is the limit of the answer.
func staticGrant(o *sizing.Observation, answer *inflight.Answer) sizing.Bytes {
	if o.Executed != nil && o.Executed.Mode == sizing.ResizeMemory {
		return cmp.Or(answer.Static, answer.Limit)
	}
	return answer.Static
}

// reloadVoided removes a voided report from the models in memory. It flushes the outbox first, because the task's open tries
// are restored from stored receipts.
func (s *Service) reloadVoided(ctx context.Context, try *sizing.TryKey) {
	s.outbox.Flush(ctx)
	s.models.Void(ctx, try)
}

// amendedRow returns the row that adds a peak to a stored success; nil if the report adds no peak, or if the row cannot be
// read. The next training learns the reports for which it returns nil.
func (s *Service) amendedRow(ctx context.Context, o *sizing.Observation, r *sizing.RecordResult) *taskmodel.TrainingRow {
	if !r.Measured {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ReadTimeout)
	defer cancel()
	h, err := s.store.Since(ctx, o.Try.TaskKey, r.Seq-1, 1)
	if err != nil || len(h.Rows) == 0 || h.Rows[0].Seq != r.Seq {
		return nil
	}
	row := taskmodel.NewTrainingRow(&h.Schema, &h.Rows[0])
	row.Amends = true
	return &row
}

// grantedTo returns the larger of `limit`, the largest limit of the predictions for the try, and the lift after the previous
// try.
func (s *Service) grantedTo(try *sizing.TryKey, limit sizing.Bytes) sizing.Bytes {
	if try.Number > 1 {
		run := s.tries.Run(try)
		limit = max(limit, run.LiftedTo)
	}
	return limit
}

func trainingRow(o *sizing.Observation, seq int64, answer *inflight.Answer, now time.Time) taskmodel.TrainingRow {
	peak, censoring := o.Peak()
	requested := inflight.Request{Resources: o.Requested}.Or(answer.Request) // the store completes a missing request in the same way
	return taskmodel.TrainingRow{
		Seq: seq, At: o.At(now).Unix(), Features: o.Features, Outcome: o.Outcome, Peak: peak, Censoring: censoring,
		CPUMax: o.CPUMax, Duration: o.Duration, Requested: requested.Resources, Allocated: o.Allocated,
		FirstTry: o.Try.Number == 1, Promised: answer.Promised, Run: o.Try.Run(), RunScore: o.RunScore, Try: o.Try.Number,
		DAGRun: sizing.DAGRunHash(o.Try.RunID, o.Try.MapIndex), StartedAt: taskmodel.StartOf(o.Start(now)),
	}
}

// rejectionTTL is the time for which a failed write of reports makes the service unready for reports, if no later write
// succeeds. A database on a full disk, for example, answers pings but stores nothing.
const rejectionTTL = 10 * time.Second

// rejection holds the time at which the store was last unavailable for a write of reports, in Unix nanoseconds; 0 after a
// write that succeeded.
type rejection struct{ at atomic.Int64 }

func (r *rejection) update(ctx context.Context, err error, now time.Time) {
	switch {
	case err == nil:
		r.at.Store(0)
	case sizing.KindOf(err) == sizing.Unavailable && !errors.Is(ctx.Err(), context.Canceled):
		r.at.Store(now.UnixNano())
	}
}

func (r *rejection) isRecent(now time.Time) bool {
	at := r.at.Load()
	return at > 0 && now.Sub(time.Unix(0, at)) < rejectionTTL
}
