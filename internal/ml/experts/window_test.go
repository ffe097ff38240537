package experts

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// oracle holds the answers of testdata/oracle/experts/make.py.
func oracle(t *testing.T) (o struct {
	Uppers []struct {
		Residuals   []float64
		Risk, Upper float64
	}
	Young []struct {
		Rows              int
		Squares, Quantile float64
		RiskAtReach       float64 `json:"risk_at_reach"`
	}
}) {
	t.Helper()
	raw, err := os.ReadFile("../../../testdata/oracle/experts/experts.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &o))
	return o
}

func upperOf(sorted []float64, risk float64) float64 { return upper(sorted, risk, tailOf(sorted)) }
func exceedOf(sorted []float64, v float64) float64   { return exceed(sorted, v, tailOf(sorted)) }

// Values are few and repeat, so that the right one of equals must leave.
func TestAWindowIsTheNewestValuesInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var w Window
	var all []float64
	for range 300 {
		v := float64(rng.IntN(12))
		all = append(all, v)
		w.Add(v, 40)
		newest := slices.Clone(all[max(0, len(all)-40):])
		arrived := append(slices.Clone(w.Ring[w.At:]), w.Ring[:w.At]...)
		require.Equal(t, newest, arrived, "in order of arrival")
		slices.Sort(newest)
		require.Equal(t, newest, w.Sorted)
		require.Equal(t, newest[len(newest)/2], w.Median())
	}
	assert.Zero(t, new(Window).Median())
}

// Nine residuals cut the future into ten equal parts.
func TestHandCheckedOrderStatistics(t *testing.T) {
	nine := []float64{1, 2, 3, 4, 5, 6, 7, 8, 10}
	for claim, c := range map[string]struct{ risk, want float64 }{
		"one of ten is above the largest":            {0.1, 10},
		"two of ten are above the second largest":    {0.2, 8},
		"halfway between ranks is halfway in values": {0.15, 9},
		"half are above the middle":                  {0.5, 5},
		// The top three lie 1, 2 and 4 above 6: a mean excess of 7/3, of which half
		// goes on for each factor e of risk.
		"a tenth of the least risk is 7/6·ln 10 further": {0.01, 10 + 7.0/6*math.Ln10},
	} {
		assert.InDelta(t, c.want, upperOf(nine, c.risk), 1e-12, claim)
	}
	assert.Zero(t, upperOf(nil, 0.1), "nothing is known: no margin")
	assert.Equal(t, 1.0, exceedOf(nil, 0.1), "nothing is known: no promise")
	assert.InDelta(t, 0.1, exceedOf(nine, 10), 1e-12)
	assert.InDelta(t, 0.01, exceedOf(nine, 10+7.0/6*math.Ln10), 1e-12)
	assert.Equal(t, 5.0, upperOf([]float64{5, 5, 5, 5}, 0.001), "a constant has no tail")
	assert.InDelta(t, 0.1, exceedOf([]float64{5, 5, 5, 5}, 5.1), 1e-12, "half of 1/5")
}

func TestUpperAgreesWithNumpy(t *testing.T) {
	cases := oracle(t).Uppers
	require.NotEmpty(t, cases)
	for _, c := range cases {
		assert.InDelta(t, c.Upper, upperOf(c.Residuals, c.Risk), 1e-9, "%d residuals, risk %v", len(c.Residuals), c.Risk)
	}
}

// margins checks the laws of upper and exceed on one set of residuals.
func margins(t *testing.T, sorted []float64) {
	t.Helper()
	step := 1 / float64(len(sorted)+1)
	last, above := math.Inf(-1), 1.0
	for risk := 0.5; risk > 1e-6; risk /= 1.3 {
		v := upperOf(sorted, risk)
		require.GreaterOrEqual(t, v, last, "less risk asks for less at %v of %v", risk, sorted)
		p := exceedOf(sorted, v)
		require.LessOrEqual(t, p, above, "more is riskier at %v of %v", v, sorted)
		last, above = v, p
		require.True(t, p > 0 && p <= 1, "P = %v", p)
		if len(sorted) > 1 && sorted[0] < sorted[len(sorted)-1] && risk >= step {
			require.LessOrEqual(t, p, risk+1e-9, "upper(%v) of %v keeps its risk", risk, sorted)
		}
	}
	for i := 1; i < 200; i++ { // a law of exceed alone: between and beyond the values
		lo, hi := sorted[0]-1, last+1
		v := lo + (hi-lo)*float64(i)/200
		require.LessOrEqual(t, exceedOf(sorted, v), exceedOf(sorted, v-(hi-lo)/200))
	}
}

func TestUpperAndExceedAreInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 100 {
		sorted := make([]float64, 2+rng.IntN(300))
		for i := range sorted {
			sorted[i] = rng.NormFloat64()
		}
		slices.Sort(sorted)
		margins(t, sorted)
		step := 1 / float64(len(sorted)+1)
		for risk := 0.4; risk > 1e-5; risk /= 1.5 {
			p := exceedOf(sorted, upperOf(sorted, risk))
			if risk < step { // the tail is smooth
				require.InEpsilon(t, risk, p, 1e-9)
			} else { // what was seen comes in steps of one residual
				require.InDelta(t, risk, p, step+1e-12)
			}
		}
	}
}

func FuzzMargins(f *testing.F) {
	f.Add([]byte{0, 0, 0}, 1.0)
	f.Add([]byte{1, 2, 3, 200, 255}, 1e9)
	f.Add([]byte{7, 7, 7, 7, 7, 7, 7, 8}, 1e-12)
	f.Fuzz(func(t *testing.T, raw []byte, scale float64) {
		if len(raw) == 0 || len(raw) > 600 || !(scale > 1e-100 && scale < 1e100) {
			return
		}
		sorted := make([]float64, len(raw))
		for i, b := range raw {
			sorted[i] = (float64(b) - 100) * scale
		}
		slices.Sort(sorted)
		margins(t, sorted)
	})
}
