package bayes

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestShiftMovesThePrediction(t *testing.T) {
	a, _ := trained(3, 20, 0.8, 0.1)
	var before, after Mixture
	a.Predict([]float64{21, 0}, nil, 0, &prior, &before)
	a.Shift(0.7)
	a.Predict([]float64{21, 0}, nil, 0, &prior, &after)
	before.Shift(0.7)
	for i := range before.N {
		assert.InDelta(t, before.Level[i], after.Level[i], 1e-9)
		assert.InDelta(t, before.Weight[i], after.Weight[i], 1e-9)
	}
}
