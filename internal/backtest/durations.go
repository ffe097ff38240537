package backtest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/shape"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// DurationReport compares the predicted with the actual run times of a trace. The rows are in order of time, and each row
// is predicted before it is learned.
type DurationReport struct {
	Trace    string `json:"trace"`
	Rows     int    `json:"rows"`
	Tasks    int    `json:"tasks"`
	Shapes   int    `json:"shapes"`      // number of shapes at the end
	Scored   int    `json:"scored"`      // rows with a prediction: all except the first two of each task
	P95      Share  `json:"p95_covered"` // rows within the predicted 95 % quantile
	P99      Share  `json:"p99_covered"` // rows within the predicted 99 % quantile
	Outliers struct {
		Promised float64 `json:"promised"` // expected number
		Seen     int     `json:"seen"`     // actual number
	} `json:"outliers"` // runs that take more than three times the predicted median
	Point []PointError  `json:"point_errors"` // by predictor
	KS    []DistanceRow `json:"distances"`    // by number of runs
	// ByHistory has the first runs of tasks and the later runs; a kind without rows is left out.
	ByHistory []RunTimesByHistory `json:"short_tasks"`
}

// Share is a number of rows, and its share of the rows with a prediction.
type Share struct {
	Covered int     `json:"rows"`
	Share   float64 `json:"share"`
}

// PointError has the relative errors, |predicted − actual| / actual, of one point predictor on the
// rows with a prediction.
type PointError struct {
	Predictor string  `json:"predictor"`
	Rows      int     `json:"rows"`
	Median    float64 `json:"median_relative_error"`
	Within5   float64 `json:"within_5_percent"`  // share (0 to 1) of the rows with an error of at most 5 %
	Within20  float64 `json:"within_20_percent"` // share (0 to 1) of the rows with an error of at most 20 %
}

// shapesGrowth is the factor by which the number of rows grows between two trainings of the shapes. The service
// instead learns the shapes at intervals of time. A smaller factor makes the replay slower.
const shapesGrowth = 1.25

const firstShapes = 300

type durationReplay struct {
	trace      *Trace
	policy     *loadawarePolicy
	shapes     *shape.Set // nil: none learned yet
	report     *DurationReport
	means      map[sizing.TaskKey]*runningMean // of the run time in seconds
	errors     [2][]float64                    // relative errors of loadaware and of the running mean, on the rows with a prediction of loadaware
	checks     checkpoints
	byHistory  historyReplay
	nextShapes int // index of the row before which the shapes are learned again
}

// Durations replays the run times of a trace with loadaware's own policy.
func Durations(ctx context.Context, t *Trace, cfg Config) (*DurationReport, error) {
	cfg = cfg.withDefaults()
	r := &durationReplay{
		trace: t, policy: newLoadawarePolicy(cfg), report: &DurationReport{Trace: t.Name, Rows: len(t.rows)},
		means: map[sizing.TaskKey]*runningMean{}, checks: checkpoints{tasks: map[sizing.TaskKey]*taskCheck{}}, nextShapes: firstShapes,
		byHistory: newHistoryReplay(cfg.SimilarBy),
	}
	for i := range t.rows {
		if i%progressEvery == 0 {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			cfg.Progress(min(progressEvery, len(t.rows)-i))
		}
		if err := r.row(i, cfg); err != nil {
			return nil, fmt.Errorf("replay the run times of %s, row %d: %w", t.Name, i+1, err)
		}
	}
	return r.finish()
}

func (r *durationReplay) row(i int, cfg Config) error {
	q := r.trace.question(i, cfg.DefaultRequest)
	l := r.policy.learnerOf(q.Try.TaskKey)
	if i >= r.nextShapes {
		if err := r.learnShapes(); err != nil {
			return err
		}
		r.nextShapes = int(shapesGrowth * float64(i))
	}
	l.model.SetShapes(r.shapes)
	sized := l.model.Size(taskmodel.Question{Features: q.Features, Requested: q.Requested, RiskTarget: cfg.RiskTarget, Cap: q.Cap})
	o := r.trace.outcome(i, q, sizing.MaxBytes, 1)
	seconds := o.Duration.Seconds()
	mean := r.means[q.Try.TaskKey]
	if mean == nil {
		mean = new(runningMean)
		r.means[q.Try.TaskKey] = mean
	}
	if d := sized.Duration; d != nil {
		r.score(d, seconds, mean.value())
	}
	r.byHistory.add(&q, sized.Duration, seconds, mean)
	mean.add(seconds)
	if err := r.policy.Learn(o); err != nil {
		return err
	}
	return r.checks.add(l.model, r.shapes, q.Try.TaskKey, q.Features, seconds)
}

// score compares the prediction d with the run time `seconds`. `mean` is the running mean of the task, in seconds.
func (r *durationReplay) score(d *sizing.Duration, seconds, mean float64) {
	r.report.Scored++
	if seconds <= d.P95.Seconds() {
		r.report.P95.Covered++
	}
	if seconds <= d.P99.Seconds() {
		r.report.P99.Covered++
	}
	r.report.Outliers.Promised += d.Outlier
	if seconds > taskmodel.OutlierRatio*d.Median.Seconds() {
		r.report.Outliers.Seen++
	}
	r.errors[0] = append(r.errors[0], math.Abs(d.Median.Seconds()-seconds)/seconds)
	r.errors[1] = append(r.errors[1], math.Abs(mean-seconds)/seconds)
}

// learnShapes learns the shapes from all tasks. It sorts the tasks by name, so that the result does not depend on the order of
// a map.
func (r *durationReplay) learnShapes() error {
	var tasks []sizing.TaskKey
	for task := range r.policy.tasks {
		tasks = append(tasks, task)
	}
	slices.SortFunc(tasks, func(a, b sizing.TaskKey) int { return strings.Compare(a.String(), b.String()) })
	var groups [][]float64
	for _, task := range tasks {
		groups = append(groups, r.policy.tasks[task].model.Ratios())
	}
	shapes, err := shape.Learn(shape.Ratio, groups, 1)
	if err == nil && shapes != nil {
		r.shapes = shapes
	}
	return err
}

func (r *durationReplay) finish() (*DurationReport, error) {
	report := r.report
	report.Tasks = len(r.policy.tasks)
	if r.shapes != nil {
		report.Shapes = len(r.shapes.Shapes)
	}
	n := float64(max(1, report.Scored))
	report.P95.Share, report.P99.Share = float64(report.P95.Covered)/n, float64(report.P99.Covered)/n
	for k, name := range []string{"loadaware", "running mean of the task"} {
		report.Point = append(report.Point, pointError(name, r.errors[k]))
	}
	report.ByHistory = r.byHistory.report()
	var err error
	report.KS, err = r.checks.distances()
	return report, err
}

func pointError(name string, errors []float64) PointError {
	e := PointError{Predictor: name, Rows: len(errors)}
	if len(errors) == 0 {
		return e
	}
	for _, v := range errors {
		if v <= .05 {
			e.Within5 += 1 / float64(len(errors))
		}
		if v <= .2 {
			e.Within20 += 1 / float64(len(errors))
		}
	}
	sorted := slices.Sorted(slices.Values(errors))
	e.Median = sorted[len(sorted)/2]
	return e
}

type runningMean struct {
	sum float64
	n   int
}

func (m *runningMean) add(v float64) { m.sum, m.n = m.sum+v, m.n+1 }

// value returns the mean, or 0 without values.
func (m *runningMean) value() float64 { return m.sum / float64(max(1, m.n)) }
