package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/testwait"
)

// reportWorkflow reports runs of a DAG in which the task "fit" starts when the task "load" has ended. The task "load" takes
// as many seconds as the value of the feature "rows", and "fit" takes twice as many, ± 10 % per run.
func (e *testEnv) reportWorkflow(runs int) {
	var items []string
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range runs {
		rows := 50 + 10*(i%7)
		factor := 1 + .1*math.Sin(float64(i))
		at := start.Add(time.Duration(i) * time.Hour)
		for k, task := range []string{"load", "fit"} {
			seconds := float64(rows*(k+1)) * factor
			ended := at.Add(time.Duration(seconds * float64(time.Second)))
			items = append(items, fmt.Sprintf(`{"dag_id": "etl", "task_id": %q, "run_id": "r%d", "outcome": "success", "memory_max_bytes": %d, "duration_seconds": %.3f,
				"started_at": %q, "ended_at": %q, "features": {"rows": %d}}`, task, i, (k+1)*rows*10_000_000, seconds, at.Format(time.RFC3339Nano), ended.Format(time.RFC3339Nano), rows))
			at = ended
		}
	}
	e.post("/observe/batch", `{"observations": [`+strings.Join(items, ",")+`]}`)
	e.awaitRunTimes(runs)
}

// awaitRunTimes waits until the models of the tasks "load" and "fit" have learned all runs: they learn a batch after the
// server has answered POST /observe/batch. The field `runs` of an answer does not count the first run, because no
// prediction was possible before it.
func (e *testEnv) awaitRunTimes(runs int) {
	e.t.Helper()
	for _, task := range []string{"load", "fit"} {
		require.Eventually(e.t, func() bool {
			var r api.RunTime
			a := e.do(http.MethodGet, "/tasks/etl/"+task+"/runtime", "")
			return a.status == http.StatusOK && json.Unmarshal(a.body, &r) == nil && r.Runs == runs-1
		}, testwait.Limit, 20*time.Millisecond)
	}
}

// A clock of whole seconds reports tries of less than a second as 0 seconds. Such a duration is not unknown.
func TestZeroSecondsAreAShortRunTime(t *testing.T) {
	e := newTestEnv(t, noAuth)
	report := func(task string, run int, field string) {
		e.post("/observe", fmt.Sprintf(`{"dag_id": "etl", "task_id": %q, "run_id": "r%d", "outcome": "success", "memory_max_bytes": %d%s}`, task, run, 1_000_000_000+run*1_000_000, field))
	}
	for i := range 24 {
		seconds := []int{0, 0, 0, 100_000}[i%4]
		report("short", i, `, "duration_seconds": 0`)
		report("mixed", i, fmt.Sprintf(`, "duration_seconds": %d`, seconds))
		report("untimed", i, "")
	}
	median := func(task string) float64 {
		var p api.Prediction
		e.post("/predict", fmt.Sprintf(`{"dag_id": "etl", "task_id": %q, "run_id": "next"}`, task)).into(&p)
		require.NotNil(t, p.Duration, task)
		return p.Duration.MedianSeconds
	}
	assert.InDelta(t, .5, median("short"), .01)
	assert.Less(t, median("mixed"), 10.0)
	assert.Equal(t, http.StatusOK, e.do(http.MethodGet, "/tasks/etl/short/runtime", "").status)
	assert.Equal(t, http.StatusNotFound, e.do(http.MethodGet, "/tasks/etl/untimed/runtime", "").status)
	report("untimed", 0, `, "duration_seconds": 0`) // fills the unknown duration
	var profile api.TaskProfile
	e.do(http.MethodGet, "/tasks/etl/untimed", "").into(&profile)
	require.NotNil(t, profile.DurationSeconds)
	assert.Equal(t, .5, profile.DurationSeconds.Max)
}

func TestRunTimesDependOnTheFeatures(t *testing.T) {
	e := newTestEnv(t, noAuth)
	assert.Equal(t, http.StatusNotFound, e.do(http.MethodGet, "/tasks/etl/fit/runtime", "").status)
	e.reportWorkflow(60)
	var p api.Prediction
	e.post("/predict", `{"dag_id": "etl", "task_id": "fit", "run_id": "next", "features": {"rows": 100}, "execution_timeout_seconds": 210}`).into(&p)
	require.NotNil(t, p.Duration)
	assert.InEpsilon(t, 200, p.Duration.MedianSeconds, .1)
	assert.LessOrEqual(t, p.Duration.P95Seconds, *p.Duration.P99Seconds)
	assert.InDelta(t, .4, *p.Duration.TimeoutProbability, .3)

	require.Equal(t, http.StatusOK, e.do(http.MethodGet, "/predict?dag_id=etl&task_id=fit&rows=100&execution_timeout_seconds=60", "").status)
	var r api.RunTime
	e.do(http.MethodGet, "/tasks/etl/fit/runtime?rows=100&elapsed_seconds=190", "").into(&r)
	assert.InEpsilon(t, p.Duration.MedianSeconds, r.MedianSeconds, 1e-4, "GET …/runtime must give the value of POST /predict")
	assert.InEpsilon(t, p.Duration.P95Seconds, r.P95Seconds, 1e-4, "GET …/runtime must give the value of POST /predict")
	assert.InEpsilon(t, *p.Duration.P99Seconds, r.P99Seconds, 1e-4, "GET …/runtime must give the value of POST /predict")
	assert.Equal(t, 59, r.Runs, "59 of the 60 runs must count, because no prediction was made before the first one")
	assert.InEpsilon(t, 210, *r.ExecutionTimeout.CurrentSeconds, 1e-9, "the timeout of the newest try; the later request without a run_id belongs to no try")
	require.NotNil(t, r.Remaining)
	assert.Less(t, r.Remaining.MedianSeconds, 100.0)
	assert.Empty(t, r.Shapes, "no shapes are learned yet")

	var all, riskier api.RunTime
	e.do(http.MethodGet, "/tasks/etl/fit/runtime", "").into(&all)
	e.do(http.MethodGet, "/tasks/etl/fit/runtime?risk=0.2", "").into(&riskier)
	assert.Greater(t, all.ExecutionTimeout.Seconds, riskier.ExecutionTimeout.Seconds)
	assert.GreaterOrEqual(t, all.ExecutionTimeout.Seconds, all.P95Seconds)
	assert.Equal(t, http.StatusUnprocessableEntity, e.do(http.MethodGet, "/tasks/etl/fit/runtime?risk=0.6", "").status)
}

func TestForecastFollowsTheDependenciesOfTheDAG(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportWorkflow(40)
	assert.Equal(t, http.StatusNotFound, e.do(http.MethodGet, "/dags/etl/forecast", "").status, "without a structure there is no forecast")
	cyclic := e.do(http.MethodPut, "/dags/etl/structure", `{"tasks": [{"task_id": "fit", "upstream": ["fit"]}]}`)
	assert.Equal(t, http.StatusUnprocessableEntity, cyclic.status)
	for body, field := range map[string]string{
		`{"tasks": []}`: "tasks",
		`{"tasks": [{"task_id": "a", "upstream": null}]}`:                                 "tasks[0].upstream",
		`{"tasks": [{"task_id": "a", "upstream": ["b"]}]}`:                                "tasks[0].upstream",
		`{"tasks": [{"task_id": "` + strings.Repeat("a", 251) + `", "upstream": []}]}`:    "tasks[0].task_id",
		`{"tasks": [{"task_id": "a", "upstream": []}, {"task_id": "a", "upstream": []}]}`: "tasks[1].task_id",
	} {
		assert.Equal(t, []string{field}, e.do(http.MethodPut, "/dags/etl/structure", body).fields(), body)
	}
	assert.Contains(t, string(cyclic.body), "is part of a cycle")
	e.do(http.MethodPut, "/dags/etl/structure", `{"tasks": [{"task_id": "load", "upstream": []}, {"task_id": "fit", "upstream": ["load"]}]}`)

	var f, again api.DagForecast
	e.do(http.MethodGet, "/dags/etl/forecast?rows=100", "").into(&f)
	assert.InEpsilon(t, 300, f.MedianSeconds, .1, "load takes 100 s, then fit takes 200 s")
	assert.Greater(t, f.P95Seconds, f.MedianSeconds)
	assert.Equal(t, 40, f.PastRuns)
	assert.Positive(t, f.MemoryPeakP95Bytes)
	assert.Empty(t, f.UnknownTasks)
	assert.InEpsilon(t, 100, f.Tasks[1].StartSeconds, .2)
	e.do(http.MethodGet, "/dags/etl/forecast?rows=100", "").into(&again)
	assert.Equal(t, f, again, "the seed determines the forecast")
}

// In a fifth of the runs, the feature "full" is true and the task "load" takes two hours instead of a minute. A forecast
// that does not know "full" must contain such runs, even if the reports have no times and arrive together.
func TestForecastWithoutAFeatureContainsAllItsValues(t *testing.T) {
	for name, hasTimes := range map[string]bool{"reports with times": true, "reports without times": false} {
		e := newTestEnv(t, noAuth)
		var items []string
		for i := range 60 {
			at := time.Date(2020, 1, 1+i, 0, 0, 0, 0, time.UTC)
			for task, seconds := range []float64{60, 600} {
				if task == 0 && i%5 == 0 {
					seconds = 7200
				}
				seconds *= 1 + .05*math.Sin(float64(i+task))
				ended, times := at.Add(time.Duration(seconds*float64(time.Second))), ""
				if hasTimes {
					times = fmt.Sprintf(`"started_at": %q, "ended_at": %q,`, at.Format(time.RFC3339Nano), ended.Format(time.RFC3339Nano))
				}
				items = append(items, fmt.Sprintf(`{"dag_id": "etl", "task_id": %q, "run_id": "r%d", "outcome": "success", "memory_max_bytes": 1000000000,
					"duration_seconds": %.3f, %s "features": {"full": %t}}`, []string{"load", "fit"}[task], i, seconds, times, i%5 == 0))
				at = ended
			}
		}
		e.post("/observe/batch", `{"observations": [`+strings.Join(items, ",")+`]}`)
		e.awaitRunTimes(60)
		e.do(http.MethodPut, "/dags/etl/structure", `{"tasks": [{"task_id": "load", "upstream": []}, {"task_id": "fit", "upstream": ["load"]}]}`)
		for query, ends := range map[string][2]float64{"": {660, 7800}, "?full=false": {660, 660}, "?full=true": {7800, 7800}} {
			var f api.DagForecast
			e.do(http.MethodGet, "/dags/etl/forecast"+query, "").into(&f)
			assert.InEpsilon(t, ends[0], f.MedianSeconds, .1, "%s%s", name, query)
			assert.InEpsilon(t, ends[1], f.P95Seconds, .2, "%s%s", name, query)
			assert.GreaterOrEqual(t, f.P95Seconds, f.MedianSeconds, "%s%s", name, query)
			assert.Equal(t, 40, f.PastRuns, "%s%s", name, query)
			for _, task := range f.Tasks {
				assert.LessOrEqual(t, task.EndP95Seconds, f.P95Seconds, "%s%s: %s", name, query, task.TaskID)
			}
		}
	}
}

// reportDAGRuns reports 40 successful runs of the DAG "etl". `seconds` returns the wait before and the run time of a task in a
// run; no run time means that the run skipped the task. The tasks of a run follow one another.
func (e *testEnv) reportDAGRuns(tasks []string, seconds func(run int, task string) (wait, took float64)) {
	var items []string
	for i := range 40 {
		at := time.Date(2020, 1, 1+i, 0, 0, 0, 0, time.UTC)
		for _, task := range tasks {
			wait, took := seconds(i, task)
			if took == 0 {
				continue
			}
			took *= 1 + .02*math.Sin(float64(i))
			started := at.Add(time.Duration(wait * float64(time.Second)))
			at = started.Add(time.Duration(took * float64(time.Second)))
			items = append(items, fmt.Sprintf(`{"dag_id": "etl", "task_id": %q, "run_id": "r%d", "outcome": "success", "memory_max_bytes": 1000000000,
				"duration_seconds": %.3f, "started_at": %q, "ended_at": %q}`, task, i, took, started.Format(time.RFC3339Nano), at.Format(time.RFC3339Nano)))
		}
	}
	e.post("/observe/batch", `{"observations": [`+strings.Join(items, ",")+`]}`)
}

// The task "start" never reports, and "fit" waits half an hour for a slot in each run.
func TestForecastIncludesWaitsOfADAGWithATaskThatNeverReports(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportDAGRuns([]string{"load", "fit"}, func(_ int, task string) (wait, took float64) {
		if task == "load" {
			return 0, 600
		}
		return 1800, 1200
	})
	e.awaitRunTimes(40)
	e.do(http.MethodPut, "/dags/etl/structure", `{"tasks": [{"task_id": "start", "upstream": []}, {"task_id": "load", "upstream": ["start"]}, {"task_id": "fit", "upstream": ["load"]}]}`)
	var f api.DagForecast
	e.do(http.MethodGet, "/dags/etl/forecast", "").into(&f)
	assert.Equal(t, 40, f.PastRuns)
	assert.Equal(t, []string{"start"}, f.UnknownTasks)
	assert.InEpsilon(t, 3600, f.MedianSeconds, .05)
	assert.InEpsilon(t, 3600, f.P95Seconds, .1)
}

// Each run takes one of two branches: a quarter of the runs the slow one.
func TestForecastOfExclusiveBranches(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportDAGRuns([]string{"load", "fast", "slow", "fit"}, func(run int, task string) (wait, took float64) {
		switch isSlow := run%4 == 3; {
		case task == "fast" && !isSlow:
			return 0, 1800
		case task == "slow" && isSlow:
			return 0, 7200
		case task == "load" || task == "fit":
			return 0, 300
		}
		return 0, 0
	})
	e.awaitRunTimes(40)
	e.do(http.MethodPut, "/dags/etl/structure", `{"tasks": [{"task_id": "load", "upstream": []}, {"task_id": "fast", "upstream": ["load"]},
		{"task_id": "slow", "upstream": ["load"]}, {"task_id": "fit", "upstream": ["fast", "slow"]}]}`)
	var f api.DagForecast
	e.do(http.MethodGet, "/dags/etl/forecast", "").into(&f)
	assert.Equal(t, 40, f.PastRuns)
	assert.InEpsilon(t, 2400, f.MedianSeconds, .05)
	assert.InEpsilon(t, 7800, f.P95Seconds, .1)
	assert.InDelta(t, .25, f.Tasks[2].Critical, .05)
	assert.InEpsilon(t, 7500, f.Tasks[2].EndSeconds, .05)

	// A run that has not ended does not count as a run that skipped its other tasks.
	for i := range 10 {
		e.post("/observe", fmt.Sprintf(`{"dag_id": "etl", "task_id": "load", "run_id": "active%d", "outcome": "success", "memory_max_bytes": 1000000000, "duration_seconds": 300}`, i))
	}
	var again api.DagForecast
	e.do(http.MethodGet, "/dags/etl/forecast", "").into(&again)
	assert.Equal(t, 40, again.PastRuns)
	assert.InEpsilon(t, 2400, again.MedianSeconds, .05)
}

// The task "fit" takes half the time on nodes of type "fast". The task "load" has never run on such a node.
func TestRunTimeWhatIfAppliesTheEffectOfTheNodeType(t *testing.T) {
	e := newTestEnv(t, noAuth)
	var items []string
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 60 {
		rows, node, seconds := 50+10*(i%7), "slow", 1.
		if i%2 == 0 {
			node, seconds = "fast", .5
		}
		for k, task := range []string{"load", "fit"} {
			if task == "load" {
				node, seconds = "slow", 1
			}
			items = append(items, fmt.Sprintf(`{"dag_id": "etl", "task_id": %q, "run_id": "r%d", "outcome": "success", "memory_max_bytes": 1000000000, "duration_seconds": %.3f,
				"started_at": %q, "node_type": %q, "cluster_load": 0.5, "features": {"rows": %d}}`, task, i, seconds*float64(rows*(k+1))*(1+.05*math.Sin(float64(i))),
				start.Add(time.Duration(2*i+k)*time.Hour).Format(time.RFC3339), node, rows))
			if i%2 == 0 {
				node, seconds = "fast", .5
			}
		}
	}
	e.post("/observe/batch", `{"observations": [`+strings.Join(items, ",")+`]}`)
	e.awaitRunTimes(60)
	whatIf := func(task, query string) (w api.RunTimeWhatIf) {
		e.do(http.MethodGet, "/tasks/etl/"+task+"/runtime/whatif?"+query, "").into(&w)
		require.Equal(t, 60, w.Runs)
		return w
	}
	w := whatIf("fit", "from_node_type=slow&node_type=fast")
	assert.InDelta(t, .5, w.After.MedianSeconds/w.Before.MedianSeconds, .05)
	assert.Equal(t, []string{"fast", "slow"}, w.NodeTypes)
	assert.InDelta(t, .5, whatIf("load", "node_type=fast").After.MedianSeconds/whatIf("load", "").After.MedianSeconds, .1)
	assert.InEpsilon(t, 2*110, whatIf("fit", "node_type=slow&rows=110").After.MedianSeconds, .25, "with 110 rows, fit takes 220 s on slow nodes and 110 s on fast ones")
	assert.Equal(t, http.StatusUnprocessableEntity, e.do(http.MethodGet, "/tasks/etl/fit/runtime/whatif?node_type=other", "").status)
	unknown := e.do(http.MethodGet, "/tasks/etl/fit/runtime/whatif?nosuch=5", "")
	assert.Equal(t, http.StatusUnprocessableEntity, unknown.status)
	assert.Equal(t, []string{"features.nosuch"}, unknown.fields())
	assert.Contains(t, unknown.json()["detail"], "known features: rows")
}
