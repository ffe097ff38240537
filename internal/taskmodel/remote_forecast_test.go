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

// rareLoads draws a daily increment of about a million rows, or a full load of 50 million. The peak and the run time follow the
// true number of rows, and the feature is an estimate of this number.
type rareLoads struct {
	*task
	rng    *rand.Rand
	growth float64 // share by which the tables grow from run to run
	loads  int
	full   []float64 // peaks of the full loads
}

func (l *rareLoads) draw(isFull bool) (rows, gibs float64) {
	size := 1e6
	if isFull {
		size = 5e7
	}
	size *= 1 + l.growth*float64(l.loads)
	return math.Round(size * noise(l.rng, .1)), (.3 + size*.4e-6*noise(l.rng, .1)) / 1.1
}

func (l *rareLoads) learn(isFull, withMode bool) {
	rows, gibs := l.draw(isFull)
	r := measuredRun(gibs)
	r.Duration = 100 * time.Second
	if isFull {
		r.Duration = time.Duration(7200 * noise(l.rng, .1) * float64(time.Second))
		l.full = append(l.full, gibs)
	}
	l.report(featuresOfLoad(rows, isFull, withMode), r)
	l.train()
	l.loads++
}

func featuresOfLoad(rows float64, isFull, withMode bool) sizing.Features {
	f := withRows(rows)
	if withMode {
		f["mode"] = sizing.TextValue(map[bool]string{true: "full", false: "incremental"}[isFull])
	}
	return f
}

// Full loads are much rarer than increments, whose rows vary little. The next full load is sized by the known full loads, and
// so is a load of any size between the increments and the full loads.
func TestRareFullLoadsAreSizedByTheKnownOnes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		for _, every := range []int{40, 90} {
			for _, withMode := range []bool{true, false} {
				name := fmt.Sprintf("seed %d, every %d, mode %v", seed, every, withMode)
				l := &rareLoads{task: newTask(t), rng: newRand(1200 + seed), growth: float64(seed%2) / 600}
				for i := range 4*every + 1 {
					isFull := i%every == every-1
					if isFull {
						rows, gibs := l.draw(true)
						s := l.model.Size(question(featuresOfLoad(rows, true, withMode)))
						granted := float64(s.Limit) / float64(gib)
						require.Greater(t, granted, .9*gibs, "%s, run %d: %s", name, i, s.Reason)
						if known := len(l.full); known == 0 {
							require.Equal(t, 32*gib, s.Limit, "%s: no run has exceeded the static request: %s", name, s.Reason)
						} else {
							require.Less(t, granted, 3*largestOf(l.full), "%s, run %d: %s", name, i, s.Reason)
							require.InDelta(t, math.Log(7200), math.Log(s.Duration.Median.Seconds()), math.Ln2, "%s, run %d: %s", name, i, s.Reason)
							require.Equal(t, known >= 3, s.Promised != nil, "%s, run %d: %s", name, i, s.Reason)
						}
					}
					l.learn(isFull, withMode)
					require.Empty(t, l.model.Quarantine, name)
				}
				for _, rows := range []float64{3e6, 1e7, 3e7} {
					s := l.model.Size(question(featuresOfLoad(rows, true, withMode)))
					require.Less(t, float64(s.Limit), 2.1*largestOf(l.full)*float64(gib), "%s, %v rows: %s", name, rows, s.Reason)
					require.Less(t, s.Duration.Median.Hours(), 5., "%s, %v rows: %s", name, rows, s.Reason)
				}
			}
		}
	}
}

func largestOf(values []float64) (largest float64) {
	for _, v := range values {
		largest = max(largest, v)
	}
	return largest
}

// Increments whose rows vary by a tenth neither show that the rows have no influence, nor how the peak grows with fifty times
// as many rows.
func TestNarrowRangeShowsNoEffectFarAboveIt(t *testing.T) {
	for name, exponent := range map[string]float64{"the peak follows the rows": 1, "the peak does not follow the rows": 0} {
		for seed := range uint64(8) {
			k, rng := newTask(t), newRand(1300+seed)
			for range 89 {
				x := noise(rng, .1)
				f := withRows(math.Round(1e6 * x))
				k.reportSuccess(f, .7*math.Pow(x, exponent)*noise(rng, .05))
			}
			k.fit()
			s := k.model.Size(question(withRows(5e7)))
			require.GreaterOrEqual(t, s.Limit, 32*gib, "%s, seed %d: %s", name, seed, s.Reason)
			require.Nil(t, s.Promised, "%s, seed %d: %s", name, seed, s.Reason)
			require.Less(t, k.model.Size(question(withRows(1.2e6))).Limit, 2*gib, "%s, seed %d", name, seed)
		}
	}
}

// A peak that grows like an input, or of a run with a new value of a category, is plausible. A unit mistake in the peak is not.
func TestPeakThatTheInputsExplainIsNotQuarantined(t *testing.T) {
	for _, c := range []struct {
		name        string
		rows, gibs  float64
		mode        string
		quarantined bool
	}{
		{"as large as the input", 5e7, 20, "incremental", false},
		{"usual input", 1e6, 20, "incremental", true},
		{"larger than the input", 5e6, 25, "incremental", true},
		{"new category", 1e6, 20, "full", false},
		{"new category, another unit", 1e6, 500, "full", true},
		{"large input, another unit", 5e7, 20_000, "full", true},
	} {
		k, rng := newTask(t), newRand(1400)
		for range 60 {
			f := withRows(math.Round(1e6 * noise(rng, .1)))
			f["mode"] = sizing.TextValue("incremental")
			k.reportSuccess(f, .7*noise(rng, .1))
		}
		k.fit()
		f := withRows(c.rows)
		f["mode"] = sizing.TextValue(c.mode)
		r := measuredRun(c.gibs)
		r.Allocated.Memory, r.Requested.Memory = 100*1024*gib, 64*gib
		row := taskmodel.NewTrainingRow(&k.history.Schema, k.row(f, r))
		row.Features = f
		require.Equal(t, c.quarantined, k.model.QuarantineReason(row) != "", c.name)
	}
}
