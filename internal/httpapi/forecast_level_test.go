package httpapi_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The run times of two tasks that follow one another change: by a cause that no input shows, or with the input "rows", which the
// forecast does not know.
func TestForecastHasThePresentLevelOfTheRunTimes(t *testing.T) {
	const runs = 60
	grows := func(i int) float64 { return math.Exp(.02 * float64(i)) }
	for name, c := range map[string]struct {
		factor  func(run int) float64
		hasRows bool
	}{
		"growth": {grows, false},
		"fall":   {func(i int) float64 { return math.Exp(-.02 * float64(i)) }, false},
		"tripled ten runs ago": {func(i int) float64 {
			if i >= runs-10 {
				return 3
			}
			return 1
		}, false},
		"growth of an input": {grows, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestEnv(t, noAuth)
			var tries []dagTry
			for i := range runs {
				at, features := day(i), ""
				if c.hasRows {
					features = fmt.Sprintf(`"rows": %g`, math.Round(1e6*c.factor(i)))
				}
				for k, task := range []string{"load", "fit"} {
					seconds := 600 * c.factor(i) * (1 + .03*math.Sin(float64(7*i+3*k)))
					tries = append(tries, dagTry{task: task, run: fmt.Sprint(i), started: at, seconds: seconds, megabytes: 1000 * c.factor(i), features: features})
					at = at.Add(time.Duration(seconds * float64(time.Second)))
				}
			}
			e.reportTries(tries, [2]string{"load", ""}, [2]string{"fit", "load"})
			f := e.forecastKnown()
			assert.InEpsilon(t, 1200*c.factor(runs), f.MedianSeconds, .1)
			assert.Greater(t, f.P95Seconds, 1200*c.factor(runs))
			if c.hasRows {
				assert.InEpsilon(t, e.granted("fit", fmt.Sprintf(`"rows": %g`, math.Round(1e6*c.factor(runs)))), f.MemoryPeakBytes, .1)
			}
		})
	}
}
