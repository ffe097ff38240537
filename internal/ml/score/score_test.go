package score_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/score"
)

func TestScoresOfASmallEvaluation(t *testing.T) {
	// 6 correct rows, 2 over-estimates, 2 under-estimates
	c, err := score.Count([]int{0, 0, 1, 2, 2, 0, 1, 2, 2, 2}, []int{0, 0, 1, 2, 2, 2, 2, 0, 1, 2}, 3)
	require.NoError(t, err)
	assert.Equal(t, score.Confusion{{2, 0, 1}, {0, 1, 1}, {1, 1, 3}, {0, 0, 0}}, c)
	assert.Equal(t, 10, c.Total())
	assert.Equal(t, 2, c.Over(), "the distance does not matter")
	assert.Equal(t, 2, c.Under())
	assert.InDelta(t, 0.6, c.Accuracy(), 1e-12)
	assert.InDelta(t, 0.2, c.URate(), 1e-12)
	assert.InDelta(t, 100*(2+10*2)/10.0, c.UScore(score.DefaultPenalty), 1e-12)
	assert.InDelta(t, 0.9*0.6-0.2, c.EstimatedSaving(0.9), 1e-12)
}

func TestARowAboveTheLastBinIsAnUnderEstimate(t *testing.T) {
	c, err := score.Count([]int{0, 1, 2, 2}, []int{0, 1, 1, 0}, 2)
	require.NoError(t, err)
	assert.InDelta(t, 0.5, c.Accuracy(), 1e-12)
	assert.InDelta(t, 0.5, c.URate(), 1e-12)
	assert.InDelta(t, 500, c.UScore(score.DefaultPenalty), 1e-12)
}

func TestAnEmptyEvaluationScoresZero(t *testing.T) {
	c, err := score.Count(nil, nil, 2)
	require.NoError(t, err)
	assert.Zero(t, c.UScore(10))
	assert.Zero(t, c.Accuracy())
	assert.Zero(t, c.URate())
}

func TestCountRejectsInvalidRows(t *testing.T) {
	for claim, c := range map[string]struct{ actual, predicted []int }{
		"lengths differ":        {[]int{0}, nil},
		"a bin above the last":  {[]int{0}, []int{2}},
		"a bin below the first": {[]int{-1}, []int{0}},
		"an actual bin above k": {[]int{3}, []int{0}},
	} {
		_, err := score.Count(c.actual, c.predicted, 2)
		assert.ErrorIs(t, err, score.ErrShape, claim)
	}
}

func TestDecideTakesTheBinOfLeastExpectedCost(t *testing.T) {
	for claim, c := range map[string]struct {
		p       []float64
		penalty float64
		want    int
	}{
		"a risk of 10 % needs the higher bin":  {[]float64{.9, .1}, 10, 1},
		"a risk of 5 % allows the lower bin":   {[]float64{.95, .05}, 10, 0},
		"at penalty 1 the likeliest bin wins":  {[]float64{.3, .4, .3}, 1, 1},
		"an equal cost goes to the higher bin": {[]float64{.5, .5}, 1, 1},
		"the first bin is certain":             {[]float64{1, 0, 0}, 10, 0},
		"a bin may be skipped":                 {[]float64{.8, .0, .2}, 10, 2},
		"one bin is the only choice":           {[]float64{1}, 10, 0},
	} {
		assert.Equal(t, c.want, score.Decide(c.p, c.penalty), claim)
	}
}

func TestDecideMatchesExhaustiveSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for range 1000 {
		p, sum := make([]float64, 1+rng.IntN(6)), 0.0
		for i := range p {
			p[i] = rng.Float64()
			sum += p[i]
		}
		for i := range p {
			p[i] /= sum
		}
		penalty := 20 * rng.Float64()
		cost := func(bin int) (total float64) {
			for actual, v := range p {
				if actual < bin {
					total += v
				} else if actual > bin {
					total += penalty * v
				}
			}
			return total
		}
		got := cost(score.Decide(p, penalty))
		for bin := range p {
			require.LessOrEqual(t, got, cost(bin)+1e-9)
		}
	}
}

func TestAHigherPenaltyNeverLowersTheBin(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	for range 200 {
		p := []float64{rng.Float64(), rng.Float64(), rng.Float64(), rng.Float64()}
		last := 0
		for penalty := 0.5; penalty < 50; penalty *= 1.5 {
			bin := score.Decide(p, penalty)
			require.GreaterOrEqual(t, bin, last)
			last = bin
		}
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	p := []float64{.2, .3, .5}
	assert.Zero(t, testing.AllocsPerRun(100, func() { score.Decide(p, 10) }))
}
