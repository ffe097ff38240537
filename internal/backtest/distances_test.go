package backtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDistanceToDistributionWithEqualRunTimes(t *testing.T) {
	equal := []float64{60, 60, 60, 60}
	assert.Zero(t, distanceTo(equal, stepsOf(equal)), "four equal run times and their own distribution")
	assert.Equal(t, 1., distanceTo(equal, stepsOf([]float64{90})), "all run times are below the distribution")
	assert.InDelta(t, .25, distanceTo([]float64{10, 60, 60, 90}, stepsOf([]float64{60, 60, 60, 90})), 1e-12, "only the run time of 10 s differs")
}
