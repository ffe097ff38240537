package forecast_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/insight/forecast/forecasttest"
	"github.com/loadaware/loadaware/internal/sizing"
)

func fixed(seconds float64) func(float64) float64 { return func(float64) float64 { return seconds } }

// Task a takes 10 s, then b takes 20 s and c 5 s, then d takes 1 s. The critical path is a, b, d and
// takes 31 s.
func TestSimulateFixedRunTimes(t *testing.T) {
	r, err := forecast.Simulate([]forecast.Task{
		{ID: "d", Upstream: []string{"b", "c"}, Quantile: fixed(1), Memory: 8},
		{ID: "a", Quantile: fixed(10), Memory: 1},
		{ID: "b", Upstream: []string{"a"}, Quantile: fixed(20), Memory: 2},
		{ID: "c", Upstream: []string{"a"}, Quantile: fixed(5), Memory: 3, Instances: 2},
	}, 1, 0)
	require.NoError(t, err)
	assert.InDelta(t, 31, r.Median, 1e-9)
	assert.InDelta(t, 31, r.P95, 1e-9)
	assert.InDelta(t, 8, r.Peak.P95, 1e-9, "b and the two instances of c need 8; d starts after them")
	critical := map[string]float64{}
	for _, task := range r.Tasks {
		critical[task.ID] = task.Critical
	}
	assert.Equal(t, map[string]float64{"a": 1, "b": 1, "c": 0, "d": 1}, critical)
	assert.InDelta(t, 30, r.Tasks[0].Start, 1e-9)
	assert.InDelta(t, 1, r.Footprint[0].Median, 1e-9)
	assert.InDelta(t, 8, r.Footprint[25].Median, 1e-9, "after 12.9 s")
	assert.InDelta(t, 2, r.Footprint[40].Median, 1e-9, "after 20.7 s")
}

func TestSimulateMatchesTheDistribution(t *testing.T) {
	uniform := func(u float64) float64 { return u }
	tasks := []forecast.Task{{ID: "one", Quantile: uniform, Instances: 3}}
	r, err := forecast.Simulate(tasks, 3, 0)
	require.NoError(t, err)
	assert.InDelta(t, math.Pow(.5, 1.0/3), r.Median, .03, "the median of the largest of three uniform numbers")
	again, err := forecast.Simulate(tasks, 3, 0)
	require.NoError(t, err)
	assert.Equal(t, r, again, "the seed determines the result")
}

func TestDrawsAreThoseOfTheCallerUpToTheBound(t *testing.T) {
	for _, c := range []struct{ tasks, draws, want int }{
		{1, 0, 1000}, {1, 1, 1}, {1, 5000, 5000}, {forecast.MaxTasks, 1500, 1000},
	} {
		tasks := manyTasks(c.tasks)
		for i := range tasks {
			tasks[i].Quantile = fixed(1)
		}
		r, err := forecast.Simulate(tasks, 1, c.draws)
		require.NoError(t, err)
		assert.Equal(t, c.want, r.Draws, "%d draws of %d tasks", c.draws, c.tasks)
	}
}

func TestCheckStructureNamesTheFault(t *testing.T) {
	for name, c := range map[string]struct {
		tasks []forecast.Task
		want  string
	}{
		"a cycle": {[]forecast.Task{{ID: "a", Upstream: []string{"b"}}, {ID: "b", Upstream: []string{"a"}}}, `tasks[0].upstream is part of a cycle: "a" waits for "b", "b" waits for "a"`},
		"a task after a cycle": {[]forecast.Task{{ID: "after", Upstream: []string{"a"}}, {ID: "b", Upstream: []string{"a"}}, {ID: "a", Upstream: []string{"b"}}},
			`tasks[1].upstream is part of a cycle: "b" waits for "a", "a" waits for "b"`},
		"a task that waits for itself": {[]forecast.Task{{ID: "a", Upstream: []string{"a"}}}, `is part of a cycle: "a" waits for "a"`},
		"a long cycle":                 {cycle(12), `"8" waits for "9", "9" waits for "10", …`},
		"an unknown task":              {[]forecast.Task{{ID: "a", Upstream: []string{"x"}}}, `"x" is not a task`},
		"a repeated task":              {[]forecast.Task{{ID: "a"}, {ID: "a"}}, "listed twice"},
		"too many tasks":               {manyTasks(forecast.MaxTasks + 1), "at most"},
	} {
		_, err := forecast.CheckStructure(c.tasks)
		require.Equal(t, sizing.Invalid, sizing.KindOf(err), name)
		assert.ErrorContains(t, err, c.want, name)
	}
	r, err := forecast.Simulate(nil, 1, 0)
	require.NoError(t, err)
	assert.Zero(t, r.Median)
}

func cycle(n int) []forecast.Task {
	tasks := make([]forecast.Task, n)
	for i := range tasks {
		tasks[i] = forecast.Task{ID: strconv.Itoa(i), Upstream: []string{strconv.Itoa((i + 1) % n)}}
	}
	return tasks
}

func manyTasks(n int) []forecast.Task {
	tasks := make([]forecast.Task, n)
	for i := range tasks {
		tasks[i].ID = fmt.Sprint(i)
	}
	return tasks
}

// A feature of the past runs decides whether they end near 600 or near 7,800 seconds. The second
// forecast below does not know this feature.
func TestCalibrationExcludesDifferencesOfInputs(t *testing.T) {
	var c forecast.Calibration
	for i := range 40 {
		scale := 1.0
		if i%5 == 0 {
			scale = 13
		}
		c.Add(600*scale, (570+float64(i%4)*30)*scale, 1)
	}
	of := func(median func(float64) float64) (r, expected *forecast.Result) {
		tasks := []forecast.Task{{ID: "a", Quantile: fixed(1), Median: median}}
		r, err := forecast.Simulate(tasks, 1, 0)
		require.NoError(t, err)
		expected, err = forecast.SimulateMedians(tasks, 1, 0)
		require.NoError(t, err)
		return r, expected
	}
	median, p95 := c.Quantiles(of(fixed(600)))
	assert.InDeltaSlice(t, []float64{630, 660}, []float64{median, p95}, 1e-9)
	median, p95 = c.Quantiles(of(func(u float64) float64 {
		if u > .8 {
			return 7800
		}
		return 600
	}))
	assert.InEpsilon(t, 630, median, .05)
	assert.InEpsilon(t, 8400, p95, .05)
}

// A fifth of the past runs took the slow one of two exclusive branches, the others the fast one.
func TestExclusiveBranchesStayExclusive(t *testing.T) {
	ranSlow, ranFast := make([]bool, 40), make([]bool, 40)
	for i := range ranSlow {
		ranSlow[i], ranFast[i] = i%5 == 0, i%5 != 0
	}
	r, err := forecast.Simulate([]forecast.Task{
		{ID: "extract", Quantile: fixed(600), Memory: 1},
		{ID: "fast", Upstream: []string{"extract"}, Quantile: fixed(1800), Memory: 5, Ran: ranFast},
		{ID: "slow", Upstream: []string{"extract"}, Quantile: fixed(7200), Memory: 10, Ran: ranSlow},
		{ID: "join", Upstream: []string{"fast", "slow"}, Quantile: fixed(300), Memory: 1},
	}, 1, 0)
	require.NoError(t, err)
	assert.InDelta(t, 2700, r.Median, 1e-9)
	assert.InDelta(t, 8100, r.P95, 1e-9)
	assert.Equal(t, forecast.Amounts{Median: 5, P95: 10}, r.Peak)
	assert.InDelta(t, .2, r.Tasks[2].Critical, .05)
	assert.InDelta(t, 7800, r.Tasks[2].End, 1e-9, "the median of the draws in which the task runs")
	assert.InDelta(t, 2400, r.Tasks[1].EndP95, 1e-9)
}

// The newest 30 % of the runs of eight generated workflows are forecast before they are learned, and
// compared with their actual ends.
func TestForecastOfGeneratedWorkflows(t *testing.T) {
	var outcomes []forecasttest.Outcome
	for seed := range uint64(8) {
		w, runs, err := forecasttest.Generate(seed, 60)
		require.NoError(t, err)
		rated, err := w.Evaluate(runs)
		require.NoError(t, err)
		outcomes = append(outcomes, rated...)
	}
	s := forecasttest.Summarise(outcomes)
	t.Logf("median error %.1f %%, p95 covers %.1f %%, p95 of the memory covers %.1f %% of %d runs", 100*s.MedianError, 100*s.Covered, 100*s.MemoryCovered, s.Runs)
	assert.Equal(t, 8*18, s.Runs)
	assert.LessOrEqual(t, s.MedianError, .2, "median error")
	assert.InDelta(t, .95, s.Covered, .03, "share of ends within p95")
	assert.GreaterOrEqual(t, s.MemoryCovered, .92, "share of runs within p95 of the memory")
}
