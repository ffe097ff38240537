package taskmodel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func (k *task) reportRows(rows, gibs float64) {
	k.report(withRows(rows), sizing.HistoryRow{
		Outcome: sizing.Success, MemoryMax: bytes(gibs), Duration: 10 * time.Minute, Allocated: sizing.Resources{Memory: 16 * gib},
	})
}

// The first twenty runs of a task have zero to three rows, then two runs have 4,335 and 4,340 rows. No answer for an input
// between these two or above them may be clearly below the smaller of their peaks, or clearly below the answer for a smaller
// input. Two percent are tolerated.
func TestLargeInputsAfterAlmostEmptyOnes(t *testing.T) {
	for _, small := range []int{1, 2, 4} {
		for seed := range uint64(4) {
			k, rng := newTask(t), newRand(600+seed)
			peak := func(rows float64) float64 { return (.06 + .00014*rows) * noise(rng, .03) }
			for range 20 {
				rows := float64(rng.IntN(small))
				k.reportRows(rows, peak(rows))
			}
			k.reportRows(4335, .637)
			k.reportRows(4340, .640)
			k.fit()
			last := bytes(.637)
			for _, rows := range []float64{4336, 4340, 4400, 5000, 6000, 8000, 50_000, 1e6} {
				q := question(withRows(rows))
				q.Cap, q.Requested = 0, sizing.Resources{}
				s := k.model.Size(q)
				require.GreaterOrEqual(t, s.Limit, last.Times(.98), "first inputs below %d, then %v rows: %s", small, rows, s.Reason) // 2 % less is right: identical runs get narrower margins
				last = max(last, s.Limit)
			}
		}
	}
}

// The peak grows with the rows, which are at most 100 in the learned runs. Up to 90,000 rows a larger input never gets clearly
// less than a smaller one. The margin changes at eleven times the largest known number, where the lines of the cold-start rule end.
// From about 1,000 times the largest known number on, the grant is the static request, and the reason
// does not call it a saving.
func TestGrantDoesNotFallAsTheInputGrows(t *testing.T) {
	for seed := range uint64(4) {
		for _, runs := range []int{25, 60, 150} {
			k, rng := newTask(t), newRand(610+seed)
			for range runs {
				rows := 10 + 90*rng.Float64()
				k.reportRows(rows, (.2+rows/100)*noise(rng, .03))
			}
			k.fit()
			q := question(nil)
			q.Cap, q.Requested.Memory = 0, 16*gib
			last := sizing.Bytes(0)
			for _, rows := range []float64{50, 99, 101, 200, 500, 1000, 1100, 1200, 2000, 4900, 5000, 50_000, 90_000} {
				q.Features = withRows(rows)
				s := k.model.Size(q)
				require.GreaterOrEqual(t, s.Limit, last.Times(.92), "%d runs, %v rows: %s", runs, rows, s.Reason)
				if rows > 1100 { // only the trend extrapolates so far, not the lines of the cold-start rule
					require.Greater(t, s.Limit, bytes(.9*(.2+rows/100)), "%d runs, %v rows: %s", runs, rows, s.Reason)
				}
				last = s.Limit
			}
			for _, rows := range []float64{1e6, 1e12} {
				q.Features = withRows(rows)
				s := k.model.Size(q)
				require.Equal(t, 16*gib, s.Limit, s.Reason)
				require.Contains(t, s.Reason, "treated as missing")
				require.NotContains(t, s.Reason, "saves")
			}
		}
	}
}
