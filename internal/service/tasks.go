package service

import (
	"context"

	"github.com/loadaware/loadaware/internal/insight/groups"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// maxRealised is the largest number of a task's newest answers from which its realised risk
// (sizing.RealisedRisk) is computed.
const maxRealised = 5_000

// Tasks lists the profiles (summaries) of tasks of a namespace ("" for all) in the order of their keys: at most `limit`
// tasks, whose keys are greater than `after`. The profiles have no realised risk.
func (s *Service) Tasks(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error) {
	profiles, err := s.store.Tasks(ctx, namespace, after, limit)
	grouped := s.groups(ctx)
	for i := range profiles {
		s.completeProfile(&profiles[i], grouped)
	}
	return profiles, err
}

// TasksBrief lists profiles like Tasks, but without the request, the schema and the quantiles of the duration. It
// reads the quantiles of memory only of the few tasks whose group depends on them, because one quantile reads
// thousands of observations.
func (s *Service) TasksBrief(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error) {
	profiles, err := s.store.TasksBrief(ctx, namespace, after, limit)
	if err != nil {
		return nil, err
	}
	grouped := s.groups(ctx)
	for i := range profiles {
		p := &profiles[i]
		if _, isClustered := grouped[p.Task]; !isClustered && p.LargestPeak >= sizing.LightBytes {
			full, err := s.store.Task(ctx, p.Task) // not found if it was deleted meanwhile
			if err != nil && sizing.KindOf(err) != sizing.NotFound {
				return nil, err
			}
			p.Memory = full.Memory
		}
		s.completeProfile(p, grouped)
	}
	return profiles, nil
}

// Owners returns the owner of each task of a namespace ("" for all) with an owner in its metadata.
func (s *Service) Owners(ctx context.Context, namespace string) (map[sizing.TaskKey]string, error) {
	return s.store.Owners(ctx, namespace)
}

// Task returns the profile (summary) of a task with its realised risk.
func (s *Service) Task(ctx context.Context, task sizing.TaskKey) (sizing.Profile, error) {
	p, err := s.store.Task(ctx, task)
	if err != nil {
		return p, err
	}
	s.models.Get(ctx, task) // decodes the model
	s.completeProfile(&p, s.groups(ctx))
	realised, err := s.store.Realised(ctx, task, maxRealised)
	if err != nil {
		return p, err
	}
	p.Realised = realised
	p.Realised.Low, p.Realised.High = sizing.WilsonInterval(realised.Killed, realised.Tries)
	return p, nil
}

// completeProfile sets the group, and the fields that come from the model in memory. If the largest or the smallest peak is
// in quarantine, it limits the largest peak and the quantiles of the peaks to the range of the learned peaks. The group of a
// clustered task does not depend on this limit: it was computed from all peaks.
func (s *Service) completeProfile(p *sizing.Profile, grouped groups.Groups) {
	if task := s.models.Find(p.Task); task != nil {
		task.RLock()
		defer task.RUnlock()
		model := task.Model()
		p.Ambiguous, p.Bins = model.AmbiguityWarning(), model.Bins
		p.Quarantined = model.Quarantined()
		if largest := model.LargestConfirmed(p.LargestPeak); largest < p.LargestPeak {
			p.LargestPeak, p.Memory = largest, p.Memory.AtMost(float64(largest))
		}
		if p.Memory.Min > 0 { // known
			p.Memory = p.Memory.AtLeast(float64(model.SmallestConfirmed(sizing.Bytes(p.Memory.Min))))
		}
	}
	p.Group = grouped.Of(p.Task, p.Memory)
}

// DeleteTask deletes a task and its data, except its audit trail.
func (s *Service) DeleteTask(ctx context.Context, task sizing.TaskKey) error {
	s.outbox.Flush(ctx) // queued receipts are deleted too
	if err := s.store.DeleteTask(ctx, task); err != nil {
		return err
	}
	s.models.Delete(task)
	return nil
}

// Rename moves the data of a task, except its audit trail, to another name.
func (s *Service) Rename(ctx context.Context, from, to sizing.TaskKey) error {
	if bad := to.Validate(); len(bad) > 0 {
		return invalid(bad)
	}
	s.outbox.Flush(ctx) // queued receipts are renamed too
	if err := s.store.Rename(ctx, from, to); err != nil {
		return err
	}
	s.models.RefreshOrLog(ctx, from)
	s.models.RefreshOrLog(ctx, to)
	return nil
}

// Policy returns the policy of a task, or the zero Policy if none is set.
func (s *Service) Policy(ctx context.Context, task sizing.TaskKey) (sizing.Policy, error) {
	return s.store.Policy(ctx, task)
}

// SetPolicy replaces the policy of a task. The zero Policy does not create an unknown task.
func (s *Service) SetPolicy(ctx context.Context, task sizing.TaskKey, p sizing.Policy) error {
	if bad := p.Validate(); len(bad) > 0 {
		return invalid(bad)
	}
	if p.IsZero() {
		if _, err := s.store.Task(ctx, task); sizing.KindOf(err) == sizing.NotFound {
			return nil
		}
	}
	if err := s.store.SetPolicy(ctx, task, p); err != nil {
		return err
	}
	s.models.SetPolicy(task, p)
	return nil
}

// Void deletes a report and its effects, and makes the task due for a training.
func (s *Service) Void(ctx context.Context, try sizing.TryKey) error {
	if err := s.store.Void(ctx, try); err != nil {
		return err
	}
	s.tries.Void(&try)
	s.runs.Remove(try.TaskKey, try.Run())
	s.reloadVoided(ctx, &try)
	return s.store.MarkDue(ctx, try.TaskKey, s.cfg.Now())
}

// Series returns the usage series of a try.
func (s *Service) Series(ctx context.Context, try sizing.TryKey) (sizing.Series, error) {
	return s.store.Series(ctx, try)
}

// Receipt returns the receipt of a prediction, whether or not it is stored yet.
func (s *Service) Receipt(ctx context.Context, predictionID string) (sizing.Receipt, error) {
	if r, ok := s.outbox.Find(predictionID); ok {
		return r, nil
	}
	return s.store.Receipt(ctx, predictionID)
}

// Audit lists at most `limit` changes, newest first.
func (s *Service) Audit(ctx context.Context, f store.AuditFilter, limit int) ([]store.AuditEntry, error) {
	return s.store.Audit(ctx, f, limit)
}
