package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func (k *task) runProgram(n int, request float64, peak func(limit float64) float64) (grants []float64) {
	return k.runWithFeatures(n, request, func() (sizing.Features, func(float64) float64) { return nil, peak })
}

// runWithFeatures grants and reports n runs of a program. draw returns the features of a run and a function that maps the
// memory limit of the run to its peak, both in GiB. If the peak is larger than the limit, the run is killed, and its retry
// gets four times the limit. runWithFeatures returns the grants of the runs. The first run of a new task gets the static
// request.
func (k *task) runWithFeatures(n int, request float64, draw func() (sizing.Features, func(limit float64) float64)) (grants []float64) {
	for range n {
		f, peak := draw()
		q := question(f)
		q.Requested.Memory, q.Cap = bytes(request), 0
		limit := float64(k.model.Size(q).Limit) / float64(gib)
		grants = append(grants, limit)
		needed := peak(limit)
		row := measuredRun(needed)
		if needed > limit {
			row.Outcome, row.MemoryMax, row.Allocated.Memory = sizing.OOMKilled, 0, bytes(limit)
			k.report(f, row)
			row = measuredRun(peak(4 * limit))
			row.Try, row.Allocated.Memory = 2, bytes(4*limit)
			k.report(f, row)
		} else {
			row.Allocated.Memory, row.Requested.Memory = bytes(limit), bytes(request)
			k.report(f, row)
		}
		k.train()
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
		assert.Less(t, slices.Max(grants), 48.0, "%s: %v", name, grants)
		assert.LessOrEqual(t, slices.Max(grants[20:]), 16.0, "%s: %v", name, grants)
		q := question(nil)
		q.Requested.Memory, q.Cap = 16*gib, 0
		sized := k.model.Size(q)
		assert.Less(t, *sized.Promised, 0.015, "%s: promised risk after 60 runs without a kill", name)
		assert.Greater(t, *k.model.Risk(q, 8*gib), 0.5, "%s: risk of 8 GiB, which no run has had", name)
	}
}

// The peaks grow with time, and the grants follow them one run later. The model must not conclude that the peaks follow the
// limits.
func TestAGrowingPeakIsGranted(t *testing.T) {
	k, rng, level := newTask(t), rand.New(rand.NewPCG(3, 34)), 2.0
	grants := k.runProgram(120, 4, func(float64) float64 { level *= 1.03; return level * noise(rng, 0.02) })
	assert.Greater(t, grants[len(grants)-1], level, "the last grant must be enough for the last peak")
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

// The page cache fills any limit up to 21 GiB. The feature has no influence.
func TestPageCacheOfRunsWithDifferentFeaturesDoesNotRaiseTheLimit(t *testing.T) {
	for seed := range uint64(10) {
		k, rng := newTask(t), newRand(seed)
		grants := k.runWithFeatures(40, 8, func() (sizing.Features, func(float64) float64) {
			needed := noise(rng, 0.05)
			f := sizing.Features{"rows": sizing.NumberValue(float64(900 + rng.IntN(200)))}
			return f, func(limit float64) float64 { return max(needed, min(0.985*limit, needed+20)) }
		})
		assert.Less(t, slices.Max(grants), 30.0, "%v", grants)
		assert.LessOrEqual(t, slices.Max(grants[12:]), 8.2, "%v", grants)
	}
}

// The program uses a share of any limit. The static request is enough for all runs.
func TestShareOfTheLimitDoesNotRaiseTheLimitOfRunsWithDifferentFeatures(t *testing.T) {
	for name, draw := range map[string]func(run int, rng *rand.Rand) (f sizing.Features, needed float64){
		"date": func(run int, _ *rand.Rand) (sizing.Features, float64) {
			return sizing.Features{"logical_date": dayValue(20000 + run)}, 2
		},
		"region": func(run int, _ *rand.Rand) (sizing.Features, float64) {
			return sizing.Features{"region": sizing.TextValue(string("ABCDE"[run%5]))}, 2
		},
		"rows": func(_ int, rng *rand.Rand) (sizing.Features, float64) {
			size := noise(rng, 0.5)
			return sizing.Features{"rows": sizing.NumberValue(math.Floor(1e6 * size))}, 0.5 + 1.2*size
		},
	} {
		for _, share := range []float64{0.75, 0.8, 0.85, 0.9, 0.95} {
			for seed := range uint64(4) {
				k, rng, run := newTask(t), newRand(seed), 0
				grants := k.runWithFeatures(50, 16, func() (sizing.Features, func(float64) float64) {
					run++
					f, needed := draw(run, rng)
					used := share * noise(rng, 0.01)
					return f, func(limit float64) float64 {
						if needed > used*limit {
							return needed / used
						}
						return used*limit + 0.04
					}
				})
				assert.Less(t, slices.Max(grants), 16*8.0, "%s, share %g: %v", name, share, grants)
				assert.LessOrEqual(t, slices.Max(grants[40:]), 20.0, "%s, share %g: %v", name, share, grants)
			}
		}
	}
}

// The static request is enough for the first runs. The grants must grow with the peaks, before a run is killed.
func TestPeaksAboveTheRequestAreGranted(t *testing.T) {
	for name, draw := range map[string]func(run int, rng *rand.Rand) (f sizing.Features, needed float64){
		"rows": func(run int, rng *rand.Rand) (sizing.Features, float64) {
			size := math.Pow(1.03, float64(run)) * noise(rng, 0.1)
			return sizing.Features{"rows": sizing.NumberValue(math.Floor(1e6 * size))}, 0.5 + 2*size
		},
		"even growth": func(run int, _ *rand.Rand) (sizing.Features, float64) { return nil, 2 * math.Pow(1.03, float64(run)) },
	} {
		for seed := range uint64(5) {
			k, rng, run := newTask(t), newRand(seed), 0
			k.runWithFeatures(100, 4, func() (sizing.Features, func(float64) float64) {
				run++
				f, needed := draw(run, rng)
				return f, func(float64) float64 { return needed }
			})
			assert.Zero(t, k.model.Kills, name)
		}
	}
}

// The page cache fills each limit, and 8 GiB are always enough.
func TestPromisesOfPeaksThatFollowTheirLimits(t *testing.T) {
	promised := 0.0
	for seed := range uint64(10) {
		k, rng := newTask(t), newRand(seed)
		q := question(nil)
		q.Requested.Memory, q.Cap = 8*gib, 0
		k.runProgram(100, 8, func(limit float64) float64 {
			if p := k.model.Size(q).Promised; p != nil {
				promised += *p
			}
			return max(2*noise(rng, 0.05), limit-0.001)
		})
		assert.Zero(t, k.model.Kills)
	}
	assert.Less(t, promised, 9.0, "sum of the promised risks of 1,000 runs, of which none is killed")
}

// The features determine the peaks exactly, or the peaks grow evenly. So the margins are small, and most peaks fill their
// limits.
func TestPeaksThatFollowTheFeaturesDoNotSeemToFollowTheLimits(t *testing.T) {
	t.Parallel()
	power := func(rng *rand.Rand) (sizing.Features, float64) {
		size := math.Exp(4 * rng.Float64())
		return sizing.Features{"rows": sizing.NumberValue(1000 * size)}, 0.2 * math.Pow(size, 0.8)
	}
	line := func(rng *rand.Rand) (sizing.Features, float64) {
		rows := 10_000 * rng.Float64()
		return sizing.Features{"rows": sizing.NumberValue(rows)}, 0.2 + rows/1000
	}
	categories := func(n int) generator {
		return func(rng *rand.Rand) (sizing.Features, float64) {
			at := rng.IntN(n)
			return sizing.Features{"customer": sizing.TextValue(fmt.Sprint(at))}, 1 + float64(at*7%n)/4
		}
	}
	step := func(rng *rand.Rand) (sizing.Features, float64) {
		f, peak := step(rng)
		return f, math.Round(peak)
	}
	days := 0.0
	growth := func(*rand.Rand) (sizing.Features, float64) {
		days++
		return sizing.Features{"weekday": sizing.NumberValue(math.Mod(days, 7))}, math.Exp(days / 100)
	}
	for name, draw := range map[string]generator{
		"power": power, "line": line, "step": step, "5 values": categories(5), "60 values": categories(60), "growth": growth,
	} {
		k, rng := newTask(t), newRand(4)
		k.runWithFeatures(300, 32, func() (sizing.Features, func(float64) float64) {
			f, peak := draw(rng)
			assert.NotContains(t, k.model.Size(question(f)).Reason, "the peaks follow the limits", name)
			return f, func(float64) float64 { return peak }
		})
	}
}
