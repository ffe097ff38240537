package taskmodel

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func runTask(name string) sizing.TaskKey { return sizing.TaskKey{Namespace: "n", DAG: "d", Task: name} }

func TestScoreOfARun(t *testing.T) {
	var r RunErrors
	assert.Zero(t, r.Score(runTask("a"), 1), "no error is known")
	r.Add(runTask("a"), 1, RunError{Deviate: 2, Loading: 0.6})
	// One error e with the loading l gives the score l·e/(1−l²) / (1 + l²/(1−l²)) = l·e.
	assert.InDelta(t, 1.2, r.Score(runTask("b"), 1), 1e-12)
	assert.Zero(t, r.Score(runTask("a"), 1), "the error of the task itself does not count")
	assert.Zero(t, r.Score(runTask("b"), 2), "the error belongs to another run")
	assert.Zero(t, r.Score(sizing.TaskKey{Namespace: "n", DAG: "other", Task: "b"}, 1))
	assert.Zero(t, r.Score(sizing.TaskKey{Namespace: "other", DAG: "d", Task: "b"}, 1))

	r.Add(runTask("c"), 1, RunError{Deviate: 1, Loading: 0})
	assert.InDelta(t, 1.2, r.Score(runTask("b"), 1), 1e-12, "a task without a loading says nothing")
	r.Add(runTask("c"), 1, RunError{Deviate: -3, Loading: 0.3})
	r.Add(runTask("c"), 1, RunError{Deviate: 2, Loading: 0.6})
	assert.InDelta(t, (2*0.6*2/0.64)/(1+2*0.36/0.64), r.Score(runTask("b"), 1), 1e-12, "a second error replaces the first one of the task")
	r.Remove(runTask("c"), 1)
	assert.InDelta(t, 1.2, r.Score(runTask("b"), 1), 1e-12)
	r.Remove(runTask("c"), 7)
	assert.Zero(t, r.Score(runTask("b"), 7))
}

func TestRunErrorsAreBounded(t *testing.T) {
	var r RunErrors
	e := RunError{Deviate: 1, Loading: 0.5}
	for run := range uint64(maxRuns) {
		r.Add(runTask("a"), run, e)
	}
	r.Add(runTask("a"), maxRuns, e)
	assert.NotZero(t, r.Score(runTask("b"), 0), "the older runs are still known")
	r.Add(runTask("b"), 0, e) // keeps the older error of run 0
	for run := range uint64(maxRuns) {
		r.Add(runTask("a"), maxRuns+run, e)
	}
	assert.NotZero(t, r.Score(runTask("b"), 0), "a run with a newer error stays")
	assert.Zero(t, r.Score(runTask("b"), 1), "runs without a new error are dropped")
	assert.LessOrEqual(t, len(r.newer), maxRuns)
	assert.LessOrEqual(t, len(r.older), maxRuns)

	for i := range maxRunTasks + 10 {
		r.Add(runTask(fmt.Sprint(i)), 1<<40, e)
	}
	assert.Len(t, r.newer[runKeyOf(runTask(""), 1<<40)], maxRunTasks)
	assert.Zero(t, testing.AllocsPerRun(10, func() { r.Score(runTask("b"), 1<<40) }), "a prediction allocates nothing")
}

func TestRunErrorsAreSafeForConcurrentUse(t *testing.T) {
	var r RunErrors
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			name := fmt.Sprint(caller)
			for i := range 2000 {
				r.Add(runTask(name), uint64(i%3), RunError{Deviate: 1, Loading: 0.5})
				r.Score(runTask(name), uint64(i%3))
				if i%10 == 0 {
					r.Remove(runTask(name), uint64(i%3))
				}
			}
		})
	}
	callers.Wait()
	for caller := range 8 {
		r.Add(runTask(fmt.Sprint(caller)), 0, RunError{Deviate: 1, Loading: 0.5})
	}
	assert.Len(t, r.newer[runKeyOf(runTask(""), 0)], 8)
}
