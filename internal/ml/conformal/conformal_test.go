package conformal_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/conformal"
)

func TestQuantileByHand(t *testing.T) {
	scores := []float64{5, 1, 4, 2, 3, 9, 7, 8, 6} // 1 … 9
	for claim, c := range map[string]struct {
		weights []float64
		q, want float64
	}{
		"the ⌈10·½⌉-th of nine":            {nil, 0.5, 5},
		"the ⌈10·.81⌉-th of nine":          {nil, 0.81, 9},
		"the ⌈10·.9⌉-th, not one more":     {nil, 0.9, 9},
		"nine scores are too few for 95 %": {nil, 0.95, math.Inf(1)},
		"a level of 0 has no lower bound":  {nil, 0, math.Inf(-1)},
		// Only 5 and 1 have weight: 1 + 1 + 1 for the new row, so ½ needs 1.5.
		"rows with weight 0 do not count": {[]float64{1, 1, 0, 0, 0, 0, 0, 0, 0}, 0.5, 5},
		// 5 and 1 weigh 1, the others .1, and the new row 1: the sum is 3.7, and .3 needs 1.11.
		"rows with a low weight count little": {[]float64{1, 1, .1, .1, .1, .1, .1, .1, .1}, 0.3, 3},
	} {
		t.Run(claim, func(t *testing.T) {
			assert.Equal(t, c.want, conformal.Quantile(scores, c.weights, c.q))
		})
	}
	scores99 := make([]float64, 99)
	for i := range scores99 {
		scores99[i] = float64(i + 1)
	}
	assert.Equal(t, 55.0, conformal.Quantile(scores99, nil, 0.55), ".55·100 is slightly above 55 in binary")
	assert.True(t, math.IsInf(conformal.Quantile(nil, nil, 0.5), 1), "without scores the quantile is infinite")
}

// oracle reads the reference results of testdata/oracle/conformal/make.py.
func oracle(t *testing.T) (o struct {
	Intervals []struct {
		Method           string
		K, N             int
		Level, Low, High float64
	}
	Quantiles []struct {
		Scores   []float64
		Q        float64
		Quantile *float64 // null: +Inf
	}
}) {
	raw, err := os.ReadFile("../../../testdata/oracle/conformal/conformal.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &o))
	return o
}

func TestQuantileAgreesWithNumpy(t *testing.T) {
	cases := oracle(t).Quantiles
	require.Len(t, cases, 20)
	for _, c := range cases {
		want := math.Inf(1)
		if c.Quantile != nil {
			want = *c.Quantile
		}
		assert.Equal(t, want, conformal.Quantile(c.Scores, nil, c.Q), "%d scores at %v", len(c.Scores), c.Q)
	}
}

func TestQuantileHasTheNominalCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	const trials, n = 8000, 39
	for _, q := range []float64{0.5, 0.9, 0.95} {
		covered := 0
		scores := make([]float64, n)
		for range trials {
			for i := range scores {
				scores[i] = rng.ExpFloat64()
			}
			if rng.ExpFloat64() <= conformal.Quantile(scores, nil, q) {
				covered++
			}
		}
		// The exact coverage is ⌈40·q⌉/40 = q. The tolerance is four standard errors.
		assert.InDelta(t, q, float64(covered)/trials, 4*math.Sqrt(q*(1-q)/trials))
	}
}

func TestRecencyHalvesWithAge(t *testing.T) {
	assert.InDeltaSlice(t, []float64{.25, .5, 1}, conformal.Recency(3, 1), 1e-12)
	assert.Equal(t, []float64{1, 1, 1}, conformal.Recency(3, math.Inf(1)))
}

func TestQuantileOfATypicalWindowDoesNotAllocate(t *testing.T) {
	scores := make([]float64, 200)
	for i := range scores {
		scores[i] = float64(i * 7 % 200)
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() { conformal.Quantile(scores, nil, 0.9) }))
}

func TestIntervalsAgreeWithStatsmodels(t *testing.T) {
	cases := oracle(t).Intervals
	require.Len(t, cases, 48)
	for _, c := range cases {
		if c.Method != "clopper_pearson" {
			continue // package sizing tests its Wilson interval against the same file
		}
		low, high := conformal.ClopperPearson(c.K, c.N, c.Level)
		assert.InDelta(t, c.Low, low, 1e-9, "%s %d/%d", c.Method, c.K, c.N)
		assert.InDelta(t, c.High, high, 1e-9, "%s %d/%d", c.Method, c.K, c.N)
	}
}

func TestIntervalWithoutRowsIsTheUnitInterval(t *testing.T) {
	low, high := conformal.ClopperPearson(0, 0, 0.95)
	assert.Equal(t, [2]float64{0, 1}, [2]float64{low, high})
}

func TestClopperPearsonHasAtLeastTheNominalCoverage(t *testing.T) {
	// The exact coverage is the probability of all k whose interval contains p, for n = 40.
	for _, p := range []float64{0.01, 0.015, 0.1, 0.5} {
		coverage := 0.0
		for k := range 41 {
			if low, high := conformal.ClopperPearson(k, 40, 0.95); low <= p && p <= high {
				l1, _ := math.Lgamma(41)
				l2, _ := math.Lgamma(float64(k + 1))
				l3, _ := math.Lgamma(float64(41 - k))
				coverage += math.Exp(l1 - l2 - l3 + float64(k)*math.Log(p) + float64(40-k)*math.Log(1-p))
			}
		}
		assert.GreaterOrEqual(t, coverage, 0.95, "p = %v", p)
	}
}
