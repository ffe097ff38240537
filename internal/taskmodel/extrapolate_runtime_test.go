package taskmodel

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A backfill has ten times as much input as the largest run so far. If its predicted run time were limited to a multiple of
// the longest run, a timeout derived from this prediction would end every try.
func TestRunTimesFollowInputsFarOutsideTheRange(t *testing.T) {
	for name, seconds := range map[string]func(n float64) float64{
		"proportional": func(n float64) float64 { return 2 * n },
		"with a base":  func(n float64) float64 { return 100 + n },
		"square root":  func(n float64) float64 { return 30 * math.Sqrt(n) },
	} {
		m, rng := New(), rand.New(rand.NewPCG(15, 0))
		for i := range 150 {
			n := 10 + 990*rng.Float64()
			row := timed(int64(i+1), n, seconds(n)*math.Exp(.05*rng.NormFloat64()))
			row.Peak = 1e9 // the peak does not depend on the input
			m.Learn(row)
		}
		a := m.Size(Question{Features: sizing.Features{"n": sizing.NumberValue(10_000)}, RiskTarget: sizing.DefaultRiskTarget, Timeout: time.Hour})
		assert.InEpsilon(t, seconds(10_000), a.Duration.Median.Seconds(), .3, name)
		assert.Greater(t, a.Duration.P95.Seconds(), 1.05*seconds(10_000), name)
		assert.Less(t, a.Duration.P95.Seconds(), 2*seconds(10_000), name)
		assert.Contains(t, a.Reason, "run time extrapolated to ", name)
		within := m.Size(Question{Features: sizing.Features{"n": sizing.NumberValue(500)}, RiskTarget: sizing.DefaultRiskTarget})
		assert.InEpsilon(t, seconds(500), within.Duration.Median.Seconds(), .1, name)
		assert.NotContains(t, within.Reason, "extrapolated", name)
	}
}
