package taskmodel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// trainedBySize returns a task with 150 runs, and its largest size. The peaks are 0.3 GiB plus the size, and the run times are
// proportional to the size.
func trainedBySize(t *testing.T, seed uint64, features func(size float64) sizing.Features) (k *task, largest float64) {
	k, rng := newTask(t), rand.New(rand.NewPCG(seed, 2))
	for range 150 {
		size := math.Exp(.6 * rng.NormFloat64())
		largest = max(largest, size)
		r := measuredRun((.3 + size) * noise(rng, .04))
		r.Duration = time.Duration(float64(10*time.Minute) * size)
		k.report(features(size), r)
	}
	k.train()
	return k, largest
}

func requireFollowsSize(t *testing.T, k *task, f sizing.Features, size float64) taskmodel.Answer {
	t.Helper()
	s := sizeUncapped(k, f)
	require.Greater(t, s.Limit, bytes(.3+size), s.Reason)
	require.Less(t, s.Limit, bytes(2*(.3+size)), s.Reason)
	require.InEpsilon(t, 600*size, s.Duration.Median.Seconds(), .15)
	return s
}

func TestNumbersInTextsAreExtrapolated(t *testing.T) {
	for form, name := range map[string]string{
		"s3://in/rows=%.0f/part.parquet":      "number 2 in input",
		`{"table":"orders","rows":%.0f}`:      "input",
		"%.0f rows":                           "input",
		"s3://in/2025/rows=%.0f/part.parquet": "number 3 in input",
	} {
		for seed := range uint64(3) {
			features := func(size float64) sizing.Features {
				return sizing.Features{"input": sizing.TextValue(fmt.Sprintf(form, 1e6*size))}
			}
			k, largest := trainedBySize(t, seed, features)
			for _, factor := range []float64{1.5, 3, 8} {
				s := requireFollowsSize(t, k, features(factor*largest), factor*largest)
				require.Contains(t, s.Reason, "outside the known range: "+name+" ")
				require.Equal(t, factor > 2, s.Promised == nil, "%v: %s", factor, s.Reason)
			}
			inside := k.model.Size(question(features(.9 * largest)))
			require.NotNil(t, inside.Promised)
			require.NotContains(t, inside.Reason, "outside")

			blob := blobOf(t, k.model)
			require.Equal(t, taskmodel.TrendVersion, k.model.Format(), "earlier releases would confuse the inputs")
			q := question(features(3 * largest))
			assert.Equal(t, k.model.Size(q), reopen(t, blob).Size(q))
		}
	}
}

func TestNegativeNumbersHaveTheEffectOfTheirMagnitudes(t *testing.T) {
	features := func(size float64) sizing.Features { return withRows(math.Round(-1e6 * size)) }
	for seed := range uint64(3) {
		k, largest := trainedBySize(t, seed, features)
		for _, factor := range []float64{.3, .7, .97, 3, 20} {
			s := requireFollowsSize(t, k, features(factor*largest), factor*largest)
			if factor > 1 {
				require.Contains(t, s.Reason, "outside the known range: rows -")
				require.Nil(t, s.Promised)
			}
		}
		require.Equal(t, taskmodel.TrendVersion, k.model.Format(), "earlier releases would use the numbers themselves")
	}
}
