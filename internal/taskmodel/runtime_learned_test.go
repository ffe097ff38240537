package taskmodel

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The run time of a try is proportional to the input n, with a noise of 20 %. A run has one or several tries with the same
// input; no two runs, or few of them, have the same input.
func TestRunTimesOfLearnedTriesAreAsUncertainAsThoseOfNewOnes(t *testing.T) {
	for name, c := range map[string]struct {
		instances int
		inputs    func(*rand.Rand) float64
	}{
		"unique inputs":                 {1, func(r *rand.Rand) float64 { return 100 * math.Exp(.6*r.NormFloat64()) }},
		"inputs that two runs have":     {1, func(r *rand.Rand) float64 { return 20 + 10*float64(r.IntN(60)) }},
		"instances with the same input": {4, func(r *rand.Rand) float64 { return 100 * math.Exp(.6*r.NormFloat64()) }},
	} {
		t.Run(name, func(t *testing.T) {
			var learned, unseen []float64 // squares of log ratios
			for seed := range uint64(3) {
				rng, h := rand.New(rand.NewPCG(seed, 4)), &sizing.History{}
				next := func() (tries []LearnedTry) {
					n, common := c.inputs(rng), math.Exp(.2*rng.NormFloat64())
					for range c.instances {
						row := timed(h.LastSeq+1, n, 6*n*common)
						tries = append(tries, LearnedTry{row.Features, row.Seq, row.Duration})
					}
					return tries
				}
				var runs, more [][]LearnedTry
				for range 100 {
					tries := next()
					runs = append(runs, tries)
					for i := range tries {
						row := timed(h.LastSeq+1, 0, tries[i].Duration.Seconds())
						row.Features = tries[i].Features
						addSuccess(h, &row)
					}
					more = append(more, next())
				}
				m, _, err := Fit(h, nil)
				require.NoError(t, err)
				learned = append(learned, squaredErrors(m.LearnedRunTimes(runs), runs)...)
				for _, tries := range more {
					unseen = append(unseen, squaredErrors(m.RunTimes([]sizing.Features{tries[0].Features}), [][]LearnedTry{tries[:1]})...)
				}
			}
			assert.InEpsilon(t, average(unseen), average(learned), .25)
		})
	}
}

func squaredErrors(predicted RunTimes, runs [][]LearnedTry) (squares []float64) {
	for _, tries := range runs {
		for i := range tries {
			ratio := math.Log1p(tries[i].Duration.Seconds()) - predicted[len(squares)].LogSeconds()
			squares = append(squares, ratio*ratio)
		}
	}
	return squares
}

func average(values []float64) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Most inputs repeat, and the regression does not know the effect of their combinations. The mean of the other runs with the
// same inputs does.
func TestRunTimesOfLearnedTriesUseTheOtherRunsWithTheSameInputs(t *testing.T) {
	rng, h := rand.New(rand.NewPCG(1, 1)), &sizing.History{}
	var runs [][]LearnedTry
	for i := range 120 {
		n := float64(1 + i%6)
		row := timed(int64(i+1), n, []float64{600, 60, 900, 100, 300, 30}[i%6]*math.Exp(.05*rng.NormFloat64()))
		addSuccess(h, &row)
		runs = append(runs, []LearnedTry{{row.Features, row.Seq, row.Duration}})
	}
	m, _, err := Fit(h, nil)
	require.NoError(t, err)
	features := make([]sizing.Features, len(runs))
	for i := range runs {
		features[i] = runs[i][0].Features
	}
	with, without := squaredErrors(m.RunTimes(features), runs), squaredErrors(m.LearnedRunTimes(runs), runs)
	assert.InEpsilon(t, average(with), average(without), .25)
	runs[0][0].Duration = 0
	assert.Greater(t, math.Abs(math.Log(600)-m.LearnedRunTimes(runs)[0].LogSeconds()), .3, "with an unknown duration, the regression alone predicts")
}

// After a new level of the run times, the group has the earlier run times at the new level.
func TestRunTimesOfLearnedTriesAreAtTheNewestLevel(t *testing.T) {
	l := runTimeLevel{Changes: []runTimeChange{{Seq: 3, Log: math.Log(2)}}}
	assert.InEpsilon(t, 200, l.shift(2, 99.5), .01)
	assert.InEpsilon(t, 100, l.shift(3, 100), 1e-9)
	assert.Zero(t, l.shift(2, time.Duration(0).Seconds()))
}
