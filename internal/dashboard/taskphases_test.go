package dashboard

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

func TestPlannedLimitEndsWithTheRunOrAtTheKill(t *testing.T) {
	const gib = int64(sizing.GiB)
	growing := []LimitRow{{0, 2 * sizing.GiB}, {60, 4 * sizing.GiB}}
	for name, c := range map[string]struct {
		run     PhasedRun
		minutes []float64
		gib     []float64
	}{
		"no kill": {PhasedRun{StepSeconds: 60, Memory: []int64{gib, 3 * gib, 3 * gib, 3 * gib}, Limits: growing},
			[]float64{0, 1, 1, 3}, []float64{2, 2, 4, 4}},
		"a kill long after the last change": {PhasedRun{StepSeconds: 60, Memory: []int64{gib, 3 * gib, 3 * gib, 5 * gib, 6 * gib}, Limits: growing, Killed: true},
			[]float64{0, 1, 1, 3}, []float64{2, 2, 4, 4}},
		"a kill with a constant limit": {PhasedRun{StepSeconds: 60, Memory: []int64{gib, gib, 3 * gib, gib}, Limits: growing[:1], Killed: true},
			[]float64{0, 2}, []float64{2, 2}},
		"a limit that grows during a step": {PhasedRun{StepSeconds: 120, Memory: []int64{3 * gib, 5 * gib, gib}, Limits: growing, Killed: true},
			[]float64{0, 1, 1, 2}, []float64{2, 2, 4, 4}},
		"no plan": {PhasedRun{StepSeconds: 60, Memory: []int64{gib, gib}}, nil, nil},
	} {
		line := c.run.limits()
		assert.Equal(t, c.minutes, line.X, name)
		for i := range line.Y {
			line.Y[i] /= float64(sizing.GiB)
		}
		assert.Equal(t, c.gib, line.Y, name)
	}
}
