package taskmodel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Without any feature, the answer comes from the distribution of the task's peaks: the probability of each bin is close
// to the share of the runs in it, and the risk of the request to the share of the runs whose peak is above the request.
func TestRowWithoutFeaturesUsesAllPeaks(t *testing.T) {
	for _, runs := range []int{60, 150} {
		k, _ := trainedTask(t, salesForecast, 500, runs)
		q := question(nil)
		q.Requested.Memory = 4 * gib
		s := k.model.Size(q)
		above, largest := 0.0, sizing.Bytes(0)
		shares := make([]float64, len(s.Bins.Upper))
		for i := range k.history.Rows {
			peak := k.history.Rows[i].MemoryMax
			largest = max(largest, peak)
			if peak > q.Requested.Memory {
				above += 1 / float64(runs)
			}
			shares[min(sizing.Bins(s.Bins.Upper).Index(peak), len(shares)-1)] += 1 / float64(runs)
		}
		require.NotNil(t, s.Promised)
		assert.Less(t, float64(s.Limit), 1.5*float64(largest), s.Reason)
		assert.LessOrEqual(t, *s.Promised, 2*q.RiskTarget, s.Reason)
		assert.InDelta(t, above, *k.model.Risk(q, q.Requested.Memory), 0.05, s.Reason)
		assert.Contains(t, s.Reason, "no feature is known: sized by the peaks of all runs")
		for i, share := range shares {
			assert.InDelta(t, share, s.Bins.Probabilities[i], 0.06, "bin %d of %v: %s", i, s.Bins.Upper, s.Reason)
		}
	}
}

// The peaks of a task rise with each run, also after its last fit, so that they are above those of the donor rows. Without
// any feature the grant is near the largest peak, and the promised risk is at most about the risk target, or 1/n after n
// runs if that is larger.
func TestRowWithoutFeaturesFollowsPeaksAfterTheFit(t *testing.T) {
	for _, c := range []struct{ fitted, after int }{{8, 6}, {20, 10}, {40, 40}, {100, 150}} {
		k, rng, largest := newTask(t), newRand(900), sizing.Bytes(0)
		for i := range c.fitted + c.after {
			gibs := (0.2 + 0.05*float64(i)) * noise(rng, 0.03)
			largest = max(largest, bytes(gibs))
			k.reportSuccess(sizing.Features{"rows": sizing.NumberValue(float64(1000 + 20*i))}, gibs)
			if i+1 == c.fitted {
				k.fit()
			}
		}
		s := k.model.Size(question(nil))
		require.NotNil(t, s.Promised)
		assert.LessOrEqual(t, *s.Promised, max(target, 1/float64(c.fitted+c.after))+0.001, "%d runs: %s", c.fitted+c.after, s.Reason)
		assert.InDelta(t, float64(largest), float64(s.Limit), 0.2*float64(largest), "%d runs: %s", c.fitted+c.after, s.Reason)
	}
}

// Without any feature, a smaller risk target never lowers the grant, and the promise is within the target.
func TestRowWithoutFeaturesMeetsTheTarget(t *testing.T) {
	for _, runs := range []int{40, 60, 150} {
		k, _ := trainedTask(t, growing, 510, runs)
		before := sizing.Bytes(0)
		for _, risk := range []float64{0.2, 0.05, 0.015, 0.005, 0.001} {
			q := question(nil)
			q.RiskTarget = risk
			s := k.model.Size(q)
			require.NotNil(t, s.Promised)
			assert.LessOrEqual(t, *s.Promised, risk+0.0001, s.Reason)
			assert.GreaterOrEqual(t, s.Limit, before, s.Reason)
			before = s.Limit
		}
	}
}

// For 200 runs without one of the features, the summed probability of a peak above the first bin differs by at most 30
// from the number of runs whose peak is above it.
func TestBinsOfAnIncompleteRowAreCalibrated(t *testing.T) {
	k, rng := trainedTask(t, salesForecast, 510, 150)
	expected, actual := 0.0, 0.0
	for range 200 {
		f, gibs := salesForecast(rng)
		bins := k.model.Size(question(without(f, "product_count"))).Bins
		expected += 1 - bins.Probabilities[0]
		if bytes(gibs) > bins.Upper[0] {
			actual++
		}
	}
	assert.InDelta(t, actual, expected, 30)
}
