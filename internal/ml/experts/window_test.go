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

// oracle reads the reference results of testdata/oracle/experts/make.py.
func oracle(t *testing.T) (o struct {
	Uppers []struct {
		Residuals   []float64
		Risk, Upper float64
	}
	ColdStart []struct {
		Rows              int
		Squares, Quantile float64
		RiskAtReach       float64 `json:"risk_at_reach"`
	} `json:"young"`
}) {
	t.Helper()
	raw, err := os.ReadFile("../../../testdata/oracle/experts/experts.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &o))
	return o
}

func quantileOf(sorted []float64, risk float64) float64 {
	values := ascending{values: sorted}
	return upperQuantile(&values, risk, tailOf(&values))
}

func exceedanceOf(sorted []float64, v float64) float64 {
	values := ascending{values: sorted}
	return exceedanceProb(&values, v, tailOf(&values))
}

// Values repeat, so that Add must remove exactly one of several equal values.
func TestWindowHoldsTheNewestValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var w Window
	var all []float64
	for range 300 {
		v := float64(rng.IntN(12))
		all = append(all, v)
		w.Add(v, 40)
		newest := slices.Clone(all[max(0, len(all)-40):])
		arrived := append(slices.Clone(w.Ring[w.At:]), w.Ring[:w.At]...)
		require.Equal(t, newest, arrived, "the ring holds the newest values in order of arrival")
		slices.Sort(newest)
		require.Equal(t, newest, w.Sorted)
		require.Equal(t, newest[len(newest)/2], w.Median())
	}
	assert.Zero(t, new(Window).Median())
}

// Nine residuals divide the distribution of the next draw into ten equal parts.
func TestOrderStatisticsMatchHandCalculation(t *testing.T) {
	nine := []float64{1, 2, 3, 4, 5, 6, 7, 8, 10}
	for claim, c := range map[string]struct{ risk, want float64 }{
		"one of ten is above the largest":            {0.1, 10},
		"two of ten are above the second largest":    {0.2, 8},
		"halfway between ranks is halfway in values": {0.15, 9},
		"half are above the middle":                  {0.5, 5},
		// The top three are 1, 2 and 4 above 6: their mean excess is 7/3. The scale of the exponential tail is
		// half of it, so a risk that is smaller by the factor e raises the quantile by 7/6.
		"at a tenth of the risk of the largest, the quantile is 7/6·ln 10 higher": {0.01, 10 + 7.0/6*math.Ln10},
	} {
		assert.InDelta(t, c.want, quantileOf(nine, c.risk), 1e-12, claim)
	}
	assert.Zero(t, quantileOf(nil, 0.1), "no residuals: no margin")
	assert.Equal(t, 1.0, exceedanceOf(nil, 0.1), "no residuals: probability 1")
	assert.InDelta(t, 0.1, exceedanceOf(nine, 10), 1e-12)
	assert.InDelta(t, 0.01, exceedanceOf(nine, 10+7.0/6*math.Ln10), 1e-12)
	assert.Equal(t, 5.0, quantileOf([]float64{5, 5, 5, 5}, 0.001), "a constant has no tail")
	assert.InDelta(t, 0.1, exceedanceOf([]float64{5, 5, 5, 5}, 5.1), 1e-12, "beyond a constant, the probability is half of 1/5")
}

func TestQuantileAgreesWithNumpy(t *testing.T) {
	cases := oracle(t).Uppers
	require.NotEmpty(t, cases)
	for _, c := range cases {
		assert.InDelta(t, c.Upper, quantileOf(c.Residuals, c.Risk), 1e-9, "%d residuals, risk %v", len(c.Residuals), c.Risk)
	}
}

// requireQuantileLaws checks on one set of residuals that the quantile and the exceedance
// probability are monotonic and consistent with each other.
func requireQuantileLaws(t *testing.T, sorted []float64) {
	t.Helper()
	step := 1 / float64(len(sorted)+1)
	last, above := math.Inf(-1), 1.0
	for risk := 0.5; risk > 1e-6; risk /= 1.3 {
		v := quantileOf(sorted, risk)
		require.GreaterOrEqual(t, v, last, "a smaller risk must not give a smaller quantile: risk %v of the residuals %v", risk, sorted)
		p := exceedanceOf(sorted, v)
		require.LessOrEqual(t, p, above, "a larger amount must not have a larger risk: amount %v, residuals %v", v, sorted)
		last, above = v, p
		require.True(t, p > 0 && p <= 1, "the probability must be above 0 and at most 1: %v", p)
		if len(sorted) > 1 && sorted[0] < sorted[len(sorted)-1] && risk >= step {
			require.LessOrEqual(t, p, risk+1e-9, "the quantile must not be exceeded with more than its risk: risk %v of the residuals %v", risk, sorted)
		}
	}
	for i := 1; i < 200; i++ { // exceedanceProb is monotonic between and beyond the values
		lo, hi := sorted[0]-1, last+1
		v := lo + (hi-lo)*float64(i)/200
		require.LessOrEqual(t, exceedanceOf(sorted, v), exceedanceOf(sorted, v-(hi-lo)/200))
	}
}

func TestQuantileAndExceedanceAreInverse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 100 {
		sorted := make([]float64, 2+rng.IntN(300))
		for i := range sorted {
			sorted[i] = rng.NormFloat64()
		}
		slices.Sort(sorted)
		requireQuantileLaws(t, sorted)
		step := 1 / float64(len(sorted)+1)
		for risk := 0.4; risk > 1e-5; risk /= 1.5 {
			p := exceedanceOf(sorted, quantileOf(sorted, risk))
			if risk < step { // the exponential tail is continuous
				require.InEpsilon(t, risk, p, 1e-9)
			} else { // the empirical part has steps of one residual
				require.InDelta(t, risk, p, step+1e-12)
			}
		}
	}
}

func FuzzQuantiles(f *testing.F) {
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
		requireQuantileLaws(t, sorted)
	})
}

// The windows equal the sorted residuals of the newest rows, with repeated residuals too.
func TestResidualWindowsFollowTheStore(t *testing.T) {
	x, s, pool := trained(smallConfig(), 5, 30, normal(0.3))
	x.ignoresShifts = true
	for n := range 300 {
		p, peak := s.next()
		if n%3 == 0 {
			p, peak = pointAt(gb, 0.3, 10), gb
		}
		x.Learn(&p, peak, 60, 0, pool, new(Scratch))
		size := min(len(x.Rows), x.config.WindowRows)
		for pair := range pairCount {
			model, dist := pair/distributionCount, pair%distributionCount
			if dist == nearestRows {
				continue
			}
			want := make([]float64, size)
			for i := range want {
				e := &x.Rows[(x.At+len(x.Rows)-size+i)%len(x.Rows)]
				want[i] = [distributionCount]float64{
					allRows: e.Log - e.Point.Level[model], treeScaled: (e.Log - e.Point.Level[model]) / e.Point.Scale[TreeScale],
					sameScaled: (e.Log - e.Point.Level[model]) / e.Point.Scale[SameScale], byteResiduals: math.Exp(e.Log) - math.Exp(e.Point.Level[model]),
				}[dist]
			}
			slices.Sort(want)
			sorted := x.sorted(pair)
			got := make([]float64, sorted.len())
			for i := range got {
				got[i] = sorted.at(i)
			}
			require.Equal(t, want, got, "%s, %s, after %d rows", ModelNames[model], distributionNames[dist], n)
		}
	}
}
