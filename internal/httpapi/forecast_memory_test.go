package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
)

// dagTry is a try of a task of the DAG "etl".
type dagTry struct {
	task, run     string
	mapIndex, try int
	started       time.Time
	seconds       float64
	megabytes     float64 // 0: no peak was measured
	isFailed      bool
	features      string // JSON, without the braces
}

func (d *dagTry) report() string {
	ended := d.started.Add(time.Duration(d.seconds * float64(time.Second)))
	memory, outcome := "", "success"
	if d.isFailed {
		outcome = "failed"
	}
	if d.megabytes > 0 {
		memory = fmt.Sprintf(`"memory_max_bytes": %.0f, "requested": {"memory": "4Gi"}, `, 1e6*d.megabytes)
	}
	return fmt.Sprintf(`{"dag_id": "etl", "task_id": %q, "run_id": %q, "map_index": %d, "try_number": %d, "outcome": %q, %s"features": {%s},
		"duration_seconds": %.3f, "started_at": %q, "ended_at": %q}`,
		d.task, d.run, d.mapIndex, max(1, d.try), outcome, memory, d.features, d.seconds, d.started.Format(time.RFC3339Nano), ended.Format(time.RFC3339Nano))
}

// reportTries reports tries. It stores the structure of the DAG "etl", if there is one: pairs of a task and the tasks upstream
// of it, separated by spaces.
func (e *testEnv) reportTries(tries []dagTry, structure ...[2]string) {
	e.t.Helper()
	for i := range tries { // one by one, so that each is learned before the next one
		require.Equal(e.t, http.StatusOK, e.post("/observe", tries[i].report()).status)
	}
	if len(structure) > 0 {
		e.setStructure(structure...)
	}
}

// setStructure stores the structure of the DAG "etl", in the form of reportTries.
func (e *testEnv) setStructure(structure ...[2]string) {
	e.t.Helper()
	tasks := make([]api.DagTask, len(structure))
	for i, s := range structure {
		tasks[i] = api.DagTask{TaskID: s[0], Upstream: strings.Fields(s[1])}
	}
	body, err := json.Marshal(api.DagStructure{Tasks: tasks})
	require.NoError(e.t, err)
	require.Equal(e.t, http.StatusOK, e.do(http.MethodPut, "/dags/etl/structure", string(body)).status)
}

func (e *testEnv) granted(task, features string) float64 {
	e.t.Helper()
	var a api.Prediction
	e.post("/predict", fmt.Sprintf(`{"dag_id": "etl", "task_id": %q, "requested": {"memory": "4Gi"}, "features": {%s}}`, task, features)).into(&a)
	return float64(a.Memory.LimitBytes)
}

func day(i int) time.Time { return time.Date(2020, 1, 1+i, 0, 0, 0, 0, time.UTC) }

// The peak of the task follows the input "rows". The newest run has few rows.
func TestForecastMemoryIsThatOfThePastInputs(t *testing.T) {
	e := newTestEnv(t, noAuth)
	var tries []dagTry
	for i := range 41 {
		rows := float64(1 + i%5)
		if i == 40 {
			rows = .2
		}
		tries = append(tries, dagTry{task: "fit", run: fmt.Sprint(i), started: day(i), seconds: 60 * rows, megabytes: 400 * rows * (1 + .02*float64(i%3)), features: fmt.Sprintf(`"rows": %g`, rows)})
	}
	e.reportTries(tries, [2]string{"fit", ""})
	f := e.forecastKnown()
	assert.InEpsilon(t, e.granted("fit", `"rows": 3`), f.MemoryPeakBytes, .05)
	assert.InEpsilon(t, e.granted("fit", `"rows": 5`), f.MemoryPeakP95Bytes, .05)
	assert.Equal(t, f.MemoryPeakBytes, f.Tasks[0].MemoryBytes)
	var asked api.DagForecast
	e.do(http.MethodGet, "/dags/etl/forecast?rows=2", "").into(&asked)
	assert.InEpsilon(t, e.granted("fit", `"rows": 2`), asked.MemoryPeakP95Bytes, 1e-6)
}

// The task is mapped over regions, whose peaks differ. The instance of the first or of the last region ends last.
func TestForecastMemoryOfMappedInstancesIsTheirSum(t *testing.T) {
	regions := []string{"eu", "us", "ap"}
	for name, last := range map[string]int{"large instance ends last": 0, "small instance ends last": 2} {
		t.Run(name, func(t *testing.T) {
			e := newTestEnv(t, noAuth)
			var tries []dagTry
			for i := range 40 {
				for k, region := range regions {
					seconds := 600.
					if k == last {
						seconds = 900
					}
					tries = append(tries, dagTry{task: "fit", run: fmt.Sprint(i), mapIndex: k, started: day(i), seconds: seconds,
						megabytes: []float64{3200, 800, 200}[k] * (1 + .02*float64(i%3)), features: fmt.Sprintf(`"region": %q, "day": %d`, region, i)})
				}
			}
			e.reportTries(tries, [2]string{"fit", ""})
			sum := e.granted("fit", `"region": "eu", "day": 40`) + e.granted("fit", `"region": "us", "day": 40`) + e.granted("fit", `"region": "ap", "day": 40`)
			for _, query := range []string{"", "?day=40"} {
				var f api.DagForecast
				e.do(http.MethodGet, "/dags/etl/forecast"+query, "").into(&f)
				assert.InEpsilon(t, sum, f.MemoryPeakP95Bytes, .1, query)
				assert.Equal(t, 3, f.Tasks[0].Instances, query)
			}
		})
	}
}

// The tasks "fit" and "load" run at the same time.
func TestForecastMemoryFollowsThePolicies(t *testing.T) {
	e := newTestEnv(t, noAuth)
	var tries []dagTry
	for i := range 40 {
		for _, task := range []string{"fit", "load"} {
			tries = append(tries, dagTry{task: task, run: fmt.Sprint(i), started: day(i), seconds: 600, megabytes: 2000 * (1 + .05*float64(i%5))})
		}
	}
	e.reportTries(tries, [2]string{"fit", ""}, [2]string{"load", ""})
	for policy, want := range map[string]float64{
		`{"floor": "10Gi"}`: 20 << 30, `{"cap": "1Gi"}`: 2 << 30, `{"mode": "shadow"}`: 8 << 30, `{"mode": "off"}`: 8 << 30, `{"risk_target": 0.0001}`: 0, `{}`: 0,
	} {
		for _, task := range []string{"fit", "load"} {
			require.Equal(t, http.StatusOK, e.do(http.MethodPut, "/tasks/etl/"+task+"/policy", policy).status, policy)
		}
		f, granted := e.forecastKnown(), e.granted("fit", "")+e.granted("load", "")
		assert.InEpsilon(t, granted, f.MemoryPeakBytes, 1e-6, policy)
		if want > 0 {
			assert.InEpsilon(t, want, granted, 1e-6, policy)
		}
	}
}
