package taskmodel

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// timed returns a success with the feature n and the given run time.
func timed(seq int64, n, seconds float64) TrainingRow {
	return TrainingRow{
		Seq: seq, At: 100_000 * seq, Features: sizing.Features{"n": sizing.NumberValue(n)}, Outcome: sizing.Success, Censoring: sizing.Exact,
		Peak: sizing.Bytes(1e9 + 1e6*n), Duration: time.Duration(seconds * float64(time.Second)), FirstTry: true, Try: 1,
	}
}

// learnRuns makes a model learn runs of factor · 2n seconds with lognormal errors. `deviation` is the
// standard deviation of the log errors, and `from` is the number of rows that the model learned before.
func learnRuns(m *Model, rng *rand.Rand, from, runs int, deviation, factor float64) {
	for i := range runs {
		n := 50 + 100*rng.Float64()
		m.Learn(timed(int64(from+i+1), n, factor*2*n*math.Exp(deviation*rng.NormFloat64())))
	}
}

func durationOf(m *Model, n float64, timeout time.Duration) *sizing.Duration {
	return m.Size(Question{Features: sizing.Features{"n": sizing.NumberValue(n)}, RiskTarget: sizing.DefaultRiskTarget, Timeout: timeout}).Duration
}

func TestDurationFollowsFeatures(t *testing.T) {
	m := New()
	learnRuns(m, rand.New(rand.NewPCG(1, 0)), 0, 300, .2, 1)
	d := durationOf(m, 100, 200*time.Second)
	assert.InEpsilon(t, 200, d.Median.Seconds(), .1)
	assert.InEpsilon(t, 200*math.Exp(1.645*.2), d.P95.Seconds(), .15)
	assert.InEpsilon(t, 200*math.Exp(2.326*.2), d.P99.Seconds(), .25)
	assert.InDelta(t, .5, *d.Timeout, .15, "the probability must be about one half, because the timeout is about the median")
	assert.Less(t, d.Outlier, .02)
	longer := durationOf(m, 140, 0)
	assert.Greater(t, longer.Median, d.Median)
	assert.Nil(t, longer.Timeout)
}

// Gibbs & Candès (2021), Proposition 4.1: the share of misses meets the target for any data.
func TestDurationQuantilesKeepTheirCoverageUnderDrift(t *testing.T) {
	m, rng := New(), rand.New(rand.NewPCG(2, 0))
	misses95, misses99, rows := 0, 0, 0
	for i := range 2500 {
		n := 50 + 100*rng.Float64()
		seconds := 2 * n * math.Exp((.2+float64(i)*.0004)*rng.NormFloat64()+float64(i)*.001)
		if d := durationOf(m, n, 0); i >= 50 {
			rows++
			misses95 += boolToInt(seconds > d.P95.Seconds())
			misses99 += boolToInt(seconds > d.P99.Seconds())
		}
		m.Learn(timed(int64(i+1), n, seconds))
	}
	assert.InDelta(t, .05, float64(misses95)/float64(rows), .01)
	assert.InDelta(t, .01, float64(misses99)/float64(rows), .005)
}

// Half of the tasks have steady run times. A new task with steady run times gets the shape of these
// tasks, so its quantiles are lower than with the default prior.
func TestShapesDecideTheTailOfATaskWithFewRuns(t *testing.T) {
	var ratios [][]float64
	rng := rand.New(rand.NewPCG(3, 0))
	for g := range 40 {
		m := New()
		learnRuns(m, rng, 0, 60, []float64{.02, .6}[g%2], 1)
		blob, err := m.Blob()
		require.NoError(t, err)
		r, err := ReadRatios(blob)
		require.NoError(t, err)
		assert.Equal(t, m.Ratios(), r)
		ratios = append(ratios, r)
	}
	learned, err := LearnShapes(ratios)
	require.NoError(t, err)
	content, err := EncodeShapes(learned, nil)
	require.NoError(t, err)
	t.Logf("%d shapes take %d bytes", len(learned.Shapes), len(content))
	assert.Less(t, len(content), 1<<18)
	set, _, err := ReadShapes(content)
	require.NoError(t, err)
	assert.Equal(t, learned, set)
	_, _, err = ReadShapes(content[:len(content)/2])
	require.ErrorIs(t, err, ErrFormat)

	steady := New()
	for i := range 8 {
		steady.Learn(timed(int64(i+1), 100, 200*(1+.01*float64(i%2))))
	}
	without := durationOf(steady, 100, 0)
	steady.SetShapes(set)
	with := durationOf(steady, 100, 0)
	assert.Less(t, with.P95, without.P95, "the shape of steady tasks must replace the default prior")
	assert.NotEmpty(t, with.Shape)
	p, ok := steady.RunTimeProfile(&GivenShape{})
	require.True(t, ok)
	assert.Equal(t, 7, p.Runs, "the first run must have no ratio, because it has no prediction")
	assert.Greater(t, p.Shapes[0].Probability, .9)
	assert.False(t, p.IsOutlier)
	steady.Learn(timed(9, 100, 2000))
	p, _ = steady.RunTimeProfile(&GivenShape{})
	assert.True(t, p.IsOutlier)
}

func TestStoredModelPredictsTheSameDuration(t *testing.T) {
	m := New()
	learnRuns(m, rand.New(rand.NewPCG(4, 0)), 0, 120, .3, 1)
	blob, err := m.Blob()
	require.NoError(t, err)
	again, err := Open(blob)
	require.NoError(t, err)
	assert.Equal(t, durationOf(m, 80, time.Minute), durationOf(again, 80, time.Minute))
}

func TestStoppedTriesAreCensored(t *testing.T) {
	m := New()
	learnRuns(m, rand.New(rand.NewPCG(5, 0)), 0, 100, .2, 1)
	before := durationOf(m, 100, 0)
	for i := range 5 { // tries that were stopped early say nothing about the run time
		row := timed(int64(200+i), 100, 1)
		row.Outcome, row.Censoring, row.Peak = sizing.Killed, sizing.NoPeak, 0
		m.Learn(row)
	}
	assert.Equal(t, before, durationOf(m, 100, 0))
	row := timed(300, 100, 5000)
	row.Outcome, row.Censoring, row.Peak = sizing.Failed, sizing.NoPeak, 0
	m.Learn(row) // it was stopped after 25 times the median
	after := durationOf(m, 100, 0)
	assert.GreaterOrEqual(t, after.P99, before.P99)
	assert.Len(t, m.Ratios(), 99, "an outlier that was stopped adds no ratio")
	row = timed(301, 100, 250)
	row.Outcome, row.Censoring, row.Peak = sizing.Failed, sizing.NoPeak, 0
	m.Learn(row)
	require.Len(t, m.Ratios(), 100)
	assert.GreaterOrEqual(t, m.Ratios()[99], 1.2, "the run takes longer than the try")
}

// The run times are lognormal with a deviation of 0.6, so 3.4 % of the runs take more than three times the median.
func TestOutlierProbabilityOfShortRuns(t *testing.T) {
	for _, median := range []float64{.2, 1.2, 120} {
		m, rng := New(), rand.New(rand.NewPCG(31, 0))
		for i := range 400 {
			m.Learn(timed(int64(i+1), 100, median*math.Exp(.6*rng.NormFloat64())))
		}
		d := durationOf(m, 100, time.Duration(3*median*float64(time.Second)))
		assert.InDelta(t, .034, d.Outlier, .012, "median %v s", median)
		assert.InDelta(t, d.Outlier, *d.Timeout, .015, "median %v s", median)
		ratios := len(m.Ratios())
		for i, multiple := range []float64{3.3, 2} {
			row := timed(int64(500+i), 100, multiple*d.Median.Seconds())
			row.Outcome, row.Censoring, row.Peak = sizing.Failed, sizing.NoPeak, 0
			m.Learn(row)
			assert.Equal(t, i, len(m.Ratios())-ratios, "median %v s: only an outlier that was stopped adds no ratio", median)
		}
	}
}

// The run times are lognormal with a median of 600 s and a deviation of 0.8, and a timeout of 900 s stops 31 % of the runs.
func TestRunsThatATimeoutStopsCountInTheQuantiles(t *testing.T) {
	for seed := range uint64(4) {
		m, rng := New(), rand.New(rand.NewPCG(30, seed))
		for i := range 240 {
			seconds := 600 * math.Exp(.8*rng.NormFloat64())
			row := timed(int64(i+1), 100, min(seconds, 900))
			if seconds > 900 {
				row.Outcome, row.Censoring, row.Peak = sizing.Failed, sizing.NoPeak, 0
			}
			m.Learn(row)
		}
		d := durationOf(m, 100, 900*time.Second)
		assert.InDelta(t, .31, *d.Timeout, .1, "seed %d", seed)
		assert.InEpsilon(t, 600, d.Median.Seconds(), .2, "seed %d", seed)
		assert.InEpsilon(t, 600*math.Exp(1.645*.8), d.P95.Seconds(), .4, "seed %d", seed)
		r, ok := m.RunTime(sizing.Features{"n": sizing.NumberValue(100)})
		require.True(t, ok)
		assert.Greater(t, RunTimes{r}.Quantile(.99), 1800.0, "seed %d: the suggested timeout", seed)
	}
}

func TestRunsWithoutADurationGiveNoRunTime(t *testing.T) {
	m := New()
	for i := range 10 {
		m.Learn(timed(int64(i+1), 100, 0))
	}
	assert.Nil(t, durationOf(m, 100, 0))
	_, ok := m.RunTime(nil)
	assert.False(t, ok)
}

// Of every four runs, only the last has a duration. The run times are 2n seconds.
func TestRunsWithoutADurationDoNotFlattenTheRunTimes(t *testing.T) {
	learned, rng, h := New(), rand.New(rand.NewPCG(13, 0)), sizing.History{}
	for i := range 160 {
		n := 50 + 350*rng.Float64()
		row := timed(int64(i+1), n, 0)
		if i%4 == 3 {
			row = timed(int64(i+1), n, 2*n*math.Exp(.05*rng.NormFloat64()))
		}
		learned.Learn(row)
		h.Schema.Extend(row.Features)
		h.Rows = append(h.Rows, sizing.HistoryRow{
			Seq: row.Seq, RunID: strconv.Itoa(i), Try: 1, Outcome: row.Outcome, MemoryMax: row.Peak, Duration: row.Duration,
			Features: h.Schema.Row(row.Features, nil),
		})
	}
	h.Total, h.LastSeq = len(h.Rows), int64(len(h.Rows))
	fitted, _, err := Fit(&h, nil)
	require.NoError(t, err)
	for name, m := range map[string]*Model{"learned": learned, "fitted": fitted} {
		short, long := durationOf(m, 60, 0), durationOf(m, 390, 0)
		assert.InEpsilon(t, 120, short.Median.Seconds(), .3, name)
		assert.InEpsilon(t, 780, long.Median.Seconds(), .3, name)
	}
}

func TestRemainingTime(t *testing.T) {
	m := New()
	learnRuns(m, rand.New(rand.NewPCG(6, 0)), 0, 400, .3, 1)
	r, ok := m.RunTime(sizing.Features{"n": sizing.NumberValue(100)})
	require.True(t, ok)
	all := RunTimes{r}
	assert.InEpsilon(t, r.Quantile(.5), all.Quantile(.5), 1e-6)
	assert.InDelta(t, .1, all.Above(all.Quantile(.9)), .02)
	assert.InEpsilon(t, all.Quantile(.5), all.Remaining(0, .5), 1e-6)
	elapsed := all.Quantile(.9)
	left := all.Remaining(elapsed, .5)
	assert.Positive(t, left)
	assert.InDelta(t, .5, all.Above(elapsed+left)/all.Above(elapsed), .1, "half of the runs that are still running must end in that time")
}

// The levels of the quantiles have moved, because the scatter of the run times changed. The answers of the methods must agree.
func TestRunTimesAgreeWithTheCorrectedQuantiles(t *testing.T) {
	for name, later := range map[string]float64{"smaller errors": .05, "larger errors": 1.2} {
		m, rng := New(), rand.New(rand.NewPCG(14, 0))
		learnRuns(m, rng, 0, 300, .3, 1)
		learnRuns(m, rng, 300, 40, later, 1)
		d, f := durationOf(m, 100, 0), sizing.Features{"n": sizing.NumberValue(100)}
		times := m.RunTimes([]sizing.Features{f})
		assert.InEpsilon(t, d.Median.Seconds(), times.Quantile(.5), 1e-4, name)
		assert.InEpsilon(t, d.P95.Seconds(), times.Quantile(.95), 1e-4, name)
		assert.InEpsilon(t, d.P99.Seconds(), times.Quantile(.99), 1e-4, name)
		assert.InEpsilon(t, d.P95.Seconds(), times.Remaining(1e-6, .95), 1e-4, name)
		raw, _ := m.RunTime(f)
		assert.Greater(t, math.Abs(math.Log(raw.Quantile(.95)/d.P95.Seconds())), .01, "%s: the correction must change the 95 %% quantile", name)
		for _, risk := range []float64{.3, .1, .05, .03} {
			timeout := times.Quantile(1 - risk)
			// The distribution has steps at the ratios of the runs, so only the probabilities on both sides of a step enclose
			// the risk.
			for _, above := range []func(seconds float64) float64{
				times.Above,
				func(seconds float64) float64 {
					return *durationOf(m, 100, time.Duration(seconds*float64(time.Second))).Timeout
				},
			} {
				assert.LessOrEqual(t, above(timeout*(1+1e-6)), 1.02*risk, "%s at %v", name, risk)
				assert.GreaterOrEqual(t, above(timeout*(1-1e-6)), .98*risk, "%s at %v", name, risk)
			}
		}
	}
}

// The run times of the newest driftRuns runs have changed by a factor. RunTimeDrift must return this factor, although a fit has
// learned these runs.
func TestDriftOfRunTimes(t *testing.T) {
	for _, hasFeature := range []bool{false, true} {
		for _, factor := range []float64{1, .6, 2} {
			rng, h := rand.New(rand.NewPCG(7, 0)), &sizing.History{}
			for i := range 60 + driftRuns {
				row := timed(int64(i+1), 50+100*rng.Float64(), 600*math.Exp(.1*rng.NormFloat64()))
				if n := row.Features["n"].Num; hasFeature {
					row.Duration = time.Duration(float64(row.Duration) * n / 100)
				} else {
					row.Features = nil
				}
				if i >= 60 {
					row.Duration = time.Duration(factor * float64(row.Duration))
				}
				addSuccess(h, &row)
			}
			m, _, err := Fit(h, nil)
			require.NoError(t, err)
			assert.InEpsilon(t, factor, m.RunTimeDrift(h), .15, "has feature: %t", hasFeature)
		}
	}
}

// Half of the runs take 10 s, and the other runs 1000 s. The share of the long runs among the newest runs varies by
// chance, so the median of these runs may be 10 s or 1000 s. This is no drift.
func TestRunTimesWithTwoModesDoNotDrift(t *testing.T) {
	for seed := range uint64(10) {
		m, rng, h := New(), rand.New(rand.NewPCG(seed, 3)), &sizing.History{}
		for i := range 200 {
			row := timed(int64(i+1), 1, []float64{10, 1000}[rng.IntN(2)]*(.97+.06*rng.Float64()))
			m.Learn(row)
			addSuccess(h, &row)
		}
		assert.InEpsilon(t, 1, m.RunTimeDrift(h), .3, "seed %d", seed)
	}
}

func addSuccess(h *sizing.History, r *TrainingRow) {
	h.Schema.Extend(r.Features)
	h.Total++
	h.LastSeq++
	h.Rows = append(h.Rows, sizing.HistoryRow{
		Seq: h.LastSeq, Outcome: sizing.Success, MemoryMax: r.Peak, Duration: r.Duration, Features: h.Schema.Row(r.Features, nil),
	})
}

// A model of an earlier release has no range of run times. The run time of the next run alone must not become the range.
func TestAModelWithoutARangeKeepsItsRunTimes(t *testing.T) {
	m := New()
	learnRuns(m, rand.New(rand.NewPCG(8, 0)), 0, 100, .1, 1)
	m.DurationLevels = durationLevels{}
	before := durationOf(m, 100, 0)
	m.Learn(timed(101, 1, 2))
	assert.InEpsilon(t, before.Median.Seconds(), durationOf(m, 100, 0).Median.Seconds(), .2)
}

func TestTableOfManyTriesMatchesTheirMixture(t *testing.T) {
	m := New()
	learnRuns(m, rand.New(rand.NewPCG(9, 0)), 0, 200, .3, 1)
	var tries []sizing.Features
	for n := range 50 {
		tries = append(tries, sizing.Features{"n": sizing.NumberValue(50 + 2*float64(n))})
	}
	times := m.RunTimes(tries)
	require.Len(t, times, 50)
	table := times.Table(200)
	require.Len(t, table, 201)
	for _, i := range []int{10, 50, 100, 150, 190} {
		assert.InEpsilon(t, times.Quantile(float64(i)/200), table[i], .03)
	}
	levels := times.LevelTable(200, .5)
	require.Len(t, levels, 201)
	assert.InEpsilon(t, 200, levels[100], .1)
	assert.Greater(t, levels[200]/levels[0], 2.)
	one := times[:1].LevelTable(200, .5)
	assert.InEpsilon(t, one[0], one[200], 1e-9)
	assert.InEpsilon(t, times[0].Quantile(.5), one[100], 1e-6)
	assert.Empty(t, RunTimes{}.LevelTable(200, .5))
	assert.Empty(t, RunTimes{}.Table(200))
}

// A forecast uses the predicted run times after it has released the lock of the task.
func TestRunTimesStayTheSameWhenTheModelLearns(t *testing.T) {
	m, rng := New(), rand.New(rand.NewPCG(10, 0))
	learnRuns(m, rng, 0, 600, .3, 1)
	times := m.RunTimes([]sizing.Features{{"n": sizing.NumberValue(100)}})
	before := times.Table(50)
	learnRuns(m, rng, 600, 50, .3, 20)
	assert.Equal(t, before, times.Table(50))
}

// The input `days` has values from 7 to 10, and no effect on the run time: its fitted slope is noise. A later run has a value
// far outside this range.
func TestRunTimesIgnoreNoiseOutsideTheRange(t *testing.T) {
	m, rng := New(), rand.New(rand.NewPCG(11, 0))
	for i := range 20 {
		row := timed(int64(i+1), 100, 200*math.Exp(.3*rng.NormFloat64()))
		row.Features["days"] = sizing.NumberValue(float64(10 - i/5))
		m.Learn(row)
	}
	within := m.RunTimes([]sizing.Features{{"n": sizing.NumberValue(100), "days": sizing.NumberValue(7)}})
	outside := m.RunTimes([]sizing.Features{{"n": sizing.NumberValue(100), "days": sizing.NumberValue(-40)}})
	assert.InEpsilon(t, within.Quantile(.5), outside.Quantile(.5), .01)
}

func TestRunTimesFollowReliableGrowthOutsideTheRange(t *testing.T) {
	m, rng := New(), rand.New(rand.NewPCG(12, 0))
	for i := range 20 {
		n := float64(100 + 50*(i%10))
		m.Learn(timed(int64(i+1), n, 2*n*math.Exp(.1*rng.NormFloat64())))
	}
	edge := m.RunTimes([]sizing.Features{{"n": sizing.NumberValue(550)}})
	outside := m.RunTimes([]sizing.Features{{"n": sizing.NumberValue(1000)}})
	assert.Greater(t, outside.Quantile(.5), 1.3*edge.Quantile(.5))
}

// A prediction far above the known run times is bounded by the range that was known before the run, even if the run itself widens
// this range.
func TestARunTimeDoesNotWidenTheRangeOfItsOwnPrediction(t *testing.T) {
	m, b := New(), new(buffers)
	learnRuns(m, rand.New(rand.NewPCG(8, 0)), 0, 50, .05, 1)
	p := experts.Point{Duration: 12}
	predicted, want := m.boundedRunTime(&p, b), m.DurationLevels.Mixture
	assert.Less(t, predicted, 8.0)
	want.learn(11, predicted)
	m.learnRunTime(&row{Cells: m.cells(sizing.Features{"n": sizing.NumberValue(100)}, nil), Seconds: math.Expm1(11)}, &TrainingRow{At: 1e9}, &p, b)
	assert.InDelta(t, want.PointError, m.DurationLevels.Mixture.PointError, 1e-9)
	assert.Greater(t, m.boundedRunTime(&p, b), predicted)
}

// The first predictions know no feature, so the run times of a task with two modes differ by five orders of magnitude from
// them.
func TestFirstRatiosDoNotStayInTheTail(t *testing.T) {
	for _, runs := range []int64{30, 80, 150} {
		for seed := range uint64(3) {
			rng := rand.New(rand.NewPCG(seed, 1))
			m := New()
			mode := func(isFull bool) sizing.Features {
				return sizing.Features{"mode": sizing.TextValue(map[bool]string{true: "full", false: "quick"}[isFull])}
			}
			for i := range runs {
				isFull, seconds := rng.Float64() < .3, 2.0
				if isFull {
					seconds = 3 * 24 * 3600
				}
				row := timed(i+1, 0, seconds*math.Exp(.1*rng.NormFloat64()))
				row.At, row.Features = 1_000_000*i, mode(isFull)
				m.Learn(row)
			}
			for _, isFull := range []bool{true, false} {
				d := m.Size(Question{Features: mode(isFull), RiskTarget: sizing.DefaultRiskTarget}).Duration
				t.Logf("%d runs, seed %d, full %t: median %v, p95 %v, p99 %v", runs, seed, isFull, d.Median, d.P95, d.P99)
				assert.Less(t, d.P99, 4*d.Median, "%d runs, seed %d, full %t: the 99 %% quantile must be that of the mode, not of the first errors", runs, seed, isFull)
			}
		}
	}
}
