package taskmodel

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// In the cold start, the line through two runs with inputs of extreme magnitude has a steep slope. An explanation of an
// answer to an extreme input has finite factors, whose product is the amount.
func TestExplanationsOfExtremeInputsAreFinite(t *testing.T) {
	largest := []float64{math.MaxFloat64, -math.MaxFloat64, 1e300, 1e200, -1e200}
	for _, known := range [][]float64{{1e-300, -1e300}, {-1e300, 1e-300}, {-math.MaxFloat64, math.SmallestNonzeroFloat64}} {
		m := New()
		for seq, peak := range []sizing.Bytes{6 * sizing.GiB, sizing.GiB, 3 * sizing.GiB, 2 * sizing.GiB, 22 * sizing.GiB, 1 * sizing.GiB, 4 * sizing.GiB} {
			row := TrainingRow{Seq: int64(seq + 1), Outcome: sizing.Success, Peak: peak, Censoring: sizing.Exact, FirstTry: true, Features: sizing.Features{}}
			if i := seq - 4; i == 0 || i == 1 {
				row.Features["big"] = sizing.NumberValue(known[i])
			}
			m.Learn(row)
			for _, x := range largest {
				q := Question{Features: sizing.Features{"big": sizing.NumberValue(x)}, Requested: sizing.Resources{Memory: 8 * sizing.GiB}, RiskTarget: .05}
				e := m.Explain(q)
				_, err := json.Marshal(e) // fails for numbers that are not finite
				require.NoError(t, err, "%v after %d runs: %+v", x, seq+1, e)
				product := float64(e.Base)
				for _, term := range e.Terms {
					assert.Positive(t, term.Factor)
					product *= term.Factor
				}
				assert.InEpsilon(t, float64(m.Size(q).Limit), product, 1e-9)
			}
		}
	}
}

func TestAPredictedRunTimeBelowZeroHasAFiniteMultiple(t *testing.T) {
	r := RunTimes{{levels: []float64{-.6, 0, 1, math.Inf(1)}}}
	r.Scale([]float64{3})
	for _, level := range r[0].levels {
		assert.False(t, math.IsNaN(level) || math.IsInf(level, 0), "%v", r[0].levels)
	}
	assert.Zero(t, r[0].levels[0])
}
