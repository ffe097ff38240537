package httpapi_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// In a fifth of the runs, somebody cleared the last task three days after the end of the run, and it succeeded again. With 12
// instances, the store summarises the runs of this task.
func TestForecastEndsWithTheFirstSuccess(t *testing.T) {
	for _, instances := range []int{1, 12} {
		t.Run(fmt.Sprint(instances, " instances"), func(t *testing.T) {
			e := newTestEnv(t, noAuth)
			var tries []dagTry
			for i := range 40 {
				seconds := 600 + float64(i%3)
				tries = append(tries, dagTry{task: "load", run: fmt.Sprint(i), started: day(i), seconds: seconds, megabytes: 1000})
				for k := range instances {
					fit := dagTry{task: "fit", run: fmt.Sprint(i), mapIndex: k, started: day(i).Add(11 * time.Minute), seconds: seconds, megabytes: 1000}
					tries = append(tries, fit)
					if fit.try, fit.started = 2, fit.started.AddDate(0, 0, 3); i%5 == 0 {
						tries = append(tries, fit)
					}
				}
			}
			e.reportTries(tries, [2]string{"load", ""}, [2]string{"fit", "load"})
			f := e.forecastKnown()
			assert.Equal(t, 40, f.PastRuns)
			assert.InEpsilon(t, 1260, f.MedianSeconds, .05)
			assert.InEpsilon(t, 1260, f.P95Seconds, .1)
			assert.Equal(t, instances, f.Tasks[1].Instances)
		})
	}
}
