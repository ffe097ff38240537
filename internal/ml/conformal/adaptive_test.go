package conformal_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/conformal"
)

func TestAdaptiveMovesByTheStep(t *testing.T) {
	a := conformal.NewAdaptive(0.1, 0.05)
	assert.InDelta(t, 0.9, a.Level(), 1e-12)
	a.Update(true)
	assert.InDelta(t, 0.945, a.Level(), 1e-12, "a miss raises the level by .05 · .9")
	a.Update(false)
	assert.InDelta(t, 0.94, a.Level(), 1e-12, "a hit lowers the level by .05 · .1")
}

// quantile returns the split-conformal quantile of ascending scores: the ⌈(n+1)·q⌉-th smallest.
func quantile(scores []float64, q float64) float64 {
	switch i := int(math.Ceil(q * float64(len(scores)+1))); {
	case i < 1:
		return math.Inf(-1)
	case i > len(scores):
		return math.Inf(1)
	default:
		return scores[i-1]
	}
}

// The bound in the comment of Adaptive holds for any sequence. Here the scores triple in the second half, and
// the quantiles are those of a separate sample with the distribution of the first half.
func TestAdaptiveMeetsTheTargetUnderDrift(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	calibration := make([]float64, 300)
	for i := range calibration {
		calibration[i] = rng.ExpFloat64()
	}
	slices.Sort(calibration)
	const rows, target = 4000, 0.05
	for _, step := range []float64{0.01, 0.05} {
		a := conformal.NewAdaptive(target, step)
		fixed, misses, fixedMisses := quantile(calibration, 1-target), 0, 0
		for i := range rows {
			score := rng.ExpFloat64()
			if i >= rows/2 {
				score *= 3
			}
			missed := score > quantile(calibration, a.Level())
			if missed {
				misses++
			}
			if score > fixed {
				fixedMisses++
			}
			a.Update(missed)
		}
		bound := (1 + step) / (step * rows)
		require.LessOrEqual(t, math.Abs(float64(misses)/rows-target), bound, "step %v", step)
		assert.Greater(t, float64(fixedMisses)/rows, 3*target, "a fixed quantile is missed more than three times as often as the target")
	}
}
