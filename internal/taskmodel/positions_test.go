package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// positions returns the features of a run that reads `n` rows of a log, beginning at the position `first`.
func positions(first, n float64) sizing.Features {
	return sizing.Features{"first": sizing.NumberValue(first), "next": sizing.NumberValue(first + n)}
}

// Only the difference of the two positions shows how much a run reads. Consecutive positions grow with every run, so that
// each run is outside the range of the earlier ones.
func TestDifferenceOfPositionsIsLearned(t *testing.T) {
	for name, start := range map[string]func(rng *rand.Rand, last float64) float64{
		"consecutive": func(_ *rand.Rand, last float64) float64 { return last },
		"any":         func(rng *rand.Rand, _ float64) float64 { return 1e9 + math.Round(1e9*rng.Float64()) },
	} {
		k, rng := newTask(t), rand.New(rand.NewPCG(3, 9))
		from := 1e9
		for range 300 {
			n := math.Round(math.Exp(6 + 7*rng.Float64()))
			k.reportSuccess(positions(from, n), (0.4+n/40_000)*noise(rng, 0.04))
			from = start(rng, from+n)
		}
		k.train()
		for _, n := range []float64{1000, 20_000, 100_000, 300_000} {
			needed, granted := 0.4+n/40_000, k.model.Size(question(positions(from, n)))
			assert.Greater(t, granted.Limit, bytes(needed), "%s positions, %v rows: %s", name, n, granted.Reason)
			assert.Less(t, granted.Limit, bytes(2*needed), "%s positions, %v rows: %s", name, n, granted.Reason)
		}
	}
}

// Times in microseconds have 16 digits. They are numbers, and their difference is learned.
func TestDifferenceOfMicrosecondsIsLearned(t *testing.T) {
	at := func(us int64) sizing.Value {
		v, ok := sizing.ParseNumber(strconv.FormatInt(us, 10))
		require.True(t, ok)
		return v
	}
	times := func(from, seconds int64) sizing.Features {
		return sizing.Features{"start_us": at(from), "end_us": at(from + 1e6*seconds)}
	}
	k, rng := newTask(t), newRand(4)
	from := int64(1_718_000_000_000_000)
	for range 150 {
		seconds := int64(math.Exp(5 + 5*rng.Float64()))
		k.reportSuccess(times(from, seconds), (0.4+float64(seconds)/2000)*noise(rng, 0.04))
		from += 3_600_000_000
		k.train()
	}
	k.fit()
	for _, seconds := range []int64{200, 2000, 20_000} {
		needed, granted := 0.4+float64(seconds)/2000, k.model.Size(question(times(from, seconds)))
		assert.Greater(t, granted.Limit, bytes(needed), "%d seconds: %s", seconds, granted.Reason)
		assert.Less(t, granted.Limit, bytes(2*needed), "%d seconds: %s", seconds, granted.Reason)
	}
}
