package service

import (
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/service/modelcache"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// addWarnings adds the warnings about a stored report to its result. It recovers from panics, so that the model learns the
// report even after a panic.
func (s *Service) addWarnings(r *sizing.RecordResult, o *sizing.Observation, task *modelcache.Task, row *taskmodel.TrainingRow, now time.Time) {
	s.recoverPanic("checking a stored report", o.Try.TaskKey, func() {
		r.Warnings = append(r.Warnings, s.warnings(o, task, row, now)...)
	})
}

// warnings returns the warnings about a report. `task` is nil for a duplicate, and `row` is nil if the model does not learn
// the report before it is acknowledged.
func (s *Service) warnings(o *sizing.Observation, task *modelcache.Task, row *taskmodel.TrainingRow, now time.Time) []sizing.FieldError {
	all := o.Warnings(now)
	if task == nil {
		return all
	}
	task.RLock()
	defer task.RUnlock()
	all = append(all, task.Model().Warnings(o.Features)...)
	if row == nil || !task.WillLearn(row) {
		return all
	}
	if reason := task.Model().QuarantineCoresReason(*row); reason != "" {
		all = addConsequence(all, "cpu_max_cores", reason, "it changes no CPU request unless another report confirms it")
	}
	if reason := task.Model().QuarantineReason(*row); reason != "" {
		consequence := "it changes no allocation, even if another report confirms it"
		if task.Model().CanBeConfirmed(row) {
			consequence = "it changes no allocation unless another report confirms it"
		}
		all = addConsequence(all, peakField(o), reason, consequence)
	}
	if reason := task.Model().ContradictionReason(*row); reason != "" {
		all = addConsequence(all, peakField(o), reason, "several such runs raise the grants of the task")
	}
	return all
}

func peakField(o *sizing.Observation) string {
	switch {
	case o.MemoryMax > 0:
		return "memory_max_bytes"
	case o.MemorySampled > 0:
		return "memory_sampled_bytes"
	}
	return "allocated.memory_bytes"
}

func addConsequence(all []sizing.FieldError, field, reason, consequence string) []sizing.FieldError {
	for i := range all {
		if all[i].Field == field {
			all[i].Detail = joinConsequence(all[i].Detail, consequence)
			return all
		}
	}
	return append(all, sizing.FieldError{Field: field, Detail: joinConsequence(reason, consequence)})
}

func joinConsequence(reason, consequence string) string {
	if strings.HasSuffix(reason, "?") {
		return reason + " " + strings.ToUpper(consequence[:1]) + consequence[1:]
	}
	return reason + "; " + consequence
}
