package service

import (
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

// warnings collects what looks wrong about a report that was stored. Every check of
// one report adds to it. told is nil where the model does not learn the report now.
func (s *Service) warnings(o *sizing.Observation, t *task, told *fitting.Told, now time.Time) []sizing.FieldError {
	all := o.Warnings(now)
	if told == nil {
		return all
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
		all = append(all, sizing.FieldError{Field: field, Detail: why + ": it is stored, and changes no allocation until another report confirms it"})
	}
	return all
}

// doubt says why the model will hold back a try that it is about to learn; empty if
// it will not, or if it is not open.
func (t *task) doubt(told *fitting.Told) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.latent.Load() != nil || told.Seq <= t.loaded {
		return ""
	}
	return t.model.Doubt(*told)
}
