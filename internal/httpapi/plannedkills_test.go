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

// TestKillsOfPlansAreNotChargedToTheStaticGrant reports many kills at the start limits of plans, which are below the static
// grant. The lifts after these kills are at least the static grant, and the kills do not widen the next grant.
func TestKillsOfPlansAreNotChargedToTheStaticGrant(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportDetailed(0, 40)
	e.post("/tasks/ml/train/train", "")
	require.NoError(t, e.trainer.LearnPlans(t.Context(), time.Now()))
	e.do(http.MethodPut, "/tasks/ml/train/policy", `{"phases": "memory"}`)
	const (
		ask  = `{"dag_id": "ml", "task_id": "train", "run_id": %q, "try_number": %d, "requested": {"memory": "20G", "cpu": "4"}}`
		lift = `{"dag_id": "ml", "task_id": "train", "run_id": %q, "reason": "oom_killed", "failed": {"memory_bytes": %d}}`
		kill = `{"dag_id": "ml", "task_id": "train", "run_id": %q, "outcome": "oom_killed", "duration_seconds": 60,
			"allocated": {"memory_bytes": %d}, "executed_plan": {"version": 1, "mode": "memory", "followed": true}}`
	)
	var other, after api.Prediction
	e.post("/predict", fmt.Sprintf(ask, "other", 1)).into(&other)
	for i := range 12 {
		run := fmt.Sprintf("killed-%d", i)
		var first, second api.Prediction
		e.post("/predict", fmt.Sprintf(ask, run, 1)).into(&first)
		require.NotNil(t, first.Plan)
		start, static := first.Plan.Start.MemoryBytes, first.Plan.StaticBytes
		require.Less(t, start, static)
		if i%2 == 0 { // otherwise only the lift reports the kill
			e.post("/observe", fmt.Sprintf(kill, run, start))
		}
		var lifted api.Lift
		e.post("/retry-lift", fmt.Sprintf(lift, run, start)).into(&lifted)
		require.NotNil(t, lifted.Memory, lifted.Reason)
		assert.GreaterOrEqual(t, lifted.Memory.LimitBytes, max(static, start*3/2), run)
		e.post("/predict", fmt.Sprintf(ask, run, 2)).into(&second)
		assert.Equal(t, lifted.Memory.LimitBytes, second.Memory.LimitBytes)
		assert.Nil(t, second.Plan)
	}
	e.post("/predict", fmt.Sprintf(ask, "after", 1)).into(&after)
	assert.NotContains(t, after.Reason, "widened")
	assert.InEpsilon(t, float64(other.Memory.LimitBytes), float64(after.Memory.LimitBytes), .05, "%s\n%s", other.Reason, after.Reason)
}
