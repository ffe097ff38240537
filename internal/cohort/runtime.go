package cohort

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/sizing"
)

// RunTimes predicts the run time of a task with no or few runs from the other tasks of its
// namespace. Boosted trees predict the logarithm of the seconds. The own runs of a task move the
// prediction towards their mean, as in a linear model with a random effect for each task (Henderson
// 1975). A RunTimes is immutable and safe for concurrent use.
type RunTimes struct {
	encoder
	trees   *gbt.Regressor
	unseen  errorDistribution // log(seconds) − prediction, on tasks that the trees had not learned
	own     errorDistribution // log(seconds) − mean of the earlier runs of the task
	between float64           // variance of the mean log seconds of a task around the prediction
	within  float64           // variance of the log seconds of a task's runs around their mean
}

// MaxOwnRuns is the number of own runs up to which RunTimes predicts better than the model of a task.
// Later the task's own model knows the effect of the inputs.
const MaxOwnRuns = 4

// OwnRuns summarises the earlier runs of a task.
type OwnRuns struct {
	Runs int
	Mean float64 // of the log seconds
}

// RunTime is the predicted distribution of one run time: seconds = exp(level + error).
type RunTime struct {
	errors *errorDistribution
	shapes *errorMixture // set by WithShape; if it is not nil, it replaces errors
	level  float64
	median float64 // log seconds
}

// Predict predicts the run time of the next run of a task. ok is false for a nil model, or if the
// prediction is not finite.
func (m *RunTimes) Predict(f *Facts, own OwnRuns) (r RunTime, ok bool) {
	if m == nil {
		return RunTime{}, false
	}
	var buffer [maxNumbers + 2*maxCategories]float64
	level, n := m.trees.Predict(m.encode(f, buffer[:0])), float64(own.Runs)
	r.errors, r.median = &m.unseen, level+m.unseen.quantile(.5, 0)
	if n > 0 { // with own runs, the level itself is the median
		level = shrink(level, own.Mean, n, m.between, m.within)
		r.median = level
		if m.own.weight() >= minErrors {
			r.errors = &m.own
		}
	}
	r.level = level
	return r, !math.IsNaN(level) && !math.IsInf(level, 0)
}

// Quantile returns the seconds that the run does not exceed with probability q. A future error has
// the mean weight of the errors (split conformal prediction).
func (r RunTime) Quantile(q float64) float64 {
	if r.shapes != nil {
		return math.Exp(r.level + r.shapes.quantile(q))
	}
	return math.Exp(r.level + r.errors.quantile(q, r.errors.weight()/float64(len(r.errors.errors))))
}

// Median returns the predicted median in seconds.
func (r RunTime) Median() float64 { return math.Exp(r.median) }

// Above returns P(run time > seconds).
func (r RunTime) Above(seconds float64) float64 {
	bound := math.Log(max(seconds, math.SmallestNonzeroFloat64)) - r.level
	if r.shapes != nil {
		return r.shapes.above(bound)
	}
	return r.errors.above(bound)
}

// RunTimeLearner learns run times in order of time. It is not safe for concurrent use.
type RunTimeLearner struct {
	tasks    map[sizing.TaskKey]*taskRows // Row.Peak is the run time in seconds, because the encoder takes its target from this field
	order    []*taskRows                  // by first run
	runs     int
	fittedAt int // value of runs at the last fit
	current  *RunTimes
}

// NewRunTimeLearner returns an empty RunTimeLearner.
func NewRunTimeLearner() *RunTimeLearner {
	return &RunTimeLearner{tasks: map[sizing.TaskKey]*taskRows{}}
}

// Model returns the current model; nil while too few tasks are known.
func (l *RunTimeLearner) Model() *RunTimes { return l.current }

// fitRunTimes learns the successes among rows in order of time; nil if there are too few tasks or no fit is possible.
func fitRunTimes(rows []Row) *RunTimes {
	l := NewRunTimeLearner()
	for i := range rows {
		if r := &rows[i]; !r.Killed {
			l.add(&r.Facts, r.Seconds)
		}
	}
	l.fit()
	return l.current
}

// Add learns a success, and fits again when the number of runs has grown by the share RefitGrowth since the last fit.
func (l *RunTimeLearner) Add(f *Facts, seconds float64) {
	l.add(f, seconds)
	if float64(l.runs) >= float64(l.fittedAt)*(1+RefitGrowth) {
		l.fit()
	}
}

func (l *RunTimeLearner) add(f *Facts, seconds float64) {
	if !(seconds > 0) {
		return
	}
	t := l.tasks[f.Task]
	if t == nil {
		t = &taskRows{key: f.Task}
		l.tasks[f.Task] = t
		if l.order = append(l.order, t); len(l.order) > maxTasks {
			delete(l.tasks, l.order[0].key)
			l.order = slices.Delete(l.order, 0, 1)
		}
	}
	if t.rows = append(t.rows, Row{Facts: *f, Peak: max(seconds, minSeconds)}); len(t.rows) > RowsPerTask {
		t.rows = slices.Delete(t.rows, 0, 1)
	}
	l.runs++
}

// minSeconds replaces shorter run times, because the resolution of the clock is a large part of them.
const minSeconds = 0.1

// fit fits the trees if there are at least MinTasks tasks. The errors of the trees come from a cross-validation over whole
// tasks.
func (l *RunTimeLearner) fit() {
	if len(l.order) < MinTasks {
		return
	}
	l.fittedAt = l.runs
	errors := errorsOf(crossValidate(l.order, false))
	trees, err := fitTrees(l.order, false)
	if err != nil || float64(len(errors)) < minErrors {
		return // no fit is possible, and the previous model stays in use
	}
	own, within := ownErrors(l.order)
	m := &RunTimes{encoder: trees.encoder, trees: trees.trees, unseen: newErrors(errors), own: newErrors(own), within: within}
	m.between = betweenTasks(&m.unseen, within)
	l.current = m
}

// betweenTasks returns the variance of the mean log seconds of a task around its prediction.
func betweenTasks(unseen *errorDistribution, within float64) float64 {
	spread := (unseen.quantile(.75, 0) - unseen.quantile(.25, 0)) / normalIQR
	return max(spread*spread-within, within/maxOwnWeight)
}

func shrink(level, mean, n, between, within float64) float64 {
	return (within*level + n*between*mean) / (within + n*between)
}

// errorDistribution is a weighted empirical distribution. The zero value has no errors.
type errorDistribution struct {
	errors []weightedError // ascending
	sums   []float64       // sums[i] is the total weight of the first i errors
}

// maxRunTimeErrors is the largest number of errors of a distribution. It bounds the size of a stored model.
const maxRunTimeErrors = 1000

// newErrors returns the distribution of `errors`, which it sorts. If there are more than maxRunTimeErrors, it replaces groups
// of neighbours by the largest error of each group, with the weight of the group.
func newErrors(errors []weightedError) errorDistribution {
	return newErrorsUpTo(errors, maxRunTimeErrors)
}

func newErrorsUpTo(errors []weightedError, limit int) errorDistribution {
	slices.SortFunc(errors, func(a, b weightedError) int { return cmp.Compare(a.Error, b.Error) })
	if n := len(errors); n > limit {
		merged := make([]weightedError, limit)
		for i, e := range errors {
			group := &merged[i*limit/n]
			group.Error, group.Weight = e.Error, group.Weight+e.Weight
		}
		errors = merged
	}
	d := errorDistribution{errors, make([]float64, 1, len(errors)+1)}
	for i, e := range errors {
		d.sums = append(d.sums, d.sums[i]+e.Weight)
	}
	return d
}

func (d *errorDistribution) weight() float64 {
	if len(d.errors) == 0 {
		return 0
	}
	return d.sums[len(d.errors)]
}

// quantile returns the q quantile of the errors and of one further error, which is above all others. If this quantile is the
// further error, it returns the largest of the errors. furtherWeight is the weight of the further error.
func (d *errorDistribution) quantile(q, furtherWeight float64) float64 {
	i, _ := slices.BinarySearch(d.sums, q*(d.weight()+furtherWeight))
	return d.errors[max(0, min(i, len(d.errors))-1)].Error
}

func (d *errorDistribution) above(bound float64) float64 {
	i, _ := slices.BinarySearchFunc(d.errors, bound, func(e weightedError, bound float64) int {
		if e.Error <= bound {
			return -1
		}
		return 1
	})
	return 1 - d.sums[i]/d.weight()
}

const (
	normalIQR    = 1.349 // interquartile range of the standard normal distribution
	maxOwnWeight = 20.0  // largest weight of the prediction of the trees, in own runs
	priorWithin  = 0.1   // assumed difference of the log seconds of two runs of a task; counts like one observed difference, and decides if no task has two runs
	minWithin    = 0.02  // smallest typical difference
)

// ownErrors returns the errors of the mean of the earlier runs of a task, in log seconds, and the variance
// of a task's runs. The variance comes from the median difference of two successive runs, so that a few
// unusual runs do not raise it.
func ownErrors(tasks []*taskRows) (errors []weightedError, within float64) {
	differences := []float64{priorWithin}
	for _, t := range tasks {
		mean := 0.0
		for i := range t.rows {
			y := math.Log(t.rows[i].Peak)
			if i > 0 {
				weight := 1 / math.Sqrt(float64(len(t.rows)-1))
				errors = append(errors, weightedError{y - mean, weight})
				differences = append(differences, math.Abs(y-math.Log(t.rows[i-1].Peak)))
			}
			mean += (y - mean) / float64(i+1)
		}
	}
	slices.Sort(differences)
	typical := max(minWithin, differences[len(differences)/2]) / (normalIQR / 2 * math.Sqrt2)
	return errors, typical * typical
}
