package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// FuzzReportsInWrongUnits puts up to three reports in different wrong units into a history. The
// reference is the same history without those reports.
func FuzzReportsInWrongUnits(f *testing.F) {
	for seed := range uint64(12) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 31))
		names := []string{"log-linear in size", "two kinds, eightfold", "constant", "step at fifty thousand"}
		draw := generators[names[rng.IntN(len(names))]]
		runs := 10 + rng.IntN(90)
		mistakes := map[int]float64{}
		for k, magnitude := range rng.Perm(3)[:1+rng.IntN(3)] { // different units, because equal ones confirm each other
			factor := math.Pow([...]float64{1000, 1024}[rng.IntN(2)], float64(1+magnitude))
			if rng.IntN(2) == 0 {
				factor = 1 / factor
			}
			mistakes[rng.IntN(max(1, runs*(k+1)/3))] = factor
		}
		wrong, without := newTask(t), newTask(t)
		for i := range runs {
			features, gibs := draw(rng)
			q := question(features)
			q.Requested.Memory = 16 * gib
			expected, got := without.model.Size(q), wrong.model.Size(q)
			require.LessOrEqual(t, got.Limit, 4*expected.Limit, "run %d of %d with %v", i, runs, mistakes)
			if expected.Limit >= bytes(gibs) {
				require.GreaterOrEqual(t, got.Limit, bytes(gibs), "run %d of %d with %v", i, runs, mistakes)
			}
			row := measuredRun(gibs)
			row.Allocated.Memory, row.Requested.Memory = max(got.Limit, bytes(gibs)), 16*gib
			if factor, wrongUnit := mistakes[i]; wrongUnit {
				row.MemoryMax = sizing.Bytes(math.Max(1, math.Min(sizing.MaxBytes, float64(row.MemoryMax)*factor)))
				wrong.report(features, row)
				continue
			}
			for _, k := range []*task{wrong, without} {
				k.report(features, row)
				if i == 30 || i == 60 {
					k.fit()
				}
			}
		}
	})
}
