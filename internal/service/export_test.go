package service

import "github.com/loadaware/loadaware/internal/sizing"

// InFlight returns the number of tries that were predicted here and have not ended.
func (s *Service) InFlight() int { return s.tries.Len() }

// LearnedPromises returns the decayed sums of the promises, by age, that the model of a task has compared with outcomes.
func (s *Service) LearnedPromises(task sizing.TaskKey) [10]float64 {
	t := s.models.Find(task)
	t.RLock()
	defer t.RUnlock()
	return t.Model().Pool().Promised
}
