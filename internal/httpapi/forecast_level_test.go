package httpapi_test

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The run times of two consecutive tasks change. The input that explains the change depends on the case: none; "rows",
// which the forecast does not know; or "ds", whose months explain the growth of past runs, but not that of the next run.
func TestForecastHasThePresentLevelOfTheRunTimes(t *testing.T) {
	const runs = 60
	grows := func(i int) float64 { return math.Exp(.02 * float64(i)) }
	for name, c := range map[string]struct {
		factor func(run int) float64
		input  string
	}{
		"growth": {grows, ""},
		"fall":   {func(i int) float64 { return math.Exp(-.02 * float64(i)) }, ""},
		"tripled ten runs ago": {func(i int) float64 {
			if i >= runs-10 {
				return 3
			}
			return 1
		}, ""},
		"growth of an input": {grows, "rows"},
		"growth with dates":  {grows, "ds"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTestEnv(t, noAuth)
			var tries []dagTry
			for i := range runs {
				at, features := day(i), ""
				switch c.input {
				case "rows":
					features = fmt.Sprintf(`"rows": %g`, math.Round(1e6*c.factor(i)))
				case "ds":
					features = fmt.Sprintf(`"ds": %q`, at.Format(time.DateOnly))
				}
				for k, task := range []string{"load", "fit"} {
					seconds := 600 * c.factor(i) * (1 + .03*math.Sin(float64(7*i+3*k)))
					tries = append(tries, dagTry{task: task, run: fmt.Sprint(i), started: at, seconds: seconds, megabytes: 1000 * c.factor(i), features: features})
					at = at.Add(time.Duration(seconds * float64(time.Second)))
				}
			}
			e.reportTries(tries, [2]string{"load", ""}, [2]string{"fit", "load"})
			f := e.forecastKnown()
			if c.input == "ds" {
				e.do(http.MethodGet, "/dags/etl/forecast?ds="+day(runs).Format(time.DateOnly), "").into(&f)
			}
			assert.InEpsilon(t, 1200*c.factor(runs), f.MedianSeconds, .1)
			assert.Greater(t, f.P95Seconds, .97*1200*c.factor(runs), "the run times vary by 3 %")
			if c.input == "rows" {
				assert.InEpsilon(t, e.granted("fit", fmt.Sprintf(`"rows": %g`, math.Round(1e6*c.factor(runs)))), f.MemoryPeakBytes, .1)
			}
		})
	}
}
