package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
)

// executedOf returns a report of a try with an executed plan. The task is that of reportDetailed in phases_test.go.
func executedOf(run, outcome, plan string) string {
	return fmt.Sprintf(`{"dag_id": "ml", "task_id": "train", "run_id": %q, "outcome": %q, "allocated": {"memory": "2G"}, "duration_seconds": 900, "executed_plan": %s}`, run, outcome, plan)
}

const followed = `{"version": 1, "mode": "memory", "followed": true, "start_bytes": 1500000000, "resizes": [
	{"seconds": 30, "memory_bytes": 2000000000, "cpu_millicores": null, "result": "applied", "in_force_seconds": 31.5}]}`

func TestFirstExecutedPlanOfATryStays(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportDetailed(0, 1)
	add := func(plan string) map[string]any {
		return e.post("/observe", fmt.Sprintf(`{"dag_id": "ml", "task_id": "train", "run_id": "past-0", "outcome": "success", "executed_plan": %s}`, plan)).json()
	}
	assert.Equal(t, map[string]any{"recorded": true, "duplicate": false, "amended": true}, add(followed))
	duplicate := map[string]any{"recorded": true, "duplicate": true, "amended": false}
	assert.Equal(t, duplicate, add(followed))
	assert.Equal(t, duplicate, add(`{"version": 2, "mode": "cpu", "followed": false, "fallback": "refused"}`), "another plan is no contradiction")
	assert.Equal(t, duplicate, add("null"))
}

func TestInvalidExecutedPlansAreRejected(t *testing.T) {
	e := newTestEnv(t, noAuth)
	for name, plan := range map[string]string{
		"version 0":                `{"version": 0, "mode": "memory", "followed": true}`,
		"an unknown mode":          `{"version": 1, "mode": "disk", "followed": true}`,
		"a negative start":         `{"version": 1, "mode": "memory", "followed": true, "start_bytes": -1}`,
		"a negative time":          `{"version": 1, "mode": "memory", "followed": true, "resizes": [{"seconds": -1, "result": "applied"}]}`,
		"an empty result":          `{"version": 1, "mode": "memory", "followed": true, "resizes": [{"seconds": 1, "result": ""}]}`,
		"a negative time in force": `{"version": 1, "mode": "memory", "followed": true, "resizes": [{"seconds": 1, "result": "applied", "in_force_seconds": -1}]}`,
		"an enormous amount":       `{"version": 1, "mode": "memory", "followed": true, "resizes": [{"seconds": 1, "result": "applied", "memory_bytes": 9007199254740993}]}`,
	} {
		got := e.do(http.MethodPost, "/observe", executedOf("r", "success", plan))
		assert.Equal(t, http.StatusUnprocessableEntity, got.status, name)
		assert.Contains(t, string(got.body), "executed_plan", name)
	}
}

// Kills of tries that followed a plan in mode memory raise the price of a kill, so that the next plan starts with more
// memory. Kills of tries with other executed plans change nothing.
func TestOutcomesOfFollowedPlansCorrectTheNextPlan(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportDetailed(0, 6)
	learn := func() (p api.TaskPhases) {
		require.NoError(t, e.trainer.LearnPlans(t.Context(), time.Now()))
		e.do(http.MethodGet, "/tasks/ml/train/phases?runs=0", "").into(&p)
		return p
	}
	before := learn()
	require.NotNil(t, before.Plan)
	for name, plan := range map[string]string{
		"fallback": `{"version": 1, "mode": "memory", "followed": false, "fallback": "infeasible"}`,
		"cpu":      `{"version": 1, "mode": "cpu", "followed": true}`,
	} {
		e.post("/observe", executedOf(name, "oom_killed", plan))
	}
	assert.Equal(t, before, learn(), "kills of tries that followed no memory plan do not change the next plan")

	for i := range 30 {
		e.post("/observe", executedOf(fmt.Sprintf("killed-%d", i), "oom_killed", followed))
	}
	after := learn()
	assert.Equal(t, before.Version+1, after.Version)
	require.NotNil(t, after.Plan)
	assert.Greater(t, after.Plan.StartBytes, before.Plan.StartBytes)
	assert.Equal(t, before.Savings, after.Savings, "a report without a detailed series is not replayed")
}
