package taskmodel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// runTimeStep is a model that learns run times, and a generator of runs whose times vary by 3 %. With hasFeature, the
// runs have a number without any effect.
type runTimeStep struct {
	*Model
	rng        *rand.Rand
	hasFeature bool
	runs       int64
}

func (s *runTimeStep) learn(runs int, seconds float64, more sizing.Features) {
	for range runs {
		s.runs++
		row := timed(s.runs, float64(1+s.rng.IntN(40)), seconds*(.97+.06*s.rng.Float64()))
		row.Peak = sizing.Bytes(1e9 * (.95 + .1*s.rng.Float64()))
		if !s.hasFeature {
			row.Features = nil
		}
		for name, value := range more {
			row.Features[name] = value
		}
		s.Learn(row)
	}
}

func (s *runTimeStep) ask(n float64) *sizing.Duration {
	if s.hasFeature {
		return durationOf(s.Model, n, 0)
	}
	return s.Size(Question{RiskTarget: sizing.DefaultRiskTarget}).Duration
}

// A new release changes all run times by a factor. The runs of the change itself must not stay in the quantiles.
func TestRunTimeQuantilesFollowAChangeOfLevel(t *testing.T) {
	for _, factor := range []float64{50, 10, 4, .1} {
		for _, hasFeature := range []bool{false, true} {
			s := runTimeStep{Model: New(), rng: rand.New(rand.NewPCG(14, 0)), hasFeature: hasFeature}
			s.learn(90, 100, nil)
			for _, runs := range []int{5, 5, 10, 20, 40} {
				s.learn(runs, 100*factor, nil)
				for _, n := range []float64{1, 5, 20, 40} {
					d := s.ask(n)
					assert.InEpsilon(t, 100*factor, d.Median.Seconds(), .25, "factor %v, run %d, n %v", factor, s.runs, n)
					assert.Less(t, d.P95.Seconds(), 130*factor, "factor %v, run %d, n %v", factor, s.runs, n)
					assert.Less(t, d.P99.Seconds(), 200*factor, "factor %v, run %d, n %v", factor, s.runs, n)
				}
			}
		}
	}
}

// Long runs with a rare known value of a category are no new level, even if several of them follow each other: all
// earlier run times would count at their level.
func TestRunsWithACommonInputAreNoNewLevelOfTheRunTimes(t *testing.T) {
	s := runTimeStep{Model: New(), rng: rand.New(rand.NewPCG(15, 0)), hasFeature: true}
	mode := func(v string) sizing.Features { return sizing.Features{"mode": sizing.TextValue(v)} }
	s.learn(20, 100, mode("daily"))
	s.learn(2, 100, mode("full"))
	s.learn(60, 100, mode("daily"))
	s.learn(8, 1000, mode("full"))
	assert.Empty(t, s.DurationLevels.Level.Changes)
}

// A return to the old level revokes the change, so that a fit can learn why the run times alternate.
func TestAReturnOfTheRunTimesRevokesTheChangeOfLevel(t *testing.T) {
	s := runTimeStep{Model: New(), rng: rand.New(rand.NewPCG(16, 0))}
	s.learn(60, 100, nil)
	s.learn(10, 1000, nil)
	assert.Len(t, s.DurationLevels.Level.Changes, 1)
	s.learn(10, 100, nil)
	assert.Empty(t, s.DurationLevels.Level.Changes)
	assert.InDelta(t, 0, s.DurationLevels.Level.Unfitted, 1e-9)
	assert.InEpsilon(t, 100, s.ask(0).Median.Seconds(), .25)
	s.learn(10, 1000, nil)
	assert.Empty(t, s.DurationLevels.Level.Changes, "run times that alternate have no further change of level")
}

// A rollback may follow the release at once.
func TestAnEarlyReturnOfTheRunTimesRevokesTheChangeOfLevel(t *testing.T) {
	s := runTimeStep{Model: New(), rng: rand.New(rand.NewPCG(18, 0))}
	s.learn(60, 100, nil)
	s.learn(4, 1000, nil)
	assert.Len(t, s.DurationLevels.Level.Changes, 1)
	s.learn(4, 100, nil)
	assert.Empty(t, s.DurationLevels.Level.Changes)
	assert.InEpsilon(t, 100, s.ask(0).Median.Seconds(), .25)
	assert.Less(t, s.ask(0).P99.Seconds(), 200.0)
}

// After an isolated long run, the predictions of the next runs are too long. This is no new level.
func TestAnIsolatedLongRunIsNoNewLevelOfTheRunTimes(t *testing.T) {
	for seed := range uint64(20) {
		s := runTimeStep{Model: New(), rng: rand.New(rand.NewPCG(seed, 5))}
		for range 200 {
			seconds := 10.0
			if s.rng.Float64() < .02 {
				seconds = 1000
			}
			s.learn(1, seconds, nil)
		}
		assert.Empty(t, s.DurationLevels.Level.Changes, "seed %d", seed)
	}
}

// A run of n units takes 10 n seconds. After a change it takes 100 n seconds, and only runs of few units follow. A fit
// must move the earlier runs to the new level, so that it learns the effect of n from all runs. The model is stored and
// opened before the fit and after it.
func TestAFitMovesRunTimesToTheNewLevel(t *testing.T) {
	m, h, rng := New(), &sizing.History{}, rand.New(rand.NewPCG(17, 0))
	learn := func(runs int, most, secondsPerUnit float64) {
		for range runs {
			n := 1 + (most-1)*rng.Float64()
			row := timed(h.LastSeq+1, n, secondsPerUnit*n*(.97+.06*rng.Float64()))
			m.Learn(row)
			addSuccess(h, &row)
		}
	}
	reopen := func() {
		blob, err := m.Blob()
		require.NoError(t, err)
		m, err = Open(blob)
		require.NoError(t, err)
	}
	refit := func(champion *Model) {
		fitted, outcome, err := Fit(h, champion)
		require.NoError(t, err)
		require.NotNil(t, fitted, outcome.Reason)
		m = fitted
		reopen()
	}
	learn(100, 40, 10)
	refit(nil)
	learn(5, 10, 100)
	changes := m.DurationLevels.Level.Changes
	require.Len(t, changes, 1)
	assert.Equal(t, int64(101), changes[0].Seq)
	reopen()
	assert.Equal(t, changes, m.DurationLevels.Level.Changes)
	assert.NotZero(t, m.DurationLevels.Level.Unfitted)
	assert.True(t, m.IsFitDue())
	assert.InEpsilon(t, 4000, durationOf(m, 40, 0).Median.Seconds(), .25, "before the fit")
	refit(m)
	assert.Equal(t, changes, m.DurationLevels.Level.Changes)
	assert.Zero(t, m.DurationLevels.Level.Unfitted)
	var p experts.Point
	m.Models.predict(m.cells(sizing.Features{"n": sizing.NumberValue(40)}, nil), &p, new(buffers))
	assert.InEpsilon(t, 4000, math.Expm1(p.Duration), .25, "the fitted models alone")
	assert.InEpsilon(t, 4000, durationOf(m, 40, 0).Median.Seconds(), .25, "after the fit")
	assert.Less(t, durationOf(m, 40, 0).P99.Seconds(), 8000.0)
}
