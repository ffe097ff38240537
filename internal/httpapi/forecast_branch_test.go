package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/api"
)

// Full loads take two hours, other loads ten minutes. The input "full" decides which of them runs: every third run has a full
// load. The input "ds" decides whether the weekly check runs, which takes one hour.
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

// In runs that start at nine o'clock, the task "fit" waits an hour for a slot.
func TestForecastIncludesTheWaitOfRunsAtTheSameHour(t *testing.T) {
	e := newTestEnv(t, noAuth)
	var tries []dagTry
	for i := range 80 {
		at := day(i / 4).Add(time.Duration([]int{2, 9, 14, 20}[i%4]) * time.Hour)
		load := dagTry{task: "load", run: fmt.Sprint(i), started: at, seconds: 600 + float64(i%7), megabytes: 1000, features: fmt.Sprintf(`"ts": %q`, at.Format(time.RFC3339))}
		fit := load
		fit.task, fit.started = "fit", at.Add(11*time.Minute)
		if i%4 == 1 {
			fit.started = fit.started.Add(time.Hour)
		}
		tries = append(tries, load, fit)
	}
	e.reportTries(tries, [2]string{"load", ""}, [2]string{"fit", "load"})
	for query, want := range map[string]struct {
		seconds float64
		runs    int
	}{"2020-02-01T09:00:00Z": {4860, 20}, "2020-02-01T14:00:00Z": {1260, 40}} {
		var f api.DagForecast
		e.do(http.MethodGet, "/dags/etl/forecast?ts="+query, "").into(&f)
		assert.InEpsilon(t, want.seconds, f.MedianSeconds, .05, query)
		assert.InEpsilon(t, want.seconds, f.P95Seconds, .05, query)
		assert.Equal(t, want.runs, f.PastRuns, query)
	}
}
