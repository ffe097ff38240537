package service

import (
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func (s *Service) InFlight() int { return s.tries.Len() }

func (s *Service) PoolShare(task sizing.TaskKey) taskmodel.Pool {
	t := s.models.Find(task)
	t.RLock()
	defer t.RUnlock()
	return t.Model().Pool()
}

// BreakModel gives the model of a task a pair of inputs that do not exist, so that the model panics when it predicts or learns.
func (s *Service) BreakModel(task sizing.TaskKey) {
	t := s.models.Find(task)
	t.RLock()
	defer t.RUnlock()
	trend := &t.Model().Models.PeakTrend
	trend.Pairs = slices.Grow(trend.Pairs[:0], 1)[:1]
	trend.Pairs[0].From = sizing.MaxFields
}
