package service

import (
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

// warnings collects what looks wrong about a report that was stored. Every check of
// one report adds to it. t is nil where nothing new was stored; told is nil where the model does not learn the report now.
func (s *Service) warnings(o *sizing.Observation, t *task, told *fitting.TrainingRow, now time.Time) []sizing.FieldError {
	all := o.Warnings(now)
	if t == nil {
		return all
	}
	all = append(all, t.oddFeatures(o.Features)...)
	if told == nil {
		return all
	}
	if why := t.doubtCores(told); why != "" {
		all = remark(all, "cpu_max_cores", why, "it changes no CPU request unless another report confirms it")
	}
	if why := t.doubt(told); why != "" {
		field := "memory_max_bytes"
		switch {
		case o.MemoryMax > 0:
		case o.MemorySampled > 0:
			field = "memory_sampled_bytes"
		default:
			field = "allocated.memory_bytes"
		}
		all = remark(all, field, why, consequenceOf(told))
	}
	return all
}

// consequenceOf says what a report that is held back does to allocations.
func consequenceOf(told *fitting.TrainingRow) string {
	if told.Confirmable() {
		return "it changes no allocation unless another report confirms it"
	}
	return "it changes no allocation, whatever other reports say"
}

// remark says what follows from a warning of a field; without one, it says why first.
func remark(all []sizing.FieldError, field, why, consequence string) []sizing.FieldError {
	for i := range all {
		if all[i].Field == field {
			all[i].Detail += "; " + consequence
			return all
		}
	}
	return append(all, sizing.FieldError{Field: field, Detail: why + "; " + consequence})
}

// doubt says why the model will hold back a try that it is about to learn; empty if
// it will not, or if it is not open.
func (t *task) doubt(told *fitting.TrainingRow) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.latent.Load() != nil || told.Seq <= t.loaded {
		return ""
	}
	return t.model.QuarantineReason(*told)
}

// doubtCores says why the model will hold back the CPU measurement of a try that it is
// about to learn; empty if it will not, or if it is not open.
func (t *task) doubtCores(told *fitting.TrainingRow) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.latent.Load() != nil || told.Seq <= t.loaded {
		return ""
	}
	return t.model.QuarantineCoresReason(*told)
}

// oddFeatures are the features that the task's model does not use as they were sent.
func (t *task) oddFeatures(f sizing.Features) []sizing.FieldError {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.model.Warnings(f)
}
