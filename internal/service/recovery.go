package service

import (
	"fmt"
	"runtime/debug"

	"github.com/loadaware/loadaware/internal/sizing"
)

// recoverPanic calls f. If f panics, it logs the panic and returns false.
func (s *Service) recoverPanic(operation string, task sizing.TaskKey, f func()) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error(operation+" panicked; report this error", "task", task.String(), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	f()
	return true
}

// compute calls answer, which uses c.model. If answer panics, compute replaces c.model by the model of its outline, as after
// an eviction, and calls answer again. The caller holds the task's read lock.
func (s *Service) compute(c *allocator, task sizing.TaskKey, answer func()) {
	if s.recoverPanic("the model of a task", task, answer) {
		return
	}
	c.model, c.hasFailed = c.model.Outline().Model(), true
	answer()
}
