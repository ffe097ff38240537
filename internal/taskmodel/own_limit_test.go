package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// heapRuns grants and reports n runs of a JVM whose heap is at most heap(limit) GiB, and whose need depends on the rows. If the
// heap is too small, the JVM ends with an error for lack of memory. heapRuns lifts a failed run to twice its limit, up to three
// times. It returns the grants of first tries in GiB, the needs, and the number of first tries that ended with an error.
func (k *task) heapRuns(rng *rand.Rand, n int, isMeasured bool, heap func(limit float64) float64) (grants, needs []float64, failed int) {
	for range n {
		rows := math.Floor(math.Pow(10, 4+2*rng.Float64()))
		f, needed := sizing.Features{"rows": sizing.NumberValue(rows)}, 0.5+rows/1e6*4*noise(rng, 0.08)
		q := question(f)
		q.Requested.Memory, q.Cap = 8*gib, 1000*gib
		limit := float64(k.model.Size(q).Limit) / float64(gib)
		grants, needs = append(grants, limit), append(needs, needed)
		k.runs++
		for try := 1; try <= 4; try++ {
			end := measuredRun(min(needed, heap(limit)) + 0.1)
			end.RunID, end.Try = fmt.Sprint("heap-", k.runs), try
			end.Allocated.Memory, end.Requested.Memory = bytes(limit), 8*gib
			if needed <= heap(limit) {
				k.report(f, end)
				break
			}
			if failed += 1 / try; !isMeasured { // 1 / try is 1 for the first try and 0 for the others
				end.MemoryMax = 0
			}
			end.Outcome = sizing.AppOOM
			k.report(f, end)
			limit *= 2
		}
		k.train()
	}
	return grants, needs, failed
}

// The largest runs need more than the heap, whatever their grants are.
func TestErrorsOfAFixedHeapRaiseNoGrants(t *testing.T) {
	for _, isMeasured := range []bool{true, false} {
		for seed := range uint64(4) {
			k, rng := newTask(t), newRand(seed)
			grants, needs, failed := k.heapRuns(rng, 150, isMeasured, func(float64) float64 { return 4.1 })
			assert.Positive(t, failed)
			for i, granted := range grants {
				assert.Less(t, granted, 17.0, "measured %v, seed %d: grant of run %d, which needs %.2f GiB", isMeasured, seed, i, needs[i])
			}
			if isMeasured {
				assert.Less(t, meanOf(grants[75:]), 1.8*meanOf(needs[75:]), "seed %d", seed)
			}
		}
	}
}

// The heap is a share of the limit, so more memory helps. The errors must raise the grants.
func TestErrorsOfAHeapThatFollowsTheLimitRaiseGrants(t *testing.T) {
	for seed := range uint64(4) {
		k, rng := newTask(t), newRand(seed)
		_, _, failed := k.heapRuns(rng, 150, true, func(limit float64) float64 { return 0.8 * limit })
		assert.Less(t, failed, 15, "seed %d: number of failed first tries, of 150", seed)
	}
}

// No run has succeeded, and no amount of memory helps. The next grants must not grow with each failed run.
func TestErrorsWithoutASuccessDoNotRaiseGrantsWithoutBound(t *testing.T) {
	k, rng := newTask(t), newRand(1)
	grants, _, failed := k.heapRuns(rng, 20, false, func(float64) float64 { return 0 })
	assert.Equal(t, 20, failed)
	assert.LessOrEqual(t, grants[19], 16.0, "%v", grants)
}
