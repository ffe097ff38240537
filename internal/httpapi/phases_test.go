package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/testwait"
)

const gb = 1_000_000_000

// usageAt returns the memory in bytes and the CPU in cores of a run at a second. The run needs
// little memory for 70 % of its time, and then more and more memory for its result.
func usageAt(run, second int) (memory int64, cores float64) {
	size := 1 + .08*math.Sin(float64(run)*1.7)
	collected := math.Max(0, float64(second)/(1800*size)-.7) / .3 // share of the result that is collected
	return int64(size * gb * (1 + 6*math.Min(1, collected))), 1 + 2*math.Floor(float64(second)/900)
}

// seconds returns the duration of a run in seconds.
func seconds(run int) int { return int(1800 * (1 + .08*math.Sin(float64(run)*1.7))) }

// reportDetailed reports the runs whose numbers are at least `first` and below `last`, with series in steps of 15 s.
func (e *testEnv) reportDetailed(first, last int) {
	e.t.Helper()
	for run := first; run < last; run++ {
		series := map[string]any{"step_seconds": 15}
		var memory []int64
		var cores []float64
		for at := 0; at < seconds(run); at += 15 {
			most, cpu := int64(0), 0.0
			for second := at; second < min(at+15, seconds(run)); second++ {
				m, c := usageAt(run, second)
				most, cpu = max(most, m), c
			}
			memory, cores = append(memory, most), append(cores, cpu)
		}
		series["memory_bytes"], series["cpu_cores"] = memory, cores
		body, err := json.Marshal(map[string]any{
			"dag_id": "ml", "task_id": "train", "run_id": fmt.Sprintf("past-%d", run), "outcome": "success", "memory_max_bytes": memory[len(memory)-1],
			"cpu_max_cores": 3, "duration_seconds": seconds(run), "requested": map[string]any{"memory": "20G", "cpu": "4"},
			"allocated": map[string]any{"memory": "9G", "cpu": "4"}, "detailed_series": series,
		})
		require.NoError(e.t, err)
		e.post("/observe", string(body))
	}
}

// simulateTry runs a try second by second and resizes it as POST /phase says. It returns the byte-seconds of
// its limits, and whether it was killed.
func (e *testEnv) simulateTry(run int, plan *api.Plan) (cost float64, killed bool) {
	e.t.Helper()
	limit, requested := plan.Start.MemoryBytes, plan.Start.MemoryBytes // the limit in force, and the newest requested limit
	var pending []api.PlannedLimit                                     // requested limits that are not in force yet
	next, samples, most := plan.PollSeconds, []map[string]any{}, int64(0)
	for second := range seconds(run) {
		now := float64(second)
		memory, cores := usageAt(run, second)
		for len(pending) > 0 && now >= pending[0].Seconds {
			limit, pending = pending[0].MemoryBytes, pending[1:]
		}
		cost += float64(limit)
		if memory > limit {
			return cost, true
		}
		most = max(most, memory)
		if now < next {
			continue
		}
		if samples = append(samples, map[string]any{"seconds": now, "memory_bytes": memory, "cpu_cores": cores}); len(samples) > 60 {
			samples = samples[1:]
		}
		body, err := json.Marshal(map[string]any{
			"dag_id": "ml", "task_id": "train", "run_id": fmt.Sprintf("played-%d", run), "elapsed_seconds": now, "limit_bytes": requested,
			"static_bytes": plan.StaticBytes, "memory_max_bytes": most, "samples": samples,
		})
		require.NoError(e.t, err)
		var answer api.PhaseAnswer
		e.post("/phase", string(body)).into(&answer)
		if answer.MemoryBytes > requested {
			requested = answer.MemoryBytes
			pending = append(pending, api.PlannedLimit{Seconds: now + plan.ReactionSeconds, MemoryBytes: requested})
			assert.InDelta(e.t, now+plan.ReactionSeconds, answer.BySeconds, 1e-9)
		}
		next = now + answer.AskAgainSeconds
	}
	return cost, false
}

func TestPlannedRunsCostLess(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportDetailed(0, 12)
	e.post("/tasks/ml/train/train", "")
	require.NoError(t, e.trainer.LearnPlans(t.Context(), time.Now()))
	const ask = `{"dag_id": "ml", "task_id": "train", "run_id": %q, "requested": {"memory": "20G", "cpu": "4"}}`
	var off, on api.Prediction
	e.post("/predict", fmt.Sprintf(ask, "before")).into(&off)
	require.Nil(t, off.Plan, "an answer must have no plan by default, because the policy has phases off")
	e.do(http.MethodPut, "/tasks/ml/train/policy", `{"phases": "memory"}`)

	planned, static, kills := 0.0, 0.0, 0
	for run := 12; run < 18; run++ {
		e.post("/predict", fmt.Sprintf(ask, fmt.Sprintf("played-%d", run))).into(&on)
		require.NotNil(t, on.Plan)
		assert.Equal(t, on.Memory.LimitBytes, on.Plan.StaticBytes, "callers that do not resize get the static grant")
		assert.Equal(t, api.PhasesModePhasesMemory, on.Plan.Mode)
		require.NotEmpty(t, on.Plan.Steps)
		last := on.Plan.Start.MemoryBytes
		for _, step := range on.Plan.Steps {
			assert.Greater(t, step.MemoryBytes, last)
			assert.InDelta(t, step.AfterSeconds, step.AskBySeconds+on.Plan.ReactionSeconds, 1e-9)
			last = step.MemoryBytes
		}
		assert.LessOrEqual(t, last, on.Plan.StaticBytes)
		cost, killed := e.simulateTry(run, on.Plan)
		fixed := float64(on.Plan.StaticBytes) * float64(seconds(run))
		if killed {
			kills, cost = kills+1, cost+fixed
		}
		planned, static = planned+cost, static+fixed
	}
	t.Logf("the planned runs cost %.3f of the static grants; %d of 6 were killed", planned/static, kills)
	assert.Less(t, planned/static, .75)
	assert.Zero(t, kills)
	var explained api.Explanation
	e.post("/explain", fmt.Sprintf(ask, "explained")).into(&explained)
	assert.Contains(t, explained.Reason, "; plan ", "the reason names the plan, as in the answer of /predict")

	var receipt api.Receipt
	require.Eventually(t, func() bool {
		got := e.do(http.MethodGet, "/predictions/"+on.PredictionID, "")
		return got.status == http.StatusOK && json.Unmarshal(got.body, &receipt) == nil
	}, testwait.Limit, 50*time.Millisecond)
	assert.Equal(t, on.Plan, receipt.Answer.Plan, "the receipt contains the plan")

	var phases api.TaskPhases
	e.do(http.MethodGet, "/tasks/ml/train/phases?runs=3", "").into(&phases)
	assert.Equal(t, 12, phases.Runs)
	assert.Equal(t, 11, phases.Savings.Runs)
	require.NotNil(t, phases.Savings.ShareOfStatic)
	assert.Less(t, *phases.Savings.ShareOfStatic, .95)
	assert.Zero(t, phases.Savings.PlanKilled)
	require.NotNil(t, phases.Plan)
	require.Len(t, phases.NewestRuns, 3)
	require.NotEmpty(t, phases.Phases)
	newest := phases.NewestRuns[2]
	assert.Equal(t, "past-11", newest.RunID)
	assert.Len(t, newest.Phases, len(newest.MemoryBytes))
	assert.NotEmpty(t, newest.Limits)
}

func TestPhaseSaysWhichRunsAPlanNeeds(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportDetailed(0, 2)
	require.NoError(t, e.trainer.LearnPlans(t.Context(), time.Now()))
	e.do(http.MethodPut, "/tasks/ml/train/policy", `{"phases": "memory"}`)
	var answer api.PhaseAnswer
	e.post("/phase", `{"dag_id": "ml", "task_id": "train", "run_id": "r", "elapsed_seconds": 60, "limit_bytes": 1000000000}`).into(&answer)
	assert.Contains(t, answer.Reason, "3 runs with a median of 600 seconds or more")
}

func TestPhaseAnswersTheStaticGrantWithoutAPlan(t *testing.T) {
	e := newTestEnv(t, noAuth)
	const ask = `{"dag_id": "ml", "task_id": "train", "run_id": "r", "elapsed_seconds": 60, "limit_bytes": 1000000000, "static_bytes": 3000000000}`
	phase := func() (answer api.PhaseAnswer) { e.post("/phase", ask).into(&answer); return answer }
	assert.Contains(t, phase().Reason, "phases off")
	e.do(http.MethodPut, "/tasks/ml/train/policy", `{"phases": "memory"}`)
	got := phase()
	assert.Contains(t, got.Reason, "nothing was learned")
	assert.EqualValues(t, 3*gb, got.MemoryBytes)
	assert.Nil(t, got.Version)
	assert.Equal(t, http.StatusNotFound, e.do(http.MethodGet, "/tasks/ml/train/phases", "").status)
	for name, body := range map[string]string{
		"no limit":                `{"dag_id": "ml", "task_id": "train", "run_id": "r", "elapsed_seconds": 60}`,
		"unordered samples":       `{"dag_id": "ml", "task_id": "train", "run_id": "r", "elapsed_seconds": 60, "limit_bytes": 1, "samples": [{"seconds": 9, "memory_bytes": 1}, {"seconds": 8, "memory_bytes": 1}]}`,
		"a zero maximum":          `{"dag_id": "ml", "task_id": "train", "run_id": "r", "elapsed_seconds": 60, "limit_bytes": 1, "max_memory_bytes": 0}`,
		"a negative elapsed time": `{"dag_id": "ml", "task_id": "train", "run_id": "r", "elapsed_seconds": -1, "limit_bytes": 1}`,
	} {
		assert.Equal(t, http.StatusUnprocessableEntity, e.do(http.MethodPost, "/phase", body).status, name)
	}
}
