package taskmodel_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// The inputs differ by a few percent, which is less than the noise of the peaks. So the runs do not show how the peak grows with
// the input.
func TestInputsAboveANarrowRangeGetAProportionalGrantWithoutARisk(t *testing.T) {
	for name, peak := range map[string]func(x float64) float64{
		"proportional":             func(x float64) float64 { return 2 * x },
		"proportional over a base": func(x float64) float64 { return 1 + x },
		"square root":              func(x float64) float64 { return 2 * math.Sqrt(x) },
	} {
		for seed := range uint64(4) {
			k, rng := newTask(t), newRand(1520+seed)
			for range 40 {
				x := 1 + .04*(rng.Float64()-.5)
				k.reportSuccess(withRows(math.Round(1e6*x)), peak(x)*noise(rng, .05))
			}
			k.train()
			for _, factor := range []float64{1.4, 2, 3, 5, 10} {
				s := k.model.Size(question(withRows(1e6 * factor)))
				require.Nil(t, s.Promised, "%s, seed %d, %v times: %s", name, seed, factor, s.Reason)
				require.Contains(t, s.Reason, "outside the known range: rows")
				require.Greater(t, s.Limit, bytes(peak(factor)), "%s, seed %d, %v times: %s", name, seed, factor, s.Reason)
				require.LessOrEqual(t, s.Limit, question(nil).Requested.Memory, s.Reason)
			}
		}
	}
}
