package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/testwait"
)

// reportMappedRuns reports the successful daily runs from, …, to - 1 of the DAG "etl". If `withLoad` is true, each run
// starts with the task "load", which takes 300 s. Each instance of "fit" takes 600 s, and at most `slots` instances run at
// the same time. Each of these times is up to 4 % longer in some runs.
func (e *testEnv) reportMappedRuns(from, to, instances, slots int, withLoad bool) {
	var items []string
	report := func(run int, task string, mapIndex int, started time.Time, seconds float64) (ended time.Time) {
		seconds *= 1 + .01*float64(run%5)
		ended = started.Add(time.Duration(seconds * float64(time.Second)))
		items = append(items, fmt.Sprintf(`{"dag_id": "etl", "task_id": %q, "run_id": "r%d", "map_index": %d, "outcome": "success", "memory_max_bytes": 1000000000,
			"duration_seconds": %.3f, "started_at": %q, "ended_at": %q}`, task, run, mapIndex, seconds, started.Format(time.RFC3339Nano), ended.Format(time.RFC3339Nano)))
		return ended
	}
	for run := from; run < to; run++ {
		at := time.Date(2020, 1, 1+run, 0, 0, 0, 0, time.UTC)
		if withLoad {
			at = report(run, "load", -1, at, 300)
		}
		for first := 0; first < instances; first += slots {
			started := at
			for mapIndex := first; mapIndex < min(instances, first+slots); mapIndex++ {
				at = report(run, "fit", mapIndex, started, 600)
			}
		}
	}
	for part := range slices.Chunk(items, 1000) {
		require.Equal(e.t, http.StatusOK, e.post("/observe/batch", `{"observations": [`+strings.Join(part, ",")+`]}`).status)
	}
}

// forecastKnown returns the forecast of the DAG "etl" once the run times of all of its tasks are known.
func (e *testEnv) forecastKnown() (f api.DagForecast) {
	e.t.Helper()
	require.Eventually(e.t, func() bool {
		f = api.DagForecast{}
		a := e.do(http.MethodGet, "/dags/etl/forecast", "")
		return a.status == http.StatusOK && json.Unmarshal(a.body, &f) == nil && len(f.UnknownTasks) == 0
	}, testwait.Limit, 20*time.Millisecond)
	return f
}

const (
	fitAfterLoad = `{"tasks": [{"task_id": "load", "upstream": []}, {"task_id": "fit", "upstream": ["load"]}]}`
	onlyFit      = `{"tasks": [{"task_id": "fit", "upstream": []}]}`
)

// The newest 200 tries of "fit" are those of nine runs.
func TestForecastIncludesWaitsOfManyInstances(t *testing.T) {
	for name, c := range map[string]struct {
		structure string
		withLoad  bool
		seconds   float64
	}{
		"after an unmapped task":   {fitAfterLoad, true, 300 + 6*600},
		"without an unmapped task": {onlyFit, false, 6 * 600},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestEnv(t, noAuth)
			e.reportMappedRuns(0, 40, 24, 4, c.withLoad)
			e.do(http.MethodPut, "/dags/etl/structure", c.structure)
			f := e.forecastKnown()
			assert.Equal(t, 40, f.PastRuns)
			assert.InEpsilon(t, c.seconds, f.MedianSeconds, .05)
			assert.InEpsilon(t, c.seconds, f.P95Seconds, .1)
			assert.Equal(t, 24, f.Tasks[len(f.Tasks)-1].Instances)
		})
	}
}

func TestForecastCountsAllInstances(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.do(http.MethodPut, "/dags/etl/structure", fitAfterLoad)
	e.reportMappedRuns(0, 4, 300, 300, true)
	fit := e.forecastKnown().Tasks[1]
	assert.Equal(t, 300, fit.Instances)
	assert.Greater(t, fit.MemoryBytes, int64(300_000_000_000), "300 instances use 1 GB each")

	e.reportMappedRuns(4, 124, 0, 1, true)
	assert.Equal(t, 300, e.forecastKnown().Tasks[1].Instances, "the newest 120 runs skipped the task")
}

// A forecast reads only the newest 200 tries of a task if they belong to at least 100 runs. The task "load" has two instances
// per run, so its tries in the oldest 50 runs are not read, and these runs did not skip the task. Of the newest 100 runs, 30
// are complete.
func TestTasksWithUnreadTriesDoNotCountAsSkipped(t *testing.T) {
	e := newTestEnv(t, noAuth)
	var items []string
	for run := range 150 {
		at := time.Date(2020, 1, 1+run, 0, 0, 0, 0, time.UTC)
		report := func(task string, mapIndex int, outcome string, started time.Time) {
			items = append(items, fmt.Sprintf(`{"dag_id": "etl", "task_id": %q, "run_id": "r%d", "map_index": %d, "outcome": %q, "memory_max_bytes": 1000000000,
				"duration_seconds": %d, "started_at": %q}`, task, run, mapIndex, outcome, 300+run%3, started.Format(time.RFC3339Nano)))
		}
		report("load", 0, "success", at)
		report("load", 1, "success", at)
		outcome := "success"
		if run >= 50 && run < 120 {
			outcome = "failed"
		}
		report("fit", -1, outcome, at.Add(5*time.Minute))
	}
	require.Equal(t, http.StatusOK, e.post("/observe/batch", `{"observations": [`+strings.Join(items, ",")+`]}`).status)
	e.do(http.MethodPut, "/dags/etl/structure", fitAfterLoad)
	f := e.forecastKnown()
	assert.Equal(t, 30, f.PastRuns)
	assert.InEpsilon(t, 600, f.MedianSeconds, .05)
}

// The number of instances of "fit" is the input "samples" of "load", 2 to 20. At most four instances run at the same time.
func TestForecastDrawsTheNumberOfInstances(t *testing.T) {
	e := newTestEnv(t, noAuth)
	samples := func(run int) int { return 2 + run*7%19 }
	var items []string
	report := func(run int, task string, mapIndex int, features string, started time.Time, seconds float64) (ended time.Time) {
		ended = started.Add(time.Duration(seconds * float64(time.Second)))
		items = append(items, fmt.Sprintf(`{"dag_id": "etl", "task_id": %q, "run_id": "r%d", "map_index": %d, "outcome": "success", "memory_max_bytes": 1000000000, "features": {%s},
			"duration_seconds": %.3f, "started_at": %q, "ended_at": %q}`, task, run, mapIndex, features, seconds, started.Format(time.RFC3339Nano), ended.Format(time.RFC3339Nano)))
		return ended
	}
	for run := range 40 {
		at := report(run, "load", -1, fmt.Sprintf(`"samples": %d`, samples(run)), time.Date(2020, 1, 1+run, 0, 0, 0, 0, time.UTC), 300)
		for i := range samples(run) {
			report(run, "fit", i, "", at.Add(time.Duration(i/4)*10*time.Minute), 600+float64(run%5))
		}
	}
	for part := range slices.Chunk(items, 100) { // the service learns the reports of such a small batch before it answers
		require.Equal(t, http.StatusOK, e.post("/observe/batch", `{"observations": [`+strings.Join(part, ",")+`]}`).status)
	}
	e.do(http.MethodPut, "/dags/etl/structure", fitAfterLoad)
	f := e.forecastKnown()
	fit := f.Tasks[1]
	perInstance := float64(fit.MemoryBytes) / float64(fit.Instances)
	assert.InDelta(t, 11, fit.Instances, 1)
	assert.InDelta(t, 11*perInstance, float64(f.MemoryPeakBytes), 1.5*perInstance)
	assert.InDelta(t, 20*perInstance, float64(f.MemoryPeakP95Bytes), 1.5*perInstance, "the 95 % quantile of the numbers is 20")
	assert.InEpsilon(t, 300+3*600, f.MedianSeconds, .15)
	assert.InEpsilon(t, 300+5*600, f.P95Seconds, .15)

	for asked, rounds := range map[int]float64{4: 1, 8: 2, 16: 4, 30: 8} { // rounds of at most four instances, one after another
		var f api.DagForecast
		e.do(http.MethodGet, fmt.Sprintf("/dags/etl/forecast?samples=%d", asked), "").into(&f)
		assert.Equal(t, asked, f.Tasks[1].Instances)
		assert.InEpsilon(t, float64(asked)*perInstance, float64(f.MemoryPeakP95Bytes), .05)
		assert.InEpsilon(t, 300+rounds*600, f.MedianSeconds, .3, "%d samples", asked)
	}
}

// A run whose instances were cleared and succeeded again has no more instances than the other runs.
func TestForecastCountsAClearedInstanceOnce(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.do(http.MethodPut, "/dags/etl/structure", onlyFit)
	e.reportMappedRuns(0, 8, 3, 3, false)
	var items []string
	for try := 2; try <= 4; try++ {
		for mapIndex := range 3 {
			items = append(items, fmt.Sprintf(`{"dag_id": "etl", "task_id": "fit", "run_id": "r7", "map_index": %d, "try_number": %d, "outcome": "success", "memory_max_bytes": 1000000000, "duration_seconds": 600}`, mapIndex, try))
		}
	}
	require.Equal(t, http.StatusOK, e.post("/observe/batch", `{"observations": [`+strings.Join(items, ",")+`]}`).status)
	f := e.forecastKnown()
	assert.Equal(t, 3, f.Tasks[0].Instances)
	assert.Equal(t, f.MemoryPeakBytes, f.MemoryPeakP95Bytes)
}
