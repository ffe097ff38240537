package taskmodel_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A retry that was sized without a prediction is often reported without the features of its run, and the template of a
// feature may give an empty text.
func TestInputsThatSomeRunsLackAreExtrapolated(t *testing.T) {
	without := func(f sizing.Features) { delete(f, "rows") }
	empty := func(f sizing.Features) { f["rows"] = sizing.TextValue("") }
	for name, c := range map[string]struct {
		isIncomplete func(run int) bool
		drop         func(f sizing.Features)
	}{
		"one run":           {func(run int) bool { return run == 50 }, without},
		"one empty text":    {func(run int) bool { return run == 50 }, empty},
		"every third run":   {func(run int) bool { return run%3 == 2 }, without},
		"all earliest runs": {func(run int) bool { return run < 120 }, without},
	} {
		for seed := range uint64(3) {
			k, rng := newTask(t), newRand(1500+seed)
			needs := func(x float64) (gibs, seconds float64) { return .3 + x, 60 + 30*x }
			largest := 0.0
			for run := range 300 {
				x := math.Exp(.8 * rng.NormFloat64())
				f := withRows(math.Round(1e6 * x))
				f["columns"] = sizing.NumberValue(float64(10 + rng.IntN(40)))
				if c.isIncomplete(run) {
					c.drop(f)
				} else {
					largest = max(largest, x)
				}
				gibs, seconds := needs(x)
				r := measuredRun(gibs * noise(rng, .05))
				r.Duration = time.Duration(seconds * float64(time.Second))
				k.report(f, r)
			}
			k.train()
			for _, factor := range []float64{1.5, 3, 10, 100} {
				f := withRows(math.Round(1e6 * factor * largest))
				f["columns"] = sizing.NumberValue(30)
				gibs, seconds := needs(factor * largest)
				s := sizeUncapped(k, f)
				require.Regexp(t, "outside the known range: rows .*, extrapolated to ", s.Reason, "%s, seed %d, %v times", name, seed, factor)
				require.Greater(t, s.Limit, bytes(.75*gibs), "%s, seed %d, %v times: %s", name, seed, factor, s.Reason)
				require.Less(t, s.Limit, bytes(3*gibs), "%s, seed %d, %v times: %s", name, seed, factor, s.Reason)
				require.Greater(t, s.Duration.Median.Seconds(), .7*seconds, "%s, seed %d, %v times", name, seed, factor)
				if factor > 2 {
					require.Nil(t, s.Promised, s.Reason)
				}
			}
		}
	}
}
