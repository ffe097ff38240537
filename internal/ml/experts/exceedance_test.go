package experts

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// spreadRows returns experts with the residuals of 1,000 rows. The log peaks of the rows are normal around their level, with
// the deviation actual(level). The trees predict the spread predicted(level).
func spreadRows(actual, predicted func(level float64) float64) *Experts {
	rng := rand.New(rand.NewPCG(6, 1))
	points, logs := make([]Point, 1000), make([]float64, 1000)
	for i := range points {
		level := rng.Float64()
		points[i] = spreadPoint(level, predicted)
		logs[i] = level + actual(level)*rng.NormFloat64()
	}
	x := New(Default(0.02)).WithResiduals(points, logs)
	x.Picks = []Pick{{Expert: 0, Weight: 1}} // ends the cold start
	return x
}

func spreadPoint(level float64, predicted func(level float64) float64) (p Point) {
	for k := range p.Level {
		p.Level[k] = level
	}
	p.Scale[TreeScale], p.Scale[SameScale] = predicted(level), predicted(level)
	return p
}

func step(low, high float64) func(level float64) float64 {
	return func(level float64) float64 {
		if level < 0.5 {
			return low
		}
		return high
	}
}

func TestCalibratedExceedanceFollowsThePredictedSpread(t *testing.T) {
	spread := step(0.1, 0.4)
	x := spreadRows(spread, spread)
	for _, level := range []float64{0.2, 0.8} {
		p, risk := spreadPoint(level, spread), make([]float64, 2)
		x.CalibratedExceedance(&p, []float64{math.Exp(level), math.Exp(level + spread(level))}, risk, new(Scratch))
		assert.InDelta(t, 0.5, risk[0], 0.06, "level %v", level)
		assert.InDelta(t, 0.159, risk[1], 0.04, "level %v", level)
	}
}

func TestNearRowsCorrectAWrongSpread(t *testing.T) {
	constant := step(0.2, 0.2)
	x, risk := spreadRows(step(0.1, 0.4), constant), make([]float64, 1)
	above := func(level float64) float64 {
		p := spreadPoint(level, constant)
		x.CalibratedExceedance(&p, []float64{math.Exp(level + 0.4)}, risk, new(Scratch))
		return risk[0]
	}
	assert.Greater(t, above(0.8), above(0.2)+0.03)
}

func TestScaledResidualsAreThoseOfTheNearestRows(t *testing.T) {
	x, s := spreadRows(step(0.1, 0.4), step(0.1, 0.3)), new(Scratch)
	for _, level := range []float64{0.3, 0.3, 0.7, 0} { // the second query answers from the cache
		p := spreadPoint(level, step(0.1, 0.3))
		got := x.nearScaled(&p, Trees, s)
		index, near := &x.levels[Trees], s.near[Trees]
		var want []float64
		for _, rank := range index.order[near.low : near.low+x.config.NearRows] {
			e := &x.Rows[index.byResidual[rank]]
			want = append(want, (e.Log-e.Point.Level[Trees])/e.Point.Scale[TreeScale])
		}
		slices.Sort(want)
		require.Equal(t, want, got.values)
	}
}

func TestResidualsOfAHoldoutComeFromAllRows(t *testing.T) {
	x := spreadRows(step(0.1, 0.1), step(0.1, 0.1))
	all := x.sorted(Trees*distributionCount + treeScaled)
	assert.Equal(t, 1000, all.len())
}
