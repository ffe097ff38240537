package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/testwait"
)

// shapeTasks is the number of tasks with shapes: half of them are steady, and half are flaky. A run of a flaky
// task takes three times as long as usual with a probability of 30 %.
const shapeTasks = 40

// imageOf returns the metadata of a steady or a flaky task, as JSON. The image predicts the shape of the task.
func imageOf(isSteady bool) string {
	if isSteady {
		return `{"image": "steady", "operator": "PodOperator"}`
	}
	return `{"image": "flaky", "operator": "PodOperator"}`
}

func (e *testEnv) reportShapes() {
	e.t.Helper()
	rng := rand.New(rand.NewPCG(23, 1))
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range shapeTasks {
		var items []string
		for k := range 24 {
			seconds := 100 * math.Exp(.02*rng.NormFloat64())
			if i%2 == 1 && rng.Float64() < .3 {
				seconds *= 3
			}
			items = append(items, fmt.Sprintf(`{"dag_id": "shapes", "task_id": "task%d", "run_id": "r%d", "outcome": "success", "memory_max_bytes": 1000000000, "duration_seconds": %.3f,
				"started_at": %q, "metadata": %s}`, i, k, seconds, start.Add(time.Duration(k*shapeTasks+i)*time.Hour).Format(time.RFC3339), imageOf(i%2 == 0)))
		}
		e.post("/observe/batch", `{"observations": [`+strings.Join(items, ",")+`]}`)
		_, err := e.trainer.TrainNow(e.t.Context(), sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "shapes", Task: fmt.Sprint("task", i)})
		require.NoError(e.t, err)
	}
	require.NoError(e.t, e.trainer.LearnShapes(e.t.Context(), time.Now()))
	require.Eventually(e.t, func() bool {
		d := e.durationOf("new", imageOf(true))
		return d != nil && d.Shape != nil
	}, testwait.Limit, 200*time.Millisecond)
}

func (e *testEnv) durationOf(task, metadata string) *api.Duration {
	e.t.Helper()
	var p api.Prediction
	e.post("/predict", fmt.Sprintf(`{"dag_id": "shapes", "task_id": %q, "requested": {"memory_bytes": 4000000000}, "execution_timeout_seconds": 200, "metadata": %s}`, task, metadata)).into(&p)
	return p.Duration
}

func TestShapesOfTasksWithFewRuns(t *testing.T) {
	e := newPollingTestEnv(t, noAuth, time.Second)
	e.reportShapes()
	t.Run("metadata predict the shape of a new task", func(t *testing.T) { testPredictedShape(t, e) })
	t.Run("answers to odd run times are within bounds", func(t *testing.T) { testOddRunTimes(t, e) })
}

func testPredictedShape(t *testing.T, e *testEnv) {
	steady, flaky := e.durationOf("new", imageOf(true)), e.durationOf("new", imageOf(false))
	assert.NotEqual(t, steady.Shape, flaky.Shape)
	assert.InDelta(t, 100, steady.MedianSeconds, 20)
	assert.Less(t, steady.P95Seconds, .7*flaky.P95Seconds)
	assert.Greater(t, flaky.P95Seconds, 250.)
	assert.Less(t, *steady.TimeoutProbability, .5**flaky.TimeoutProbability)
	assert.Greater(t, *flaky.TimeoutProbability, .1, "three of ten runs take 300 s, which exceeds the timeout of 200 s")

	for k := range 6 { // none takes three times as long
		e.post("/observe", fmt.Sprintf(`{"dag_id": "shapes", "task_id": "new", "run_id": "r%d", "outcome": "success", "memory_max_bytes": 1000000000, "duration_seconds": %d, "metadata": %s}`,
			k, 100+k%2, imageOf(false)))
	}
	r := e.runTimeOf("new", 5)
	assert.InDelta(t, 1, r.Drift, 1e-9)
	assert.NotEmpty(t, r.Shapes)
	assert.Greater(t, e.durationOf("new", imageOf(false)).P95Seconds, e.durationOf("new", imageOf(true)).P95Seconds, "six runs do not outweigh the image")
}

// runTimeOf waits until a task has learned a number of run times, and returns the answer of GET …/runtime.
func (e *testEnv) runTimeOf(task string, runs int) (r api.RunTime) {
	e.t.Helper()
	require.Eventually(e.t, func() bool {
		a := e.do(http.MethodGet, "/tasks/shapes/"+task+"/runtime", "")
		return a.status == http.StatusOK && json.Unmarshal(a.body, &r) == nil && r.Runs == runs
	}, testwait.Limit, 20*time.Millisecond)
	return r
}

func manyFields() string {
	var fields []string
	for i := range 30 {
		fields = append(fields, fmt.Sprintf(`"field%d": ["%s", "b"]`, i, strings.Repeat("x", 100)))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func testOddRunTimes(t *testing.T, e *testEnv) {
	same := func(seconds float64) func(int) float64 { return func(int) float64 { return seconds } }
	for name, c := range map[string]struct {
		runs     int
		seconds  func(run int) float64
		outcome  string
		metadata string
	}{
		"equal-times":          {8, same(77), "success", imageOf(true)},
		"one-run":              {1, same(77), "success", imageOf(false)},
		"zero-seconds":         {8, same(0), "success", imageOf(true)},
		"tiny-times":           {8, same(1e-9), "success", imageOf(true)},
		"times-of-years":       {8, same(315_360_000), "success", imageOf(false)},
		"mixed-times":          {8, func(run int) float64 { return []float64{0, 315_360_000, 1e-3, 60}[run%4] }, "success", imageOf(true)},
		"killed-runs":          {8, same(50), "oom_killed", imageOf(true)},
		"failed-runs":          {8, same(50), "failed", imageOf(true)},
		"unicode-metadata":     {8, same(50), "success", `{"image": "bild-ü-漢字-😀", "öwner": ["團隊", "\u0301e"]}`},
		"many-metadata-fields": {8, same(50), "success", manyFields()},
		"no-metadata":          {8, same(50), "success", `{}`},
	} {
		t.Run(name, func(t *testing.T) {
			for k := range c.runs {
				peak := `"memory_max_bytes": 1000000000`
				if c.outcome == "oom_killed" {
					peak = `"allocated": {"memory_bytes": 1000000000}`
				}
				a := e.post("/observe", fmt.Sprintf(`{"dag_id": "shapes", "task_id": %q, "run_id": "r%d", "outcome": %q, %s, "duration_seconds": %g, "node_type": "m5", "cluster_load": %g, "metadata": %s}`,
					name, k, c.outcome, peak, c.seconds(k), float64(k%2), c.metadata))
				require.Less(t, a.status, 300, string(a.body))
				checkDuration(t, e.durationOf(name, c.metadata))
			}
			a := e.do(http.MethodGet, "/tasks/shapes/"+name+"/runtime?elapsed_seconds=10", "")
			if a.status == http.StatusNotFound {
				return
			}
			require.Equal(t, http.StatusOK, a.status, string(a.body))
			var r api.RunTime
			a.into(&r)
			assert.LessOrEqual(t, r.MedianSeconds, r.P95Seconds)
			assert.LessOrEqual(t, r.P95Seconds, r.P99Seconds)
			assert.LessOrEqual(t, r.P99Seconds, sizing.MaxDuration.Seconds())
			assert.LessOrEqual(t, r.ExecutionTimeout.Seconds, sizing.MaxDuration.Seconds())
			assert.GreaterOrEqual(t, r.Remaining.MedianSeconds, 0.)
			assert.LessOrEqual(t, r.Remaining.P95Seconds, sizing.MaxDuration.Seconds())
			sum := r.NoShapeProbability
			for _, s := range r.Shapes {
				sum += s.Probability
			}
			assert.InDelta(t, 1, sum, 1e-9)
		})
	}
}

// checkDuration requires that the quantiles of a run time are in order, and that these and the probabilities
// are within bounds; nil is accepted.
func checkDuration(t *testing.T, d *api.Duration) {
	t.Helper()
	if d == nil {
		return
	}
	assert.GreaterOrEqual(t, d.MedianSeconds, 0.)
	assert.LessOrEqual(t, d.MedianSeconds, d.P95Seconds)
	require.NotNil(t, d.P99Seconds)
	assert.LessOrEqual(t, d.P95Seconds, *d.P99Seconds)
	assert.LessOrEqual(t, *d.P99Seconds, sizing.MaxDuration.Seconds())
	require.NotNil(t, d.OutlierProbability)
	assert.InDelta(t, .5, *d.OutlierProbability, .5)
	assert.InDelta(t, .5, *d.TimeoutProbability, .5)
}
