package backtest

import (
	"math"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/shape"
	mltable "github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// DistanceRow has mean Kolmogorov–Smirnov distances (0 to 1) between the predicted distributions and
// the observed run times. The predictions use the first Runs runs of a task. The means are over the
// tasks with a prediction and at least minLater later runs.
type DistanceRow struct {
	Runs      int     `json:"runs"`
	Tasks     int     `json:"tasks"` // number of tasks in the means
	Loadaware float64 `json:"loadaware"`
	Boosted   float64 `json:"boosted_point_regression"` // distribution of the predictions of boostedPoints
	Lognormal float64 `json:"lognormal_fit"`            // lognormal distribution fitted to the first runs
	Empirical float64 `json:"own_quantiles"`            // empirical distribution of the first runs
}

// checkRuns lists the numbers of learned runs after which the predicted distribution of a task is compared with its later
// runs.
var checkRuns = []int{3, 8, 20, 100}

const (
	minLater = 30  // smallest number of later runs in a comparison; with fewer, chance makes every distance large
	maxLater = 100 // largest number of later runs in a comparison
)

type checkpoints struct{ tasks map[sizing.TaskKey]*taskCheck }

type taskCheck struct {
	features []sizing.Features  // by run
	seconds  []float64          // run time by run
	copies   map[int]*modelCopy // by number of runs
}

// modelCopy is an encoded model with the shapes that it used.
type modelCopy struct {
	blob   []byte
	shapes *shape.Set // nil: no shapes are learned yet
}

// add adds a run of a task. `m` is the model that has learned this run; add copies it if the number of runs is one of
// checkRuns. add ignores runs that no comparison needs.
func (c *checkpoints) add(m *taskmodel.Model, shapes *shape.Set, task sizing.TaskKey, f sizing.Features, seconds float64) error {
	t := c.tasks[task]
	if t == nil {
		t = &taskCheck{copies: map[int]*modelCopy{}}
		c.tasks[task] = t
	}
	if len(t.seconds) >= checkRuns[len(checkRuns)-1]+maxLater {
		return nil
	}
	t.features, t.seconds = append(t.features, f), append(t.seconds, seconds)
	if n := len(t.seconds); slices.Contains(checkRuns, n) {
		blob, err := m.Blob()
		if err != nil {
			return err
		}
		t.copies[n] = &modelCopy{blob: blob, shapes: shapes}
	}
	return nil
}

// distances returns one row for each number in checkRuns after which at least one task is compared.
func (c *checkpoints) distances() ([]DistanceRow, error) {
	var tasks []sizing.TaskKey
	for task := range c.tasks {
		tasks = append(tasks, task)
	}
	slices.SortFunc(tasks, func(a, b sizing.TaskKey) int { return strings.Compare(a.String(), b.String()) })
	var rows []DistanceRow
	for _, n := range checkRuns {
		row := DistanceRow{Runs: n}
		for _, task := range tasks {
			if err := row.add(c.tasks[task], n); err != nil {
				return nil, err
			}
		}
		if row.Tasks > 0 {
			for _, sum := range []*float64{&row.Loadaware, &row.Boosted, &row.Lognormal, &row.Empirical} {
				*sum /= float64(row.Tasks)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

func (d *DistanceRow) add(t *taskCheck, n int) error {
	stored := t.copies[n]
	if stored == nil || len(t.seconds) < n+minLater {
		return nil
	}
	end := min(len(t.seconds), n+maxLater)
	first, features := t.seconds[:n], t.features[n:end]
	observed := slices.Sorted(slices.Values(t.seconds[n:end]))
	model, err := taskmodel.Open(stored.blob)
	if err != nil {
		return err
	}
	model.SetShapes(stored.shapes)
	predicted := make([]taskmodel.RunTime, 0, len(features))
	for _, f := range features {
		if r, ok := model.RunTime(f); ok {
			predicted = append(predicted, r)
		}
	}
	if len(predicted) == 0 {
		return nil
	}
	boosted, err := boostedPoints(t.features[:n], first, features)
	if err != nil {
		return err
	}
	d.Tasks++
	d.Loadaware += distanceTo(observed, func(x float64) float64 {
		sum := 0.0
		for _, r := range predicted {
			sum += 1 - r.Above(x)
		}
		return sum / float64(len(predicted))
	})
	d.Boosted += distanceTo(observed, stepsOf(boosted))
	d.Empirical += distanceTo(observed, stepsOf(first))
	d.Lognormal += distanceTo(observed, lognormal(first))
	return nil
}

// distanceTo returns the Kolmogorov–Smirnov distance between ascending observed values and the
// distribution below(x) = P(value ≤ x).
func distanceTo(observed []float64, below func(float64) float64) float64 {
	most, n := 0.0, float64(len(observed))
	for i := 0; i < len(observed); {
		x, end := observed[i], i+1
		for end < len(observed) && observed[end] == x { // equal values are one step of the observed distribution
			end++
		}
		most = max(most, math.Abs(below(x)-float64(end)/n), math.Abs(below(math.Nextafter(x, 0))-float64(i)/n))
		i = end
	}
	return most
}

// stepsOf returns the empirical distribution function.
func stepsOf(values []float64) func(float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return func(x float64) float64 {
		i, _ := slices.BinarySearchFunc(sorted, x, func(v, x float64) int {
			if v <= x {
				return -1
			}
			return 1
		})
		return float64(i) / float64(len(sorted))
	}
}

// lognormal returns the distribution function of the lognormal distribution whose parameters are the mean and the standard
// deviation of the logarithms of the values.
func lognormal(values []float64) func(float64) float64 {
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += math.Log(max(v, 1e-3)) / float64(len(values))
	}
	for _, v := range values {
		squares += (math.Log(max(v, 1e-3)) - mean) * (math.Log(max(v, 1e-3)) - mean)
	}
	deviation := max(1e-3, math.Sqrt(squares/float64(max(1, len(values)-1))))
	return func(x float64) float64 { return .5 * math.Erfc((mean-math.Log(max(x, 1e-300)))/(deviation*math.Sqrt2)) }
}

// boostedPoints fits boosted trees on the log seconds of the first runs, and returns their predictions
// of later runs in seconds. Without features, each prediction is the geometric mean of the first runs.
func boostedPoints(features []sizing.Features, seconds []float64, later []sizing.Features) ([]float64, error) {
	var schema sizing.Schema
	for _, f := range features {
		schema.Extend(f)
	}
	t := &mltable.Table{}
	for i := range schema.Fields {
		t.Names = append(t.Names, schema.Fields[i].Name)
	}
	mean := 0.0
	for i, f := range features {
		t.X = append(t.X, schema.Row(f, nil)...)
		t.Y = append(t.Y, math.Log(max(seconds[i], 1e-3)))
		mean += t.Y[i] / float64(len(seconds))
	}
	out := make([]float64, len(later))
	if len(t.Names) == 0 {
		for i := range out {
			out[i] = math.Exp(mean)
		}
		return out, nil
	}
	model, err := gbt.FitRegression(t, nil, gbt.Config{MinLeafRows: max(1, min(5, len(seconds)/8)), Seed: 1})
	if err != nil {
		return nil, err
	}
	for i, f := range later {
		out[i] = math.Exp(model.Predict(schema.Row(f, nil)[:len(t.Names)]))
	}
	return out, nil
}
