package taskmodel_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/cart"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func TestFitWithoutRowsNamesTheCause(t *testing.T) {
	m, outcome, err := taskmodel.Fit(&sizing.History{}, nil)
	require.NoError(t, err)
	assert.Nil(t, m)
	assert.False(t, outcome.Trained)
	assert.NotEmpty(t, outcome.Reason)
}

// Fit with a champion and new rows gives the same residuals as learning these rows one by one: a training changes the
// models, but not the past residuals. (After a fall of the peaks, moveResiduals would replace residuals.)
func TestFitContinuesTheResidualsOfItsChampion(t *testing.T) {
	k, rng := trainedTask(t, growing, 31, 120)
	blob := blobOf(t, k.model)
	streamed := reopen(t, blob)
	for i := range 15 {
		f, gibs := growing(rng)
		r := k.row(f, measuredRun(gibs))
		if i%7 == 0 {
			r.Outcome, r.Allocated.Memory, r.MemoryMax = sizing.OOMKilled, bytes(gibs/2), 0
		}
		streamed.Learn(taskmodel.NewTrainingRow(&k.history.Schema, r))
	}
	fitted, outcome, err := taskmodel.Fit(&k.history, reopen(t, blob))
	require.NoError(t, err)
	require.True(t, outcome.Trained)
	assert.Equal(t, streamed.Experts.LearnedRows, fitted.Experts.LearnedRows)
	assert.Equal(t, streamed.Experts.Rows, fitted.Experts.Rows)
	assert.Equal(t, streamed.Experts.Cost, fitted.Experts.Cost)
	assert.Equal(t, streamed.Experts.Kills, fitted.Experts.Kills)
	assert.Equal(t, streamed.OutOfSample, fitted.OutOfSample)
	assert.Equal(t, streamed.Share, fitted.Share)
	assert.Equal(t, k.history.LastSeq, fitted.LastSeq)

	again, _, err := taskmodel.Fit(&k.history, reopen(t, blobOf(t, fitted)))
	require.NoError(t, err)
	assert.Equal(t, fitted.Experts.LearnedRows, again.Experts.LearnedRows, "each row must be learned only once")
	assert.Equal(t, fitted.Experts.Cost, again.Experts.Cost)
}

// Fit predicts each row of a long history before it learns the row, so that the residuals are as large as future errors.
func TestBulkResidualsAreOutOfSample(t *testing.T) {
	k, rng := newTask(t), newRand(32)
	for range 250 { // the feature is irrelevant and the peak varies by 30 %
		k.row(sizing.Features{"id": sizing.NumberValue(rng.Float64())}, measuredRun(noise(rng, 0.3)))
	}
	m, _, err := taskmodel.Fit(&k.history, nil)
	require.NoError(t, err)
	kills := 0
	for range 300 {
		s := m.Size(question(sizing.Features{"id": sizing.NumberValue(rng.Float64())}))
		if s.Limit < bytes(noise(rng, 0.3)) {
			kills++
		}
	}
	assert.LessOrEqual(t, kills, 15, "at most 15 of 300 runs may be killed; with in-sample residuals, which are too small, about 30 would be")
}

func fittedRows(t *testing.T, k *task) float64 {
	t.Helper()
	return reopen(t, blobOf(t, k.model)).Models.Rows()
}

// Learning a history at once gives about the same grants as learning it run by run, because Fit
// refits the models repeatedly. The peaks follow a sine wave, which no line fits.
func TestBulkTrainingMatchesSingleReports(t *testing.T) {
	wave := func(rng *rand.Rand) (sizing.Features, float64) {
		x := rng.Float64()
		return sizing.Features{"x": sizing.NumberValue(x)}, 4 * math.Exp(1.5*math.Sin(20*x)) * noise(rng, 0.05)
	}
	stream, rng := trainedTask(t, wave, 39, 400)
	bulk := newTask(t)
	bulk.history = stream.history
	bulk.fit()
	var grantedOneByOne, grantedInBulk float64
	for range 100 {
		f, _ := wave(rng)
		grantedOneByOne, grantedInBulk = grantedOneByOne+limit(stream, f), grantedInBulk+limit(bulk, f)
	}
	assert.InEpsilon(t, grantedOneByOne, grantedInBulk, 0.1)
}

// The thinned history contains the newest 99 runs and all large runs. Of the older small runs it contains about every
// tenth, with weight 10.
func TestThinnedHistoryMatchesTheWhole(t *testing.T) {
	whole, thin, rng := newTask(t), newTask(t), newRand(33)
	for i := range 600 {
		f, gibs := kinds(rng)
		whole.row(f, measuredRun(gibs))
		if gibs > 4 || i%10 == 0 || i > 500 {
			r := measuredRun(gibs)
			if gibs < 4 && i <= 500 {
				r.Weight = 10
			}
			thin.row(f, r)
		}
	}
	thin.history.Total = 600
	assert.Contains(t, thin.fit().Reason, "600 runs", "the reason counts the rows that the thinned history lacks, too")
	whole.fit()
	assert.InEpsilon(t, 600, fittedRows(t, thin), 0.05, "the sum of the weights must be about the number of all rows")
	for _, kind := range []string{"small", "large"} {
		f := sizing.Features{"kind": sizing.TextValue(kind)}
		assert.InEpsilon(t, limit(whole, f), limit(thin, f), 0.15, kind)
	}
}

// The rows of a history are ordered by time, so a report that arrives late is not the last row. Fit must learn it, too.
func TestLateReportIsLearned(t *testing.T) {
	k, rng := trainedTask(t, growing, 34, 60)
	before := k.model.Experts.LearnedRows
	f, gibs := growing(rng)
	k.row(f, measuredRun(gibs))
	rows := k.history.Rows
	k.history.Rows = slices.Insert(rows[:len(rows)-1:len(rows)-1], 10, rows[len(rows)-1])
	k.fit()
	assert.Equal(t, before+1, k.model.Experts.LearnedRows)
}

func TestNewFeatureIsLearned(t *testing.T) {
	k, rng := trainedTask(t, constant, 35, 60)
	for range 120 { // the new feature "wide" drives the peak
		f, gibs := constant(rng)
		wide := rng.IntN(2) == 0
		f["wide"] = sizing.BoolValue(wide)
		if wide {
			gibs *= 5
		}
		k.reportSuccess(f, gibs)
		k.train()
	}
	k.fit()
	f := sizing.Features{"region": sizing.TextValue("emea"), "wide": sizing.BoolValue(false)}
	assert.Less(t, limit(k, f), 4.0)
	f["wide"] = sizing.BoolValue(true)
	assert.Greater(t, limit(k, f), 9.0)
	assert.Contains(t, k.model.Drivers, "wide")
}

func TestFeaturesWithoutEffectAreNoDrivers(t *testing.T) {
	for seed := range uint64(3) {
		k, _ := trainedTask(t, func(rng *rand.Rand) (sizing.Features, float64) {
			return sizing.Features{
				"input_gb": sizing.NumberValue(6 * math.Exp(0.8*rng.NormFloat64())),
				"sample":   sizing.TextValue(fmt.Sprintf("S%04d", rng.IntN(9999))),
			}, 0.55 * math.Exp(0.05*rng.NormFloat64())
		}, seed, 60)
		require.NotNil(t, k.model.Models.Resid)
		assert.Empty(t, k.model.Drivers, "seed %d", seed)
	}
}

// A feature is new in the history: the champion's schema and its stored rows (Model.EarlyRows) lack the feature.
func TestFitAddsAFeatureToEarlyRows(t *testing.T) {
	k := newTask(t)
	k.reportSuccess(sizing.Features{"a": sizing.NumberValue(1)}, 1)
	k.fit()
	for i := range 4 {
		k.row(sizing.Features{"a": sizing.NumberValue(2), "b": sizing.NumberValue(float64(i))}, measuredRun(2))
		k.fit()
	}
	assert.Equal(t, 5, k.model.Experts.LearnedRows)
}

// The first try was killed and has only the feature "z", so "z" comes before "a" in the schema. The models must not confuse
// the columns of the two features.
func TestColumnsAreIdentifiedByName(t *testing.T) {
	k, rng := newTask(t), newRand(36)
	k.report(sizing.Features{"z": sizing.NumberValue(3)}, killed(1))
	for range 120 {
		size := 1 + 9*rng.Float64()
		k.reportSuccess(sizing.Features{"a": sizing.NumberValue(size), "z": sizing.NumberValue(100 * rng.Float64())}, size)
		k.train()
		f := sizing.Features{"a": sizing.NumberValue(2), "z": sizing.NumberValue(50)}
		if len(k.history.Rows) > 60 {
			require.Less(t, limit(k, f), 6.0, "after %d rows", len(k.history.Rows))
		}
	}
}

func TestEvaluationIsRunAndStored(t *testing.T) {
	k, _ := trainedTask(t, growing, 37, 120)
	evaluation := k.model.LastEvaluation
	require.NotEmpty(t, evaluation.Candidates)
	assert.True(t, evaluation.Passed, evaluation.Reason)
	waste := map[string]float64{}
	for _, c := range evaluation.Candidates {
		waste[c.Name] = c.Waste
		assert.GreaterOrEqual(t, c.Waste, 0.0)
		assert.True(t, c.Killed >= 0 && c.Killed <= 1)
	}
	require.Contains(t, waste, "challenger")
	require.Contains(t, waste, "constant")
	assert.Less(t, waste["challenger"], waste["constant"], "the model must beat the constant, because the peak depends on the feature")
	var back taskmodel.Evaluation
	require.NoError(t, json.Unmarshal(evaluation.JSON(), &back))
	assert.Equal(t, evaluation, back)
}

// golearn may panic on unusual rows; see cart.ErrLibrary.
func TestAClassifierThatCannotBeFittedDoesNotPreventATraining(t *testing.T) {
	k, _ := trainedTask(t, growing, 37, 120)
	usual := k.model.LastEvaluation
	taskmodel.PrependFailingFamily(t, cart.ErrLibrary)
	k, _ = trainedTask(t, growing, 37, 120)
	evaluation := k.model.LastEvaluation
	assert.Equal(t, usual.Candidates, evaluation.Candidates, "the other candidates must be compared as usual")
	assert.True(t, evaluation.Passed)
	assert.Equal(t, usual.Reason+"; not compared with failing: "+cart.ErrLibrary.Error(), evaluation.Reason)
}

func TestAmbiguousFeaturesGiveAWarning(t *testing.T) {
	k, rng := newTask(t), newRand(38)
	for range 60 {
		k.reportSuccess(small, noise(rng, 1))
	}
	k.fit()
	assert.Contains(t, k.model.AmbiguityWarning(), "add a feature")
	clear, _ := trainedTask(t, kinds, 38, 60)
	assert.Empty(t, clear.model.AmbiguityWarning())
}
