package taskmodel

import (
	"sync"

	"github.com/loadaware/loadaware/internal/sizing"
)

// RunErrors holds the errors of the predictions for the tasks of the newest runs, in all DAGs. It is safe for concurrent use;
// the zero RunErrors is empty. Each replica has its own, which is empty after a start.
type RunErrors struct {
	mu           sync.RWMutex
	newer, older map[runKey][]taskError // when newer is full, it replaces older
}

// With these limits RunErrors takes at most 20 MB: an error takes 32 bytes. DAGs with many tasks need only the newest errors,
// because these determine the run score well.
const (
	maxRuns     = 4096 // largest number of runs in newer, and in older
	maxRunTasks = 64   // tasks of a run whose errors are stored, the newest ones
)

type runKey struct {
	namespace, dag string
	run            uint64 // sizing.RunHash
}

type taskError struct {
	task string
	RunError
}

func runKeyOf(task sizing.TaskKey, run uint64) runKey { return runKey{task.Namespace, task.DAG, run} }

// Add adds the error of a task in a run, in place of an earlier error of this task in the run. run is its sizing.RunHash.
func (r *RunErrors) Add(task sizing.TaskKey, run uint64, e RunError) {
	key := runKeyOf(task, run)
	r.mu.Lock()
	defer r.mu.Unlock()
	errors, ok := r.newer[key]
	if !ok {
		if errors = r.older[key]; len(r.newer) >= maxRuns {
			r.newer, r.older = nil, r.newer
		}
		if r.newer == nil {
			r.newer = map[runKey][]taskError{}
		}
	}
	errors = withoutTask(errors, task.Task)
	if len(errors) >= maxRunTasks {
		errors = errors[1:]
	}
	r.newer[key] = append(errors, taskError{task.Task, e})
}

// Remove removes the error of a task in a run, because its report was voided (deleted).
func (r *RunErrors) Remove(task sizing.TaskKey, run uint64) {
	key := runKeyOf(task, run)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, runs := range [...]map[runKey][]taskError{r.newer, r.older} {
		if errors, ok := runs[key]; ok {
			runs[key] = withoutTask(errors, task.Task)
		}
	}
}

// withoutTask returns a copy of errors without a task. The copy leaves the old slice unchanged, which Score may be reading.
func withoutTask(errors []taskError, task string) []taskError {
	others := make([]taskError, 0, len(errors)+1)
	for _, e := range errors {
		if e.task != task {
			others = append(others, e)
		}
	}
	return others
}

// Score returns the run score of a task in a run: the expected factor of the run, given the errors of the run's other tasks
// (the regression score of Thurstone 1935). The factor has mean 0 and standard deviation 1. The score is 0 if no error is
// known.
func (r *RunErrors) Score(task sizing.TaskKey, run uint64) float64 {
	weighted, information := 0.0, 0.0
	for _, e := range r.of(runKeyOf(task, run)) {
		if e.task != task.Task {
			remainder := 1 - e.Loading*e.Loading // variance of the part of the error that the factor does not cause
			weighted += e.Loading * e.Deviate / remainder
			information += e.Loading * e.Loading / remainder
		}
	}
	return weighted / (1 + information)
}

// of returns the errors of a run. The caller must not change the result.
func (r *RunErrors) of(key runKey) []taskError {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if errors, ok := r.newer[key]; ok {
		return errors
	}
	return r.older[key]
}
