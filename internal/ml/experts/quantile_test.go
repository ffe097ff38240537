package experts

import (
	"math"
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
		for v := -1.0; v <= 21; v += 0.5 {
			want := 0
			for _, value := range sorted {
				if value > v {
					want++
				}
			}
			require.Equal(t, want, countAbove(sorted, v), "%v above %v", sorted, v)
		}
	}
}

// The cached quantiles, and the residuals of the rows with similar predictions that a reused Scratch
// caches, equal freshly computed ones.
func TestCachedQuantilesAreUpToDate(t *testing.T) {
	x, s, pool := trained(smallConfig(), 3, 60, normal(0.3))
	var old Scratch
	for range 200 {
		p, peak := s.next()
		for pair := range pairCount {
			sorted, cached, _ := x.distribution(&p, pair/distributionCount, pair%distributionCount, &old)
			var fresh quantileTable
			fresh.compute(sorted)
			require.Equal(t, fresh, *cached)
			uncached, _, _ := x.distribution(&p, pair/distributionCount, pair%distributionCount, new(Scratch))
			require.Equal(t, uncached, sorted)
		}
		x.Learn(&p, peak, 60, pool)
	}
}

func TestSortedCopyMatchesSlicesSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var dst []float64
	for n := range 300 {
		values := make([]float64, n)
		for i := range values {
			switch n % 5 {
			case 0:
				values[i] = rng.NormFloat64()
			case 1:
				values[i] = math.Exp(5 * rng.NormFloat64()) // most values in one bucket
			case 2:
				values[i] = float64(rng.IntN(3)) - 1
			case 3:
				values[i] = (float64(rng.IntN(3)) - 1) * math.MaxFloat64 // the range overflows
			default:
				values[i] = 1 + float64(rng.IntN(2))*0x1p-52 // adjacent floats
			}
		}
		dst = sortedCopy(values, dst)
		slices.Sort(values)
		require.Equal(t, values, append([]float64{}, dst...))
	}
}

func BenchmarkSortedCopy(b *testing.B) {
	rng := rand.New(rand.NewPCG(8, 8))
	values, dst := make([]float64, 100_000), []float64(nil)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	b.Run("sortedCopy", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			dst = sortedCopy(values[i%999*100:][:100], dst)
		}
	})
	b.Run("slices.Sort", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			dst = append(dst[:0], values[i%999*100:][:100]...)
			slices.Sort(dst)
		}
	})
}
