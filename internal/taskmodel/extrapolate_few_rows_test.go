package taskmodel_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Four to eleven runs are too few for a trend. The inputs of the questions are up to ten times the largest learned one, and the
// peak grows at most in proportion to the input. The static request is 32 GiB.
func TestInputsAboveTheRangeOfFewRunsGetAtLeastAProportionalGrant(t *testing.T) {
	for name, peak := range map[string]func(reads float64) float64{
		"proportional":             func(reads float64) float64 { return 1.4 * reads },
		"proportional over a base": func(reads float64) float64 { return 3 + 1.4*reads },
		"square root":              func(reads float64) float64 { return 2 * math.Sqrt(reads) },
	} {
		for seed := range uint64(4) {
			k, rng := newTask(t), newRand(900+seed)
			largest := 0.0
			for runs := 1; runs <= 11; runs++ {
				reads := []float64{1.2, 1.7, 2.3, 3.4}[rng.IntN(4)] * noise(rng, .1)
				largest = max(largest, reads)
				k.reportSuccess(sizing.Features{"reads": sizing.NumberValue(1e6 * reads)}, peak(reads)*noise(rng, .02))
				if runs < 4 {
					continue
				}
				last := k.model.Size(question(sizing.Features{"reads": sizing.NumberValue(1e6 * largest)})).Limit
				for _, factor := range []float64{2.1, 3, 5, 8, 10} {
					q := question(sizing.Features{"reads": sizing.NumberValue(1e6 * factor * largest)})
					s := k.model.Size(q)
					require.Nil(t, s.Promised, s.Reason)
					require.GreaterOrEqual(t, s.Limit, min(q.Requested.Memory, bytes(peak(factor*largest))), "%s, %d runs, %v times the largest: %s", name, runs, factor, s.Reason)
					require.GreaterOrEqual(t, s.Limit, last, "%s, %d runs, %v times the largest: %s", name, runs, factor, s.Reason)
					last = s.Limit
				}
			}
		}
	}
}

// If a run has needed more than the static request, or if no request is known, the request does not limit a proportional grant.
func TestProportionalGrantOfFewRunsMayExceedARequestThatWasTooSmall(t *testing.T) {
	for name, request := range map[string]sizing.Bytes{"too small": 2 * gib, "unknown": 0, "sufficient": 12 * gib} {
		k := newTask(t)
		for _, reads := range []float64{1, 2, 3, 4} {
			row := measuredRun(reads)
			row.Requested.Memory = request
			k.report(withRows(1000*reads), row)
		}
		q := question(withRows(12_000))
		q.Requested.Memory = request
		s := k.model.Size(q)
		if name == "sufficient" {
			assert.Equal(t, request, s.Limit, s.Reason)
			assert.Contains(t, s.Reason, "the static request, which no run has exceeded so far")
			continue
		}
		assert.GreaterOrEqual(t, s.Limit, 12*gib, "%s: %s", name, s.Reason)
		assert.Contains(t, s.Reason, "times the amount at the edge of the range, so no risk can be stated", name)
	}
}
