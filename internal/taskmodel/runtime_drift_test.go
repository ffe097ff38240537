package taskmodel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A new release of the task's program triples the run times. The first task has no feature, the second one a feature without
// any effect on the run time.
func TestRunTimesFollowAStepWithinAFewRuns(t *testing.T) {
	for _, hasFeature := range []bool{false, true} {
		m, rng := New(), rand.New(rand.NewPCG(16, 0))
		run := func(i int, seconds float64) {
			row := timed(int64(i+1), 1, seconds*math.Exp(.05*rng.NormFloat64()))
			if row.Features = nil; hasFeature {
				row.Features = sizing.Features{"n": sizing.NumberValue(100 * rng.Float64())}
			}
			m.Learn(row)
		}
		ask := func() *sizing.Duration {
			return m.Size(Question{Features: sizing.Features{"n": sizing.NumberValue(50)}, RiskTarget: sizing.DefaultRiskTarget, Timeout: 1200 * time.Second}).Duration
		}
		for i := range 100 {
			run(i, 600)
		}
		assert.InEpsilon(t, 600, ask().Median.Seconds(), .05)
		assert.Less(t, *ask().Timeout, .01)
		run(100, 1800)
		assert.InEpsilon(t, 600, ask().Median.Seconds(), .25, "median after one long run, which may be an outlier")
		for i := range 5 {
			run(101+i, 1800)
		}
		assert.InEpsilon(t, 1800, ask().Median.Seconds(), .25, "after 6 runs, has feature: %t", hasFeature)
		assert.Greater(t, *ask().Timeout, .8)
		for i := range 24 {
			run(106+i, 1800)
		}
		assert.InEpsilon(t, 1800, ask().Median.Seconds(), .1, "after 30 runs, has feature: %t", hasFeature)
		assert.Greater(t, *ask().Timeout, .9)
	}
}

// The instances of a DAG run have a common factor. The first instances to end must not make the others seem predictable.
func TestMappedInstancesDoNotCorrectTheQuantilesOfEachOther(t *testing.T) {
	m, rng := New(), rand.New(rand.NewPCG(17, 0))
	above, runs := 0, 0
	for i := range 300 {
		factor := math.Exp(.4 * rng.NormFloat64())
		d := durationOf(m, 100, 0)
		for k := range 5 {
			row := timed(int64(5*i+k+1), 100, 200*factor*math.Exp(.02*rng.NormFloat64()))
			row.DAGRun, row.At = uint64(i+1), int64(3600*i)+int64(row.Duration.Seconds())
			if i >= 20 {
				runs++
				above += boolToInt(row.Duration > d.P95)
			}
			m.Learn(row)
		}
	}
	assert.InDelta(t, .05, float64(above)/float64(runs), .04)
}

// Runs that start together end in the order of their run times, so the first reports are those of short runs. This says nothing
// about the runs that start later, whether they are mapped instances of one DAG run, of two concurrent ones, or of none.
func TestTheOrderOfTheReportsDoesNotCorrectRunTimes(t *testing.T) {
	for name, dagRun := range map[string]func(batch, k int) uint64{
		"one DAG run":  func(batch, _ int) uint64 { return uint64(batch + 1) },
		"two DAG runs": func(batch, k int) uint64 { return uint64(2*batch + k%2 + 1) },
		"no DAG run":   func(int, int) uint64 { return 0 },
	} {
		m, rng, h := New(), rand.New(rand.NewPCG(18, 0)), &sizing.History{}
		for batch := range 40 {
			seconds := make([]float64, 20)
			for k := range seconds {
				seconds[k] = 200 * math.Exp(.5*rng.NormFloat64())
			}
			slices.Sort(seconds)
			for k, s := range seconds {
				row := timed(int64(20*batch+k+1), 100, s)
				row.DAGRun, row.At = dagRun(batch, k), int64(3600*batch)+int64(s)
				m.Learn(row)
				addSuccess(h, &row)
			}
			assert.InDelta(t, 0, m.DurationLevels.Drift.correction(), .05, "%s, batch %d", name, batch)
		}
		assert.InDelta(t, 1, m.RunTimeDrift(h), .3, name)
	}
}
