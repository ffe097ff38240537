package sizing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestMeanLimitFollowsTheResizes(t *testing.T) {
	at := func(seconds float64, limit Bytes) ExecutedResize {
		inForce := seconds + 10
		return ExecutedResize{Seconds: seconds, Memory: limit, Result: "applied", InForce: &inForce}
	}
	refused := ExecutedResize{Seconds: 10, Memory: 500, Result: "refused"} // never in force
	for name, c := range map[string]struct {
		plan *ExecutedPlan
		last Bytes
		want Bytes
	}{
		"two resizes":                     {&ExecutedPlan{Mode: ResizeMemory, Start: 100, Resizes: []ExecutedResize{at(50, 200), at(75, 400)}}, 400, 200},
		"refused and CPU resizes":         {&ExecutedPlan{Mode: ResizeMemory, Start: 100, Resizes: []ExecutedResize{refused, at(20, 0), at(50, 200)}}, 200, 150},
		"a resize after the end":          {&ExecutedPlan{Mode: ResizeMemory, Start: 100, Resizes: []ExecutedResize{at(500, 200)}}, 200, 100},
		"resizes of another process":      {&ExecutedPlan{Mode: ResizeMemory, Start: 100, Resizes: []ExecutedResize{at(50, 200)}}, 400, 0},
		"a larger resize, never in force": {&ExecutedPlan{Mode: ResizeMemory, Start: 100, Resizes: []ExecutedResize{at(50, 200), {Seconds: 60, Memory: 900, Result: "sent"}}}, 200, 150},
		"no growth":                       {&ExecutedPlan{Mode: ResizeMemory, Start: 100}, 100, 0},
		"CPU only":                        {&ExecutedPlan{Mode: ResizeCPU, Start: 100, Resizes: []ExecutedResize{at(50, 200)}}, 200, 0},
		"no plan":                         {nil, 200, 0},
	} {
		assert.Equal(t, c.want, c.plan.MeanLimit(c.last, 100*time.Second), name)
	}
	assert.Zero(t, (&ExecutedPlan{Mode: ResizeMemory, Start: 100, Resizes: []ExecutedResize{at(0, 200)}}).MeanLimit(200, 0), "with an unknown duration, the mean limit must be zero")
}
