package service

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Observe records what was told, and answers after commit: one answer for each,
// in order; those that are Invalid fail alone. An error means that nothing of the
// call is certain: repeat it whole.
func (s *Service) Observe(ctx context.Context, told []sizing.Observation) ([]sizing.RecordResult, error) {
	results := make([]sizing.RecordResult, len(told))
	valid := make([]sizing.Observation, 0, len(told))
	place := make([]int, 0, len(told)) // of valid[i] in told
	for i := range told {
		if bad := told[i].Validate(); len(bad) > 0 {
			results[i].Err = invalid(bad)
			continue
		}
		valid, place = append(valid, s.withFeatures(told[i])), append(place, i)
	}
	if len(valid) == 0 {
		return results, nil
	}
	recorded, err := s.store.Record(ctx, valid)
	s.heed(ctx, err)
	if err != nil {
		return nil, err
	}
	now := s.cfg.Now()
	behind := map[*task][]fitting.TrainingRow{}
	for i := range recorded {
		results[place[i]] = recorded[i]
		r := &recorded[i]
		if r.Err != nil {
			continue
		}
		if r.Duplicate {
			results[place[i]].Warnings = s.warnings(&valid[i], nil, nil, now)
			continue
		}
		t, told := s.heard(ctx, &valid[i], r, now)
		atOnce := told != nil && len(recorded) <= learnAtOnce
		if atOnce {
			results[place[i]].Warnings = s.warnings(&valid[i], t, told, now)
		} else {
			results[place[i]].Warnings = s.warnings(&valid[i], t, nil, now)
		}
		switch {
		case told == nil:
		case atOnce:
			s.learnNow(t, *told)
		default:
			behind[t] = append(behind[t], *told)
		}
	}
	for t, told := range behind {
		s.learnSoon(t, told)
	}
	return results, nil
}

// withFeatures fills in the features of the prediction that was made here for the same
// try, else those of a killed try of the same run; the store knows those that were made
// elsewhere.
func (s *Service) withFeatures(o sizing.Observation) sizing.Observation {
	if o.Features == nil {
		o.Features = s.tries.Features(&o.Try)
	}
	return o
}

// heard lets the memory of this replica know what was just committed, and returns what
// its model is to learn; nil: nothing. Others learn it by the next training.
func (s *Service) heard(ctx context.Context, o *sizing.Observation, r *sizing.RecordResult, now time.Time) (*task, *fitting.TrainingRow) {
	t := s.tasks.get(o.Try.TaskKey)
	before, _ := s.tries.End(&o.Try)
	if r.Replaced {
		s.tries.Void(&o.Try)
		s.withdrawn(ctx, &o.Try)
	}
	switch {
	case o.Outcome.OOM():
		had, _ := o.Peak()
		if o.Allocated.Memory > 0 {
			had = o.Allocated.Memory
		}
		s.tries.AddKill(&o.Try, had, o.Features, inflight.Request{Resources: o.Requested}.Or(before.Request), now)
	case o.Outcome == sizing.Success:
		s.tries.EndRun(&o.Try)
	}
	if r.Amended && !r.Replaced {
		return t, s.amended(ctx, o, r) // the row was learned when it came
	}
	if o.Outcome == sizing.Unschedulable {
		t.open.AddUnschedulable(o.Allocated.Memory, endOf(o, now))
	}
	s.counts.ended(o, before)
	t.open.End(&o.Try, o.Outcome)
	told := toldOf(o, r.Seq, before)
	if o.Outcome.OOM() {
		told.Granted = s.grantedTo(&o.Try, before.Limit)
	}
	return t, &told
}

// amended is what a model learns at once of an amendment: the peak that a success lacked.
// Other details wait for the training, and so does the peak where the read fails.
func (s *Service) amended(ctx context.Context, o *sizing.Observation, r *sizing.RecordResult) *fitting.TrainingRow {
	if !r.Measured {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.LaterTryRead)
	defer cancel()
	h, err := s.store.Since(ctx, o.Try.TaskKey, r.Seq-1, 1)
	if err != nil || len(h.Rows) == 0 || h.Rows[0].Seq != r.Seq {
		return nil
	}
	told := fitting.NewTrainingRow(&h.Schema, &h.Rows[0])
	told.Amends = true
	return &told
}

// grantedTo is what this replica answered a try: by an answer before the launch, or by
// the lift after the try before it.
func (s *Service) grantedTo(try *sizing.TryKey, limit sizing.Bytes) sizing.Bytes {
	if try.Number > 1 {
		limit = max(limit, s.tries.Run(try).LiftedTo)
	}
	return limit
}

// endOf is when a try ended, as the store has it.
func endOf(o *sizing.Observation, now time.Time) time.Time {
	switch {
	case !o.EndedAt.IsZero():
		return o.EndedAt
	case !o.StartedAt.IsZero():
		return o.StartedAt
	}
	return now
}

func toldOf(o *sizing.Observation, seq int64, before inflight.Answer) fitting.TrainingRow {
	peak, censoring := o.Peak()
	return fitting.TrainingRow{
		Seq: seq, Features: o.Features, Outcome: o.Outcome, Peak: peak, Censoring: censoring,
		CPUMax: o.CPUMax, Duration: o.Duration, Requested: o.Requested, Allocated: o.Allocated,
		FirstTry: o.Try.Number == 1, Promised: before.Promised, Run: o.Try.Run(), Try: o.Try.Number,
	}
}
