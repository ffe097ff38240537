package fitting_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

func TestNothingToFitSaysWhatIsMissing(t *testing.T) {
	m, outcome, err := fitting.Fit(&sizing.History{}, nil)
	require.NoError(t, err)
	assert.Nil(t, m)
	assert.False(t, outcome.Trained)
	assert.NotEmpty(t, outcome.Reason)
}

// A champion that is fitted on what is new has learned the same residuals as one
// that was told row by row: training changes the models, never the ledger.
func TestAFitContinuesTheLedgerOfItsChampion(t *testing.T) {
	k, rng := known(t, growing, 31, 120)
	blob := blobOf(t, k.model)
	told := opened(t, blob)
	for i := range 15 {
		f, gibs := growing(rng)
		r := k.row(f, withoutImputed(gibs))
		if i%7 == 0 {
			r.Outcome, r.Allocated.Memory, r.MemoryMax = sizing.OOMKilled, bytes(gibs/2), 0
		}
		told.Learn(fitting.NewTrainingRow(&k.history.Schema, r))
	}
	fitted, outcome, err := fitting.Fit(&k.history, opened(t, blob))
	require.NoError(t, err)
	require.True(t, outcome.Trained)
	assert.Equal(t, told.Experts.Told, fitted.Experts.Told)
	assert.Equal(t, told.Experts.Ledger, fitted.Experts.Ledger)
	assert.Equal(t, told.Experts.Cost, fitted.Experts.Cost)
	assert.Equal(t, told.Experts.Kills, fitted.Experts.Kills)
	assert.Equal(t, told.OutOfSample, fitted.OutOfSample)
	assert.Equal(t, told.Share, fitted.Share)
	assert.Equal(t, k.history.LastSeq, fitted.LastSeq)

	again, _, err := fitting.Fit(&k.history, opened(t, blobOf(t, fitted)))
	require.NoError(t, err)
	assert.Equal(t, fitted.Experts.Told, again.Experts.Told, "no row is learned twice")
	assert.Equal(t, fitted.Experts.Cost, again.Experts.Cost)
}

// A bulk of history is learned in order too: what is said of a row is said before
// it is told, so that its errors are as large as they will be.
func TestResidualsOfABulkAreHonest(t *testing.T) {
	k, rng := newTask(t), newRand(32)
	for range 250 { // the feature tells nothing of a peak that varies by 30 %
		k.row(sizing.Features{"id": sizing.NumberValue(rng.Float64())}, withoutImputed(noise(rng, 0.3)))
	}
	m, _, err := fitting.Fit(&k.history, nil)
	require.NoError(t, err)
	kills := 0
	for range 300 {
		s := m.Size(question(sizing.Features{"id": sizing.NumberValue(rng.Float64())}))
		if s.Limit < bytes(noise(rng, 0.3)) {
			kills++
		}
	}
	assert.LessOrEqual(t, kills, 15, "in-sample residuals would be too small, and one in ten killed")
}

// fittedRows is the weight of the rows that the line was fitted on.
func fittedRows(t *testing.T, k *task) float64 {
	t.Helper()
	return opened(t, blobOf(t, k.model)).Models.Rows()
}

// A bulk ends up where a stream of the same rows does: its residuals are those of
// models that were fitted along the way. No line follows a wave.
func TestABulkIsLearnedAsWellAsAStream(t *testing.T) {
	wave := func(rng *rand.Rand) (sizing.Features, float64) {
		x := rng.Float64()
		return sizing.Features{"x": sizing.NumberValue(x)}, 4 * math.Exp(1.5*math.Sin(20*x)) * noise(rng, 0.05)
	}
	stream, rng := known(t, wave, 39, 400)
	bulk := newTask(t)
	bulk.history = stream.history
	bulk.fit()
	var a, b float64
	for range 100 {
		f, _ := wave(rng)
		a, b = a+limit(stream, f), b+limit(bulk, f)
	}
	assert.InEpsilon(t, a, b, 0.1)
}

// Every tenth of the small runs was kept, and stands for ten.
func TestAThinnedHistoryIsTaken(t *testing.T) {
	whole, thin, rng := newTask(t), newTask(t), newRand(33)
	for i := range 600 {
		f, gibs := kinds(rng)
		whole.row(f, withoutImputed(gibs))
		if gibs > 4 || i%10 == 0 || i > 500 {
			r := withoutImputed(gibs)
			if gibs < 4 && i <= 500 {
				r.Weight = 10
			}
			thin.row(f, r)
		}
	}
	thin.history.Total = 600
	assert.Contains(t, thin.fit().Reason, "600 runs")
	whole.fit()
	assert.InEpsilon(t, 600, fittedRows(t, thin), 0.05, "a row weighs as many as it stands for")
	for _, kind := range []string{"small", "large"} {
		f := sizing.Features{"kind": sizing.TextValue(kind)}
		assert.InEpsilon(t, limit(whole, f), limit(thin, f), 0.15, kind)
	}
}

// Rows are ordered by time; one that was reported late is learned all the same.
func TestALateReportIsLearned(t *testing.T) {
	k, rng := known(t, growing, 34, 60)
	before := k.model.Experts.Told
	f, gibs := growing(rng)
	k.row(f, withoutImputed(gibs))
	rows := k.history.Rows
	k.history.Rows = slices.Insert(rows[:len(rows)-1:len(rows)-1], 10, rows[len(rows)-1])
	k.fit()
	assert.Equal(t, before+1, k.model.Experts.Told)
}

func TestASchemaThatGrowsIsFollowed(t *testing.T) {
	k, rng := known(t, constant, 35, 60)
	for range 120 { // a new feature, which drives all
		f, gibs := constant(rng)
		wide := rng.IntN(2) == 0
		f["wide"] = sizing.BoolValue(wide)
		if wide {
			gibs *= 5
		}
		k.success(f, gibs)
		k.train()
	}
	k.fit()
	f := sizing.Features{"region": sizing.TextValue("emea"), "wide": sizing.BoolValue(false)}
	assert.Less(t, limit(k, f), 4.0)
	f["wide"] = sizing.BoolValue(true)
	assert.Greater(t, limit(k, f), 9.0)
	assert.Contains(t, k.model.Drivers, "wide")
}

// A replica that trains knows a young task's new feature from the history alone: the
// rows that its champion keeps are narrower.
func TestAYoungTaskMayGainAFeatureBetweenTrainings(t *testing.T) {
	k := newTask(t)
	k.success(sizing.Features{"a": sizing.NumberValue(1)}, 1)
	k.fit()
	for i := range 4 {
		k.row(sizing.Features{"a": sizing.NumberValue(2), "b": sizing.NumberValue(float64(i))}, withoutImputed(2))
		k.fit()
	}
	assert.Equal(t, 5, k.model.Experts.Told)
}

// The model and the store may meet features in different orders: the first row that
// the store saw was killed, which gives a young model no column.
func TestColumnsAreToldApartByName(t *testing.T) {
	k, rng := newTask(t), newRand(36)
	k.told(sizing.Features{"z": sizing.NumberValue(3)}, killed(1))
	for range 120 {
		size := 1 + 9*rng.Float64()
		k.success(sizing.Features{"a": sizing.NumberValue(size), "z": sizing.NumberValue(100 * rng.Float64())}, size)
		k.train()
		f := sizing.Features{"a": sizing.NumberValue(2), "z": sizing.NumberValue(50)}
		if len(k.history.Rows) > 60 {
			require.Less(t, limit(k, f), 6.0, "after %d rows", len(k.history.Rows))
		}
	}
}

func TestTheExamIsHeldAndStored(t *testing.T) {
	k, _ := known(t, growing, 37, 120)
	exam := k.model.LastEvaluation
	require.NotEmpty(t, exam.Candidates)
	assert.True(t, exam.Passed, exam.Reason)
	waste := map[string]float64{}
	for _, c := range exam.Candidates {
		waste[c.Name] = c.Waste
		assert.GreaterOrEqual(t, c.Waste, 0.0)
		assert.True(t, c.Killed >= 0 && c.Killed <= 1)
	}
	require.Contains(t, waste, "challenger")
	require.Contains(t, waste, "constant")
	assert.Less(t, waste["challenger"], waste["constant"], "features tell something here")
	var back fitting.Evaluation
	require.NoError(t, json.Unmarshal(exam.JSON(), &back))
	assert.Equal(t, exam, back)
}

func TestRunsThatFeaturesCannotTellApartAreNamed(t *testing.T) {
	k, rng := newTask(t), newRand(38)
	for range 60 {
		k.success(small, noise(rng, 1))
	}
	k.fit()
	assert.Contains(t, k.model.Ambiguous(), "add a feature")
	clear, _ := known(t, kinds, 38, 60)
	assert.Empty(t, clear.model.Ambiguous())
}
