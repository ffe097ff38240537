package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/testwait"
)

// The task "wait" takes ten minutes, as "load" and "fit" do, but no report has a peak of its memory. It has one or 12
// instances; with 12, the store summarises its runs.
func TestForecastIncludesTheTimeOfATaskWithoutAPeak(t *testing.T) {
	for _, c := range []struct{ position, instances int }{{0, 1}, {1, 1}, {2, 1}, {2, 12}} {
		t.Run(fmt.Sprintf("position %d, %d instances", c.position, c.instances), func(t *testing.T) {
			e := newTestEnv(t, noAuth)
			tasks := slices.Insert([]string{"load", "fit"}, c.position, "wait")
			var tries []dagTry
			for i := range 25 {
				for k, task := range tasks {
					try := dagTry{task: task, run: fmt.Sprint(i), started: day(i).Add(10 * time.Minute * time.Duration(k)), seconds: 600, megabytes: 1000}
					for n := 0; task == "wait" && n < c.instances; n++ {
						try.mapIndex, try.megabytes = n, 0
						tries = append(tries, try)
					}
					if task != "wait" {
						tries = append(tries, try)
					}
				}
			}
			e.reportTries(tries, [2]string{tasks[0], ""}, [2]string{tasks[1], tasks[0]}, [2]string{tasks[2], tasks[1]})
			f := e.forecastWithout("wait")
			assert.Equal(t, 25, f.PastRuns)
			assert.InEpsilon(t, 1800, f.MedianSeconds, .05)
			assert.InEpsilon(t, 1800, f.P95Seconds, .05)
		})
	}
}

// forecastWithout returns the forecast of the DAG "etl" as soon as only the run time of one task is unknown.
func (e *testEnv) forecastWithout(unknown string) (f api.DagForecast) {
	e.t.Helper()
	require.Eventually(e.t, func() bool {
		f = api.DagForecast{}
		a := e.do(http.MethodGet, "/dags/etl/forecast", "")
		return a.status == http.StatusOK && json.Unmarshal(a.body, &f) == nil && slices.Equal(f.UnknownTasks, []string{unknown})
	}, testwait.Limit, 20*time.Millisecond)
	return f
}
