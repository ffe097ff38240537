package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A limitUse returns the peak in GiB of a run with a limit, and the run time.
type limitUse func(limit float64) (peak float64, took time.Duration)

// spill returns the use of a program that needs `needed` GiB, but uses at most a share of its limit. Less memory makes it
// slower.
func spill(needed, share, slowdown float64) limitUse {
	return func(limit float64) (float64, time.Duration) {
		peak := min(needed, share*limit)
		return peak, time.Duration(300 * math.Pow(needed/peak, slowdown) * float64(time.Second))
	}
}

// runUsages grants and reports n successes with a static request of 8 GiB, and trains the model after every fifth run. It
// returns the grants in GiB and the run times.
func (k *task) runUsages(n int, draw func() (sizing.Features, limitUse)) (grants []float64, times []time.Duration) {
	for i := range n {
		f, use := draw()
		q := question(f)
		q.Requested.Memory, q.Cap = 8*gib, 32*gib
		limit := float64(k.model.Size(q).Limit) / float64(gib)
		peak, took := use(limit)
		row := measuredRun(peak)
		row.Allocated.Memory, row.Requested.Memory, row.Duration = bytes(limit), 8*gib, took
		k.report(f, row)
		if i%5 == 4 {
			k.fit()
		}
		grants, times = append(grants, limit), append(times, took)
	}
	return grants, times
}

func meanOf[T float64 | time.Duration](values []T) T {
	var sum T
	for _, v := range values {
		sum += v
	}
	return sum / T(len(values))
}

// starvationTasks draw runs whose features determine the needed memory or, for "constant", runs without features.
var starvationTasks = map[string]func(rng *rand.Rand) (f sizing.Features, needed float64){
	"constant": func(rng *rand.Rand) (sizing.Features, float64) { return nil, 5 * noise(rng, 0.05) },
	"rows": func(rng *rand.Rand) (sizing.Features, float64) {
		millions := math.Pow(10, 1.5*rng.Float64()-1)
		return sizing.Features{"rows": sizing.NumberValue(math.Floor(1e6 * millions))}, (0.3 + 2*millions/1.2) * noise(rng, 0.05)
	},
	"shop": func(rng *rand.Rand) (sizing.Features, float64) {
		at := rng.IntN(5)
		return sizing.Features{"shop": sizing.TextValue(string("ABCDE"[at]))}, float64(1+at) * noise(rng, 0.05)
	},
}

const slowerRuns = "runs with smaller limits were slower"

func TestSpillingProgramIsNotStarved(t *testing.T) {
	t.Parallel()
	for name, draw := range starvationTasks {
		for _, share := range []float64{0.7, 0.8} {
			for seed := range uint64(3) {
				k, rng, isRaised := newTask(t), newRand(seed), false
				grants, times := k.runUsages(200, func() (sizing.Features, limitUse) {
					f, needed := draw(rng)
					q := question(f)
					q.Requested.Memory = 8 * gib
					isRaised = isRaised || strings.Contains(k.model.Size(q).Reason, slowerRuns)
					return f, spill(needed, share, noise(rng, 0.1))
				})
				assert.True(t, isRaised, "%s, share %g, seed %d: %v", name, share, seed, grants)
				assert.Less(t, meanOf(times[120:]).Seconds(), 330.0, "%s, share %g, seed %d: %v", name, share, seed, grants)
				assert.LessOrEqual(t, slices.Max(grants[120:]), 10.0, "%s, share %g, seed %d: %v", name, share, seed, grants)
				assert.Contains(t, strings.Join(k.fit().Warnings, " "), "spills to disk", "%s, share %g, seed %d: %v", name, share, seed, grants)
			}
		}
	}
}

// The run times do not depend on the limit. So a program that uses at most a share of any limit is not starved, nor is one
// without such a share (share 100).
func TestRunTimeDistinguishesStarvedRuns(t *testing.T) {
	t.Parallel()
	for name, draw := range starvationTasks {
		for _, share := range []float64{0.8, 100} {
			for seed := range uint64(4) {
				k, rng := newTask(t), newRand(seed)
				k.runUsages(200, func() (sizing.Features, limitUse) {
					f, needed := draw(rng)
					q := question(f)
					q.Requested.Memory = 8 * gib
					assert.NotContains(t, k.model.Size(q).Reason, slowerRuns, "%s, share %g, seed %d", name, share, seed)
					took := time.Duration(60 * needed * noise(rng, 0.2) * float64(time.Second))
					return f, func(limit float64) (float64, time.Duration) { return min(needed, share*limit), took }
				})
			}
		}
	}
}

// Less memory makes the peaks smaller, but each by less than a starved run has.
func TestSlightlySmallerPeaksStarveNoRun(t *testing.T) {
	k, rng := newTask(t), newRand(5)
	for i := range 40 {
		limit, peak, seconds := 8.0, 5.6, 300.0
		if i%2 == 1 {
			limit, peak, seconds = 6, 5.2, 360
		}
		row := measuredRun(peak * noise(rng, 0.002))
		row.Allocated.Memory, row.Requested.Memory, row.Duration = bytes(limit), 8*gib, time.Duration(seconds*float64(time.Second))
		k.report(nil, row)
	}
	assert.NotContains(t, strings.Join(k.fit().Warnings, " "), "spills to disk")
}

// A new version of the program needs half of the memory and is slower. The runs with its first,
// smaller grants seem to be starved, until runs with more memory are equally slow.
func TestSlowerVersionThatNeedsLessIsGrantedLess(t *testing.T) {
	for seed := range uint64(4) {
		k, rng, runs := newTask(t), newRand(seed), 0
		grants, _ := k.runUsages(300, func() (sizing.Features, limitUse) {
			runs++
			needed, seconds := 5*noise(rng, 0.05), 300*noise(rng, 0.05)
			if runs > 60 {
				needed, seconds = needed/2, 1.4*seconds
			}
			return nil, func(float64) (float64, time.Duration) { return needed, time.Duration(seconds * float64(time.Second)) }
		})
		assert.Less(t, meanOf(grants[250:]), 4.0, "seed %d: %v", seed, grants)
	}
}
