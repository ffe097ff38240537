package httpapi_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The last task "publish" takes ten minutes and runs in 24 of 60 runs. In the other runs it is skipped, or the run is not over:
// the task before it failed once, or the run has just started.
func TestForecastOfADAGWhoseLastTaskIsOftenSkipped(t *testing.T) {
	for name, c := range map[string]struct {
		isFailed, isActive bool
		runs               int
		seconds            float64
	}{
		"skipped": {false, false, 40, 1200},
		"failed":  {true, false, 24, 1800},
		"active":  {false, true, 24, 1800},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestEnv(t, noAuth)
			e.setTime(day(60))
			var tries []dagTry
			for i := range 60 {
				started, isPublished := day(i), i%10 < 4
				if c.isActive && !isPublished {
					started = day(60).Add(-21 * time.Minute)
				}
				load := dagTry{task: "load", run: fmt.Sprint(i), started: started, seconds: 600 + float64(i%3), megabytes: 1000}
				fit, publish := load, load
				fit.task, fit.started = "fit", started.Add(10*time.Minute)
				publish.task, publish.started = "publish", started.Add(20*time.Minute)
				tries = append(tries, load)
				if fit.try = 1; c.isFailed && !isPublished {
					failed := fit
					failed.isFailed, fit.try = true, 2
					tries = append(tries, failed)
				}
				if tries = append(tries, fit); isPublished {
					tries = append(tries, publish)
				}
			}
			e.reportTries(tries, [2]string{"load", ""}, [2]string{"fit", "load"}, [2]string{"publish", "fit"})
			f := e.forecastKnown()
			assert.Equal(t, c.runs, f.PastRuns)
			assert.InEpsilon(t, c.seconds, f.MedianSeconds, .05)
			assert.InEpsilon(t, 1800, f.P95Seconds, .1)
		})
	}
}
