package taskmodel_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// runProgram grants and reports n runs of a program. peak returns the peak of a run with a limit, both in GiB. The limit of
// the first run is the static request. If the peak is larger than the limit, the run is killed, and its retry gets four
// times the limit. runProgram returns the grants that the model gives after each of the n runs.
func (k *task) runProgram(n int, request float64, peak func(limit float64) float64) (grants []float64) {
	limit := request
	for range n {
		needed := peak(limit)
		row := measuredRun(needed)
		if needed > limit {
			row.Outcome, row.MemoryMax, row.Allocated.Memory = sizing.OOMKilled, 0, bytes(limit)
			k.report(nil, row)
			row = measuredRun(peak(4 * limit))
			row.Try, row.Allocated.Memory = 2, bytes(4*limit)
			k.report(nil, row)
		} else {
			row.Allocated.Memory, row.Requested.Memory = bytes(limit), bytes(request)
			k.report(nil, row)
		}
		k.train()
		q := question(nil)
		q.Requested.Memory, q.Cap = bytes(request), 0
		limit = float64(k.model.Size(q).Limit) / float64(gib)
		grants = append(grants, limit)
	}
	return grants
}

func TestPeakThatFollowsItsLimitDoesNotRaiseTheLimit(t *testing.T) {
	for name, peak := range map[string]func(rng *rand.Rand, limit float64) float64{
		"page cache":            func(rng *rand.Rand, limit float64) float64 { return limit * min(0.999, 0.98*noise(rng, 0.005)) },
		"heap with a free part": func(rng *rand.Rand, limit float64) float64 { return limit * (0.8 + 0.15*rng.Float64()) },
	} {
		k, rng := newTask(t), rand.New(rand.NewPCG(3, 33))
		grants := k.runProgram(60, 16, func(limit float64) float64 { return peak(rng, limit) })
		q := question(nil)
		q.Requested.Memory, q.Cap = 16*gib, 0
		sized := k.model.Size(q)
		assert.Contains(t, sized.Reason, "the peaks follow the limits", "%s: %v", name, grants)
		assert.Equal(t, 16*gib, sized.Limit, "%s: %v", name, grants)
		assert.Less(t, *sized.Promised, 0.1, "%s: promised risk after 60 runs without a kill", name)
		assert.Greater(t, *k.model.Risk(q, 8*gib), 0.5, "%s: risk of 8 GiB, which no run has had", name)
	}
}

// The peaks grow with time, and the grants follow them one run later. The model must not conclude that the peaks follow the
// limits.
func TestAGrowingPeakIsGranted(t *testing.T) {
	k, rng, level := newTask(t), rand.New(rand.NewPCG(3, 34)), 2.0
	grants := k.runProgram(120, 4, func(float64) float64 { level *= 1.03; return level * noise(rng, 0.02) })
	assert.Greater(t, grants[len(grants)-1], level, "the last grant is enough for the last peak")
	assert.Less(t, k.model.Kills, 6, "number of killed runs, of 120")
}

// In the first 20 runs the peak follows the limit. Then it is about 20 GiB, which is more than the smallest limit so far. After
// a kill the grants must be enough for this peak.
func TestPeakThatNoLongerFollowsItsLimitIsGranted(t *testing.T) {
	k, rng := newTask(t), rand.New(rand.NewPCG(3, 35))
	k.runProgram(20, 16, func(limit float64) float64 { return 0.85 * limit * noise(rng, 0.01) })
	grants := k.runProgram(20, 16, func(float64) float64 { return 20 * noise(rng, 0.02) })
	assert.Greater(t, grants[len(grants)-1], 20.0)
}
