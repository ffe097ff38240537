package cohort

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The base and the steps of an explanation sum to the logarithm of the amount before floor, bins and cap.
func TestAnExplanationAddsUpToTheAmount(t *testing.T) {
	for name, byRequest := range map[string]bool{"peak": false, "ratio": true} {
		r := rand.New(rand.NewPCG(31, 1))
		var rows []Row
		for i := range 200 {
			row := task(i, r)
			if byRequest { // the request decides, so that the trees predict the ratio
				row.Requested.Memory = 1e9 * 1 << r.IntN(6)
				row.Peak = float64(row.Requested.Memory) * 0.5 * math.Exp(0.05*r.NormFloat64())
			}
			rows = append(rows, row)
		}
		m := Fit(rows)
		require.Equal(t, byRequest, m.byRequest, name)
		for i := range 20 {
			row := task(1000+i, r)
			q := question(&row)
			a, ok := m.Size(q)
			require.True(t, ok)
			e, ok := m.Explain(&q, &a)
			require.True(t, ok)
			sum, facts := e.Base, e.Base
			for _, s := range e.Steps {
				if sum += s.Log; s.Kind == FactStep {
					facts += s.Log
					assert.NotEmpty(t, s.Value, s.Name)
				}
			}
			assert.InDelta(t, math.Log(float64(a.unbounded)), sum, 1e-9)
			assert.InDelta(t, e.Level, facts, 1e-9, "the base and the facts must sum to the level")
			if !byRequest {
				assert.Equal(t, "metadata.owner", e.Steps[0].Name, "the owner, which determines the peak, must be the first step")
			}
		}
	}
	var sizedByRequest Answer
	_, ok := (&Model{}).Explain(&Question{}, &sizedByRequest)
	assert.False(t, ok)
}
