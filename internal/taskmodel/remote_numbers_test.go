package taskmodel_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// loadPeak and loadSeconds are the expected peak in GiB and run time of a load of x rows.
func loadPeak(x float64) float64    { return .2 + 400*x/float64(gib) }
func loadSeconds(x float64) float64 { return 10 + x/5e4 }

// reportLoads reports n loads. The first one and then each `every`-th one is a full load of about 50 million rows; the others
// are increments of about 20,000 rows.
func (k *task) reportLoads(rng *rand.Rand, n, every int, features func(x float64) sizing.Features) {
	k.t.Helper()
	for i := range n {
		x := math.Round(2e4 * noise(rng, .5))
		if i%every == 0 {
			x = math.Round(5e7 * noise(rng, .05))
		}
		r := measuredRun(loadPeak(x) * noise(rng, .06))
		r.Duration = time.Duration(loadSeconds(x) * float64(time.Second))
		k.report(features(x), r)
		k.train()
	}
}

func withRowsAndMode(x float64) sizing.Features {
	f := withRows(x)
	f["mode"] = sizing.TextValue("increment")
	if x > 1e6 {
		f["mode"] = sizing.TextValue("full")
	}
	return f
}

// One full load precedes a hundred increments. Neither the next full load nor a load between the two sizes may be sized like an
// increment.
func TestOneFullLoadBeforeManyIncrementsIsRemembered(t *testing.T) {
	for name, features := range map[string]func(x float64) sizing.Features{"rows": withRows, "rows and mode": withRowsAndMode} {
		for seed := range uint64(8) {
			k, rng := newTask(t), newRand(900+seed)
			k.reportLoads(rng, 100, 100, features)
			for _, x := range []float64{3e5, 1e6, 1e7, 4.7e7, 5e7, 5.3e7} {
				if name != "rows" && x < 4e7 {
					continue // no run shows whether such a load is full
				}
				s := k.model.Size(question(features(x)))
				granted := float64(s.Limit) / float64(gib)
				require.Greater(t, granted, .9*loadPeak(x), "%s, seed %d, %v rows: %s", name, seed, x, s.Reason)
				require.Less(t, granted, 2.5*loadPeak(x), "%s, seed %d, %v rows: %s", name, seed, x, s.Reason)
				require.Nil(t, s.Promised, s.Reason)
				require.Contains(t, s.Reason, "and, in few runs, up to ")
				if name == "rows" {
					require.InEpsilon(t, loadSeconds(x), s.Duration.Median.Seconds(), .3, "%s, seed %d, %v rows", name, seed, x)
				}
			}
			within := k.model.Size(question(features(2e4)))
			require.NotNil(t, within.Promised)
			require.Less(t, within.Limit, bytes(.4), within.Reason)
		}
	}
}

// A load reads the days between two dates. One full load of nine years is among increments of one to seven days. No later full
// load may be sized like an increment, in whichever order the schema sorts the names of the two dates.
func TestOneFullLoadOfARangeOfDatesIsRemembered(t *testing.T) {
	first := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, names := range [][2]string{{"from", "to"}, {"start", "end"}} {
		for seed := range uint64(4) {
			k, rng := newTask(t), newRand(950+seed)
			load := func(start, end time.Time) (f sizing.Features, gibs float64) {
				f = sizing.Features{names[0]: sizing.TextValue(start.Format(time.DateOnly)), names[1]: sizing.TextValue(end.Format(time.DateOnly))}
				return f, .3 + .005*end.Sub(start).Hours()/24
			}
			for i := range 101 {
				end := first.AddDate(9, 0, i)
				if i > 40 {
					f, gibs := load(first, end)
					s := k.model.Size(question(f))
					granted := float64(s.Limit) / float64(gib)
					require.Greater(t, granted, .9*gibs, "names %v, seed %d, run %d: %s", names, seed, i, s.Reason)
					require.Less(t, granted, 2.5*gibs, "names %v, seed %d, run %d: %s", names, seed, i, s.Reason)
					require.Nil(t, s.Promised, s.Reason)
				}
				start := end.AddDate(0, 0, -[]int{1, 1, 1, 1, 2, 3, 7}[rng.IntN(7)])
				if i == 40 {
					start = first
				}
				f, gibs := load(start, end)
				k.run(f, gibs*noise(rng, .06))
				k.train()
			}
		}
	}
}

// Ten full loads are known, which is more than minNearRemote. So the answer for another full load states a risk.
func TestManyFullLoadsHaveARisk(t *testing.T) {
	k, rng := newTask(t), newRand(930)
	k.reportLoads(rng, 480, 50, withRows)
	k.fit()
	s := k.model.Size(question(withRows(5e7)))
	assert.NotNil(t, s.Promised, s.Reason)
	assert.Greater(t, s.Limit, bytes(loadPeak(5e7)), s.Reason)
	assert.Less(t, s.Limit, bytes(2*loadPeak(5e7)), s.Reason)
	assert.Nil(t, k.model.Size(question(withRows(1e6))).Promised, "no run had such a number")
}

func TestRemoteNumbersAreStored(t *testing.T) {
	k, rng := newTask(t), newRand(940)
	k.reportLoads(rng, 100, 100, withRows)
	q := question(withRows(5e7))
	assert.Equal(t, k.model.Size(q), reopen(t, blobOf(t, k.model)).Size(q))
}
