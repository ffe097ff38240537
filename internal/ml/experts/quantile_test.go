package experts

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCountAboveMatchesALinearCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		sorted := make([]float64, rng.IntN(40))
		for i := range sorted {
			sorted[i] = float64(rng.IntN(20)) // includes ties
		}
		slices.Sort(sorted)
		previous := ascending{values: sorted}
		for step := -1.0; step <= 21; step += 0.5 {
			v := step
			if rng.IntN(2) == 0 {
				v = 20 - v // so that the queries are in no order: countAbove starts from its previous result
			}
			want := 0
			for _, value := range sorted {
				if value > v {
					want++
				}
			}
			require.Equal(t, want, countAbove(&previous, v), "number of values of %v above %v", sorted, v)
		}
	}
}

// The cached quantiles equal newly computed ones. The residuals of the rows nearest in level, which a reused Scratch caches, equal
// those in a new Scratch.
func TestCachedQuantilesAreUpToDate(t *testing.T) {
	x, s, pool := trained(smallConfig(), 3, 60, normal(0.3))
	var reused Scratch
	for range 200 {
		p, peak := s.next()
		for pair := range pairCount {
			model, dist := pair/distributionCount, pair%distributionCount
			cached, _ := x.distribution(&p, model, dist, &reused)
			sorted := x.residuals(model, dist, &reused)
			var fresh quantileTable
			fresh.compute(&sorted)
			require.Equal(t, fresh, *cached)
			var uncached Scratch
			x.distribution(&p, model, dist, &uncached)
			require.Equal(t, x.residuals(model, dist, &uncached), sorted)
		}
		x.Learn(&p, peak, 60, 0, pool, new(Scratch))
	}
}
