package experts

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBeyondCountsWhatAPlainCountDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		sorted := make([]float64, rng.IntN(40))
		for i := range sorted {
			sorted[i] = float64(rng.IntN(20)) // ties among them
		}
		slices.Sort(sorted)
		for v := -1.0; v <= 21; v += 0.5 {
			plain := 0
			for _, have := range sorted {
				if have > v {
					plain++
				}
			}
			require.Equal(t, plain, beyond(sorted, v), "%v above %v", sorted, v)
		}
	}
}

// What is kept from one row to the next is what would be worked out anew.
func TestTablesFollowEveryRow(t *testing.T) {
	x, s, pool := learned(small(), 3, 60, normal(0.3))
	var old Scratch
	for range 200 {
		p, peak := s.next()
		for source := range sourceCount {
			sorted, kept, _ := x.residuals(&p, source/spreads, source%spreads, &old)
			var fresh table
			fresh.read(sorted)
			require.Equal(t, fresh, *kept)
			anew, _, _ := x.residuals(&p, source/spreads, source%spreads, new(Scratch))
			require.Equal(t, anew, sorted)
		}
		x.Learn(&p, peak, 60, pool)
	}
}

func TestSortedIsWhatTheLibrarySorts(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var dst []float64
	for n := range 300 {
		values := make([]float64, n)
		for i := range values {
			switch n % 5 {
			case 0:
				values[i] = rng.NormFloat64()
			case 1:
				values[i] = math.Exp(5 * rng.NormFloat64()) // most in one place
			case 2:
				values[i] = float64(rng.IntN(3)) - 1
			case 3:
				values[i] = (float64(rng.IntN(3)) - 1) * math.MaxFloat64 // their range is no number
			default:
				values[i] = 1 + float64(rng.IntN(2))*0x1p-52 // a hair apart
			}
		}
		dst = sorted(values, dst)
		slices.Sort(values)
		require.Equal(t, values, append([]float64{}, dst...))
	}
}

func BenchmarkSorted(b *testing.B) {
	rng := rand.New(rand.NewPCG(8, 8))
	values, dst := make([]float64, 100_000), []float64(nil)
	for i := range values {
		values[i] = rng.NormFloat64()
	}
	b.Run("ours", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			dst = sorted(values[i%999*100:][:100], dst)
		}
	})
	b.Run("slices.Sort", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			dst = append(dst[:0], values[i%999*100:][:100]...)
			slices.Sort(dst)
		}
	})
}
