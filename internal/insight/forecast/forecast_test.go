package forecast_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/insight/forecast"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// fixed returns the quantile function of a fixed run time.
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

func TestCheckStructure(t *testing.T) {
	for name, c := range map[string]struct {
		tasks []forecast.Task
		want  string
	}{
		"a cycle":         {[]forecast.Task{{ID: "a", Upstream: []string{"b"}}, {ID: "b", Upstream: []string{"a"}}}, `"a" depends on itself`},
		"an unknown task": {[]forecast.Task{{ID: "a", Upstream: []string{"x"}}}, `"x" is not a task`},
		"a repeated task": {[]forecast.Task{{ID: "a"}, {ID: "a"}}, "listed twice"},
		"too many tasks":  {manyTasks(forecast.MaxTasks + 1), "at most"},
	} {
		_, err := forecast.CheckStructure(c.tasks)
		require.Equal(t, sizing.Invalid, sizing.KindOf(err), name)
		assert.ErrorContains(t, err, c.want, name)
	}
	r, err := forecast.Simulate(nil, 1, 0)
	require.NoError(t, err)
	assert.Zero(t, r.Median)
}

// manyTasks returns n tasks without dependencies.
func manyTasks(n int) []forecast.Task {
	tasks := make([]forecast.Task, n)
	for i := range tasks {
		tasks[i].ID = fmt.Sprint(i)
	}
	return tasks
}

// workflow is a generated DAG: layers of tasks whose run times grow with the input size of a run. All
// run times of a run have a common random factor that no feature shows.
type workflow struct {
	tasks []forecast.Task
	fixed []float64 // constant part of the run time of each task, in seconds
	slope []float64 // seconds per unit of size
	noise []float64 // standard deviation of log seconds
	bytes []float64 // bytes per unit of size
}

// newWorkflow draws a workflow.
func newWorkflow(rng *rand.Rand) *workflow {
	w := &workflow{}
	var previous []string
	for layer := range 3 + rng.IntN(3) {
		var ids []string
		for k := range 1 + rng.IntN(4) {
			task := forecast.Task{ID: fmt.Sprintf("layer%d_%d", layer, k)}
			for _, id := range previous {
				if len(task.Upstream) == 0 || rng.IntN(2) == 0 {
					task.Upstream = append(task.Upstream, id)
				}
			}
			ids = append(ids, task.ID)
			w.tasks = append(w.tasks, task)
			w.fixed, w.slope = append(w.fixed, 60*rng.Float64()), append(w.slope, 120*rng.Float64())
			w.noise, w.bytes = append(w.noise, .05+.3*rng.Float64()), append(w.bytes, 2e9*rng.Float64())
		}
		previous = ids
	}
	return w
}

// run draws one run: the seconds and the peak of each task, and the end and the largest memory of the
// run.
func (w *workflow) run(size float64, rng *rand.Rand) (seconds, peaks []float64, end, memory float64) {
	common := math.Exp(.1 * rng.NormFloat64())
	actual := slices.Clone(w.tasks)
	for i := range w.tasks {
		s := (w.fixed[i] + w.slope[i]*size) * common * math.Exp(w.noise[i]*rng.NormFloat64())
		m := (1e8 + w.bytes[i]*size) * math.Exp(.05*rng.NormFloat64())
		seconds, peaks = append(seconds, s), append(peaks, m)
		actual[i].Quantile, actual[i].Memory = fixed(s), m
	}
	r, err := forecast.Simulate(actual, 1, 1)
	if err != nil {
		panic(err)
	}
	return seconds, peaks, r.Median, r.Peak.Median
}

// There are eight generated workflows with 60 runs each. The newest 30 % of the runs are forecast
// before they are learned, and compared with their actual ends.
func TestForecastOfGeneratedWorkflows(t *testing.T) {
	var errors []float64
	covered, memoryCovered, rows := 0.0, 0.0, 0.0
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 17))
		w := newWorkflow(rng)
		models := make([]*taskmodel.Model, len(w.tasks))
		for i := range models {
			models[i] = taskmodel.New()
		}
		var past forecast.Calibration
		for run := range 60 {
			size := math.Exp(.7 * rng.NormFloat64())
			features := sizing.Features{"size": sizing.NumberValue(size)}
			if run >= 15 {
				r := forecastRun(t, w, models, features)
				p95 := past.P95(r)
				seconds, peaks, end, memory := w.run(size, rng)
				if run >= 42 {
					rows++
					errors = append(errors, math.Abs(r.Median-end)/end)
					covered += indicator(end <= p95)
					memoryCovered += indicator(memory <= r.Peak.P95)
				}
				past.Add(r, end)
				learnRun(models, features, seconds, peaks, run)
				continue
			}
			seconds, peaks, _, _ := w.run(size, rng)
			learnRun(models, features, seconds, peaks, run)
		}
	}
	slices.Sort(errors)
	t.Logf("median error %.1f %%, p95 covers %.1f %%, p95 of the memory covers %.1f %% of %.0f runs", 100*errors[len(errors)/2], 100*covered/rows, 100*memoryCovered/rows, rows)
	assert.LessOrEqual(t, errors[len(errors)/2], .2)
	assert.InDelta(t, .95, covered/rows, .03)
	assert.GreaterOrEqual(t, memoryCovered/rows, .92)
}

// indicator returns 1 for true and 0 for false.
func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// forecastRun forecasts a run with features f by the models of its tasks.
func forecastRun(t *testing.T, w *workflow, models []*taskmodel.Model, f sizing.Features) *forecast.Result {
	tasks := slices.Clone(w.tasks)
	for i := range tasks {
		r, ok := models[i].RunTime(f)
		require.True(t, ok)
		tasks[i].Quantile = forecast.Interpolate(taskmodel.RunTimes{r}.Table(200))
		tasks[i].Memory = float64(models[i].Size(taskmodel.Question{Features: f, RiskTarget: sizing.DefaultRiskTarget}).Limit)
	}
	result, err := forecast.Simulate(tasks, 5, 300)
	require.NoError(t, err)
	return result
}

// learnRun makes the models of the tasks learn one run.
func learnRun(models []*taskmodel.Model, f sizing.Features, seconds, peaks []float64, run int) {
	for i, m := range models {
		m.Learn(taskmodel.TrainingRow{
			Seq: int64(run + 1), Features: f, Outcome: sizing.Success, Censoring: sizing.Exact, Peak: sizing.Bytes(peaks[i]),
			Duration: time.Duration(seconds[i] * float64(time.Second)), FirstTry: true, Try: 1, Run: uint64(run + 1),
		})
	}
}
