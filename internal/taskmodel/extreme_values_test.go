package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// extreme draws runs with extreme values. One in 15 values of the inputs a and b is zero, of very large magnitude or
// the smallest positive float64. Two in nine peaks are the smallest or the largest that a report may contain.
func extreme(rng *rand.Rand) (sizing.Features, float64) {
	ends := []float64{0, 1e300, -1e300, math.MaxFloat64, -math.MaxFloat64, 5e-324, 1e154, 1e160}
	value := func() sizing.Value {
		if rng.IntN(15) == 0 {
			return sizing.NumberValue(ends[rng.IntN(len(ends))])
		}
		return sizing.NumberValue(rng.NormFloat64())
	}
	gibs := math.Exp(rng.NormFloat64())
	switch rng.IntN(9) {
	case 0:
		gibs = 1 / float64(gib)
	case 1:
		gibs = float64(sizing.MaxBytes / gib)
	}
	return sizing.Features{"a": value(), "b": value(), "c": sizing.NumberValue(rng.Float64())}, gibs
}

func TestExtremeReportsKeepAnswersValid(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		k, rng := newTask(t), newRand(seed)
		requireAmount := func(b sizing.Bytes) { require.True(t, b > 0 && b <= sizing.MaxBytes, "%d bytes", b) }
		for range 120 {
			f, gibs := extreme(rng)
			s := k.model.Size(taskmodel.Question{Features: f, Requested: sizing.Resources{Memory: gib}, RiskTarget: 0.02, Lifts: 3})
			requireAmount(s.Limit)
			for _, rung := range s.Ladder {
				requireAmount(rung)
			}
			if s.Bins != nil {
				requireAmount(s.Bins.Upper[len(s.Bins.Upper)-1])
			}
			if s.Promised != nil {
				require.False(t, math.IsNaN(*s.Promised))
			}
			k.reportSuccess(f, gibs)
			k.train()
		}
		k.model = reopen(t, blobOf(t, k.model))
	}
}
