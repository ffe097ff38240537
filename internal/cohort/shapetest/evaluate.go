package shapetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/ml/shape"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Result rates the shapes and quantiles that are predicted with and without the classifier.
type Result struct {
	Shapes     int
	Bytes      int        // of the stored shapes
	Classifier int        // bytes of the classifier, which are part of Bytes; 0: FitShapes returned none
	Newest     Paired     // share of the newest 20 % of the runs whose predicted shape has the same kind (see Kinds) as their task
	Majority   float64    // share of the most frequent kind among the new tasks
	New        []NewTasks // by number of own runs
}

// Paired holds one figure with and without the classifier.
type Paired struct{ With, Without float64 }

// NewTasks rates tasks that the shapes have not seen, after some own runs.
type NewTasks struct {
	Runs     int               // number of own runs
	Right    Paired            // share of the runs with a predicted shape of the same kind as their task
	P95, P99 map[string]Paired // coverage of the quantiles, by kind
	Loss     Paired            // mean pinball loss of the 95 % quantile of the log seconds
}

// Runs lists the numbers of own runs of new tasks.
var Runs = []int{0, 3, 8, 20}

const (
	newTasks  = 150
	laterRuns = 20 // runs of a new task after its own runs; the predictions for them are rated
)

type evaluation struct {
	set        *taskmodel.Shapes
	classifier *cohort.Shapes // nil: FitShapes returned none
	runTimes   *cohort.RunTimes
	kinds      []int // most frequent kind of the tasks of each shape; −1: no task
}

// Evaluate learns the shapes, the classifier and the run times from the first 80 % of the runs of a history. It predicts the
// shape for each of the other runs, before the model of its task learns this run, and rates the shapes and quantiles for new
// tasks.
func Evaluate(c Config) (*Result, error) {
	rng := rand.New(rand.NewPCG(c.Seed, 31))
	runs := history(&c, rng)
	models := map[*task]*taskmodel.Model{}
	cut := len(runs) * 4 / 5
	for i := range runs[:cut] {
		learn(models, &runs[i], int64(i+1))
	}
	e, err := newEvaluation(runs[:cut], models)
	if err != nil {
		return nil, err
	}
	encoded, err := e.classifier.MarshalBinary()
	if err != nil {
		return nil, err
	}
	content, err := taskmodel.EncodeShapes(e.set, encoded)
	if err != nil {
		return nil, err
	}
	result := &Result{Shapes: len(e.set.Shapes), Bytes: len(content), Classifier: len(encoded)}
	for i := range runs[cut:] {
		r := &runs[cut+i]
		m := models[r.task]
		if m == nil {
			m = taskmodel.New()
		}
		m.SetShapes(e.set)
		result.Newest.add(e.isRight(r, m), 1/float64(len(runs)-cut))
		learn(models, r, int64(cut+i+1))
	}
	e.rateNewTasks(&c, rng, result)
	return result, nil
}

func (p *Paired) add(v Paired, weight float64) {
	p.With, p.Without = p.With+weight*v.With, p.Without+weight*v.Without
}

func learn(models map[*task]*taskmodel.Model, r *run, seq int64) {
	m := models[r.task]
	if m == nil {
		m = taskmodel.New()
		models[r.task] = m
	}
	m.Learn(r.trainingRow(seq))
}

// newEvaluation learns shapes and their classifier as the trainer does.
func newEvaluation(runs []run, models map[*task]*taskmodel.Model) (*evaluation, error) {
	var tasks []*task
	for t := range models {
		tasks = append(tasks, t)
	}
	slices.SortFunc(tasks, func(a, b *task) int { return strings.Compare(a.key.String(), b.key.String()) })
	var ratios [][]float64
	for _, t := range tasks {
		ratios = append(ratios, models[t].Ratios())
	}
	set, err := taskmodel.LearnShapes(ratios)
	if err != nil {
		return nil, err
	}
	if set == nil {
		return nil, fmt.Errorf("%d tasks have too few runs for shapes", len(tasks))
	}
	labels, votes := map[sizing.TaskKey]int{}, make([][]int, len(set.Shapes))
	for i, t := range tasks {
		if label, ok := taskmodel.ShapeOf(set, ratios[i]); ok {
			labels[t.key] = label
			if votes[label] == nil {
				votes[label] = make([]int, len(Kinds))
			}
			votes[label][t.kind]++
		}
	}
	e := &evaluation{set: set, kinds: make([]int, len(set.Shapes))}
	for label, counts := range votes {
		if e.kinds[label] = -1; counts != nil {
			e.kinds[label] = slices.Index(counts, slices.Max(counts))
		}
	}
	var rows []cohort.Row
	for i := range runs {
		rows = append(rows, runs[i].row())
	}
	e.classifier = cohort.FitShapes(slices.Clone(rows), labels)
	for i := range rows {
		rows[i].Placement = sizing.Placement{} // the trainer of cohorts reads no placement
	}
	e.runTimes = cohort.Fit(rows[max(0, len(rows)-cohort.MaxRows):]).RunTimes
	return e, nil
}

func (e *evaluation) isRight(r *run, m *taskmodel.Model) (p Paired) {
	facts := r.facts()
	given := e.classifier.Probabilities(&facts)
	with, without := m.Membership(e.set, &given), m.Membership(e.set, &shape.Given{})
	return Paired{e.score(with.Best, r.task.kind), e.score(without.Best, r.task.kind)}
}

// score returns 1 if the most probable shape of a task has the kind of the task, else 0.
func (e *evaluation) score(best, kind int) float64 {
	if best != shape.None && e.kinds[best] == kind {
		return 1
	}
	return 0
}

func (e *evaluation) rateNewTasks(c *Config, rng *rand.Rand, result *Result) {
	var tasks []*task
	count := make([]int, len(Kinds))
	for i := range newTasks {
		t := newTask(c, "new", i, rng)
		tasks = append(tasks, t)
		count[t.kind]++
	}
	result.Majority = float64(slices.Max(count)) / newTasks
	for _, n := range Runs {
		rated := NewTasks{Runs: n, P95: map[string]Paired{}, P99: map[string]Paired{}}
		for i, t := range tasks {
			taskRNG := rand.New(rand.NewPCG(c.Seed, uint64(i))) // the same sequence of runs for every n: the first n are learned, and the next ones are rated
			m, own := taskmodel.New(), cohort.OwnRuns{}
			for k := range n {
				r := t.newRun(taskRNG)
				m.Learn(r.trainingRow(int64(k + 1)))
				own.Runs++
				own.Mean += (math.Log(r.seconds) - own.Mean) / float64(own.Runs)
			}
			m.SetShapes(e.set)
			for range laterRuns {
				r := t.newRun(taskRNG)
				rated.Right.add(e.isRight(&r, m), 1./newTasks/laterRuns)
				e.rateQuantiles(&r, m, own, &rated, 1/float64(count[t.kind])/laterRuns)
			}
		}
		result.New = append(result.New, rated)
	}
}

func (e *evaluation) rateQuantiles(r *run, m *taskmodel.Model, own cohort.OwnRuns, rated *NewTasks, weight float64) {
	for k, classifier := range []*cohort.Shapes{e.classifier, nil} {
		p95, p99 := e.predict(r, m, own, classifier)
		kind := Kinds[r.task.kind]
		a, b := rated.P95[kind], rated.P99[kind]
		for q, seconds := range []float64{p95, p99} {
			if r.seconds <= seconds {
				pair := []*Paired{&a, &b}[q]
				*[]*float64{&pair.With, &pair.Without}[k] += weight
			}
		}
		rated.P95[kind], rated.P99[kind] = a, b
		*[]*float64{&rated.Loss.With, &rated.Loss.Without}[k] += pinball(.95, math.Log(r.seconds/p95)) / newTasks / laterRuns
	}
}

// predict returns the quantiles of POST /predict in seconds; see service.allocator.runTime.
func (e *evaluation) predict(r *run, m *taskmodel.Model, own cohort.OwnRuns, classifier *cohort.Shapes) (p95, p99 float64) {
	facts := r.facts()
	given := classifier.Probabilities(&facts)
	if own.Runs <= cohort.MaxOwnRuns {
		if predicted, ok := e.runTimes.Predict(&facts, own); ok {
			member := m.Membership(e.set, &given)
			predicted = classifier.WithShape(predicted, own, &member)
			return max(predicted.Median(), predicted.Quantile(.95)), max(predicted.Median(), predicted.Quantile(.99))
		}
	}
	d := m.Size(taskmodel.Question{Features: r.features, RiskTarget: sizing.DefaultRiskTarget, Shape: given}).Duration
	return d.P95.Seconds(), d.P99.Seconds()
}

// pinball returns the loss of a quantile at a level, for a value that exceeds the quantile by `excess`.
func pinball(level, excess float64) float64 { return max(level*excess, (level-1)*excess) }
