package experts

import (
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
