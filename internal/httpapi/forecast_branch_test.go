package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/api"
)

// Full loads take two hours, other loads ten minutes. The input "full" decides in a third of the runs on a full load, and "ds" on
// a weekly check of one hour.
func TestForecastTakesTheBranchesOfItsInputs(t *testing.T) {
	e := newTestEnv(t, noAuth)
	var tries []dagTry
	for i := range 60 {
		at, isFull := day(i), i%3 == 0
		run := func(task string, seconds float64) {
			seconds *= 1 + .02*float64(i%5)
			tries = append(tries, dagTry{task: task, run: fmt.Sprint(i), started: at, seconds: seconds, megabytes: 1000, features: fmt.Sprintf(`"full": %t, "ds": %q`, isFull, day(i).Format(time.DateOnly))})
			at = at.Add(time.Duration(seconds * float64(time.Second)))
		}
		run("extract", 300)
		if isFull {
			run("full_load", 7200)
		} else {
			run("load", 600)
		}
		if day(i).Weekday() == time.Sunday {
			run("check", 3600)
		}
		run("publish", 300)
	}
	e.reportTries(tries, [2]string{"extract", ""}, [2]string{"full_load", "extract"}, [2]string{"load", "extract"}, [2]string{"check", "load full_load"}, [2]string{"publish", "load full_load check"})
	for query, seconds := range map[string]float64{
		"full=true&ds=2020-03-02": 7800, "full=false&ds=2020-03-02": 1200, "full=true&ds=2020-03-01": 11_400, "full=false&ds=2020-03-01": 4800,
	} {
		var f api.DagForecast
		e.do(http.MethodGet, "/dags/etl/forecast?"+query, "").into(&f)
		assert.InEpsilon(t, seconds, f.MedianSeconds, .1, query)
		assert.InEpsilon(t, seconds, f.P95Seconds, .15, query)
		assert.Equal(t, 40, f.PastRuns, query)
	}
}
