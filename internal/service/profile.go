package service

import (
	"context"

	"github.com/loadaware/loadaware/internal/sizing"
)

// realisedOver is how many of a task's newest answers are held against what
// happened.
const realisedOver = 5_000

// Tasks lists profiles after a key, at most limit, without their realised risk.
func (s *Service) Tasks(ctx context.Context, namespace string, after sizing.TaskKey, limit int) ([]sizing.Profile, error) {
	profiles, err := s.store.Tasks(ctx, namespace, after, limit)
	for i := range profiles {
		s.complete(&profiles[i])
	}
	return profiles, err
}

// Task is one profile, whole.
func (s *Service) Task(ctx context.Context, task sizing.TaskKey) (sizing.Profile, error) {
	p, err := s.store.Task(ctx, task)
	if err != nil {
		return p, err
	}
	s.opened(ctx, task)
	s.complete(&p)
	realised, err := s.store.Realised(ctx, task, realisedOver)
	if err != nil {
		return p, err
	}
	p.Realised = realised
	p.Realised.Low, p.Realised.High = sizing.WilsonInterval(realised.Killed, realised.Tries)
	return p, nil
}

// complete fills in what is known here and not in the store.
func (s *Service) complete(p *sizing.Profile) {
	p.Group = sizing.GroupOf(p.Memory)
	if t := s.tasks.find(p.Task); t != nil {
		t.mu.RLock()
		p.Ambiguous, p.Bins = t.model.Ambiguous(), t.model.Bins
		p.Quarantined = t.model.Quarantined()
		t.mu.RUnlock()
	}
}
