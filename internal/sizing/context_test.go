package sizing

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBoundContextComputesMeansFromTheSeries(t *testing.T) {
	o := Observation{Series: &Series{Memory: []int64{1, 2, 6}, CPU: []float64{1, 2, 3}}, Usage: MeanUsage(nil).Set(CPUMean, 0.5)}
	assert.Empty(t, o.BoundContext())
	assert.Equal(t, 3., o.Usage.Get(MemoryMean))
	assert.Equal(t, 0.5, o.Usage.Get(CPUMean), "a reported mean must take precedence over that of the series")
	assert.True(t, math.IsNaN(o.Usage.Get(BytesRead)))
}
