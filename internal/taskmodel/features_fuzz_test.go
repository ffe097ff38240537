package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// randomFeature returns a function that draws values of one feature. The kind of the feature, its number of different
// values, and the probabilities that a value is missing or of another kind are random.
func randomFeature(rng *rand.Rand) func() sizing.Value {
	kind, missing, odd := rng.IntN(6), rng.Float64()*rng.Float64(), 0.0
	if rng.IntN(3) == 0 {
		odd = rng.Float64()
	}
	values := 1 + rng.IntN(1+rng.IntN(200))
	scale := math.Exp(20*rng.Float64() - 10)
	draw := func(kind int) sizing.Value {
		switch kind {
		case 0:
			return sizing.NumberValue(scale * rng.NormFloat64())
		case 1:
			return sizing.NumberValue(float64(rng.IntN(values)))
		case 2:
			return sizing.BoolValue(rng.IntN(2) == 0)
		case 3:
			return sizing.TextValue(fmt.Sprint("value ", rng.IntN(values)))
		case 4:
			return sizing.TextValue(time.Unix(int64(rng.IntN(1e9)), 0).UTC().Format([]string{time.DateOnly, time.RFC3339}[rng.IntN(2)]))
		}
		return []sizing.Value{
			sizing.NumberValue(math.MaxFloat64), sizing.NumberValue(-math.MaxFloat64), sizing.NumberValue(math.SmallestNonzeroFloat64),
			sizing.TextValue(""), sizing.TextValue("hash 0123456789abcdef"), sizing.TextValue("0001-01-01"), sizing.TextValue("9999-12-31"),
		}[rng.IntN(7)]
	}
	return func() sizing.Value {
		if rng.Float64() < missing {
			return sizing.Value{}
		}
		if rng.Float64() < odd {
			return draw(rng.IntN(6))
		}
		return draw(kind)
	}
}

// randomWindow returns a function that draws the two ends of a window, whose difference the models use as a pair of numbers.
// The difference is `factor` times as large as in the rows of the history.
func randomWindow(rng *rand.Rand) func(f sizing.Features, factor float64) {
	width, lengths, begin := math.Exp(20*rng.Float64()-10), 2+rng.IntN(10), 0.0
	return func(f sizing.Features, factor float64) {
		begin += width * (10 + 10*rng.Float64())
		f["from"], f["to"] = sizing.NumberValue(begin), sizing.NumberValue(begin+factor*width*float64(1+rng.IntN(lengths)))
	}
}

// FuzzTrainingWithAnyFeatures trains on histories with random features, decodes the stored model,
// and predicts with features that may be missing, new or of another kind. Half of the histories have windows, and the windows
// of the predicted runs are up to thirty times as long as those of the history.
func FuzzTrainingWithAnyFeatures(f *testing.F) {
	for seed := range uint64(12) {
		f.Add(seed, uint8(seed*9), uint8(20*seed+3))
	}
	f.Add(uint64(58), uint8('Z'), uint8(192)) // a history of one run
	f.Add(uint64(93), uint8(69), uint8(71))   // the amount before the margin for a missing feature is infinite
	f.Fuzz(func(t *testing.T, seed uint64, features, runs uint8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		features, runs = features%24, runs%64 // the test of one fuzz input must end within 10 s
		draws := make([]func() sizing.Value, features)
		for j := range draws {
			draws[j] = randomFeature(rng)
		}
		window := func(sizing.Features, float64) {}
		if rng.IntN(2) == 0 {
			window = randomWindow(rng)
		}
		draw := func(factor float64) sizing.Features {
			f := sizing.Features{}
			for j := range draws {
				if v := draws[j](); v.Kind != sizing.Missing {
					f[fmt.Sprint("feature ", j)] = v
				}
			}
			window(f, factor)
			return f
		}
		k := newTask(t)
		for range int(runs) + 1 {
			peak := math.Exp(2 * rng.NormFloat64())
			k.row(draw(1), measuredRun(max(0.1, min(32, peak)))) // neither far below nor above the allocation, so that the first row is not quarantined
		}
		model, outcome, err := taskmodel.Fit(&k.history, nil)
		require.NoError(t, err)
		require.NotNil(t, model, outcome.Reason)
		blob, err := model.VerifiedBlob(&k.history)
		require.NoError(t, err)
		require.Less(t, len(blob), blobAtMost)
		back := reopen(t, blob)
		for range 5 {
			f := draw(30 * rng.Float64())
			sized := back.Size(question(f))
			require.Equal(t, model.Size(question(f)), sized)
			require.Positive(t, sized.Limit)
			require.LessOrEqual(t, sized.Limit, 64*gib)
			if sized.Promised != nil {
				require.True(t, *sized.Promised >= 0 && *sized.Promised <= 1, "promised risk %v", *sized.Promised)
			}
			back.Warnings(f)
			k.row(f, measuredRun(math.Exp(rng.NormFloat64())))
			row := taskmodel.NewTrainingRow(&k.history.Schema, &k.history.Rows[len(k.history.Rows)-1])
			model.Learn(row)
			back.Learn(row)
			require.Equal(t, blobOf(t, model), blobOf(t, back))
		}
		model, _, err = taskmodel.Fit(&k.history, back) // back is the champion
		require.NoError(t, err)
		if model != nil {
			_, err = model.VerifiedBlob(&k.history)
			require.NoError(t, err)
		}
	})
}
