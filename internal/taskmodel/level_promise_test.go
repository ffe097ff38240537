package taskmodel_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// The peak is a fixed part plus a noisy part in proportion to the rows, and few runs have many rows. So the relative noise is
// largest for the largest runs, and nearly all kills are among them. Eight tasks of a DAG share their pool.
func TestPromisesForTheLargestRuns(t *testing.T) {
	t.Parallel()
	var killed, promised [2]float64 // of the other runs, and of those with the largest tenth of the rows
	for seed := range uint64(2) {
		dag := make([]*task, 8)
		for i := range dag {
			dag[i] = newTask(t)
		}
		rng := newRand(seed)
		for run := range 300 {
			for _, k := range dag {
				var pool taskmodel.Pool
				for _, other := range dag {
					share := other.model.Pool()
					pool.Add(&share)
				}
				k.model.SetPool(&pool, nil)
				rows := min(1/(1-rng.Float64()), 200)
				s := k.run(sizing.Features{"rows": sizing.NumberValue(math.Round(1e4 * rows))}, 0.5+0.02*rows*noise(rng, 0.2))
				k.train()
				if run >= 150 { // the pool has learned the kills of the first runs
					class := 0
					if rows > 10 {
						class = 1
					}
					promised[class] += s.promised
					if s.killed {
						killed[class]++
					}
				}
			}
		}
	}
	t.Logf("killed %.0f, promised %.1f", killed, promised)
	require.Positive(t, killed[1])
	assert.Less(t, killed[1], 3*promised[1])
	assert.Greater(t, killed[1], promised[1]/2)
	assert.Greater(t, promised[1], promised[0])
	requireCalibrated(t, promised[0]+promised[1], killed[0]+killed[1])
}
