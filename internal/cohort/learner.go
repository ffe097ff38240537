package cohort

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/ml/table"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The bounds and intervals of a Learner.
const (
	RowsPerTask  = 20     // largest number of rows of a task that are used: the newest
	MaxRows      = 10_000 // largest number of rows that a training reads
	MinTasks     = 15     // smallest number of tasks with a success for trees
	MinSuccesses = 15     // smallest number of successes for a model without trees
	RefitGrowth  = 0.1    // share by which the number of successes or of kills grows between two fits, see isFitDue; a smaller share costs more fits

	maxTasks        = 4000 // largest number of tasks that are used: the newest
	folds           = 8    // of the cross-validation
	minUnseenErrors = 100  // smallest number of errors on unseen tasks that replace those of the cross-validation
	maxErrors       = 1000 // largest number of errors that are used: the newest
	errorsHalfLife  = 200  // number of errors after which the weight of an error halves, because new tasks differ from old ones
)

// treeConfig holds the parameters of the trees. It has many small steps, because the answers of 80
// rounds at a learning rate of 0.08 differed by a quarter between seeds.
var treeConfig = gbt.Config{Rounds: 320, LearningRate: 0.02, MaxDepth: 3, MinLeafRows: 5, Subsample: 0.7, ColSample: 0.5, Seed: 1}

// taskRows has the newest rows of a task, oldest first. Only Learner.Add sets the fields after rows.
type taskRows struct {
	key  sizing.TaskKey
	rows []Row
	runs int // number of successes, including those that rows no longer contains

	largestPeak float64      // largest peak of a success, in bytes
	requested   sizing.Bytes // of the first success
	exceeded    bool         // the first success exceeded its request; true without a request
	first       Row          // first success

	ratio float64 // log of the largest share of its request that a run used; -Inf: unknown
}

// Learner learns from the rows of a namespace in order of time. It is not safe for concurrent use.
type Learner struct {
	tasks          map[sizing.TaskKey]*taskRows
	order          []*taskRows                           // by first success
	largestPeak    float64                               // largest peak of a success, in bytes
	largestRequest sizing.Bytes                          // largest request of a first success
	requests       int                                   // number of tasks whose first success has a request
	exceeded       int                                   // number of these tasks whose first peak exceeded the request
	runs           int                                   // number of successes
	kills          int                                   // number of kills
	fittedAt       int                                   // value of runs at the last fit
	fittedKills    int                                   // value of kills at the last fit
	firstRuns      firstRunKills                         // promises for the newest first successes, and the kills that the answers of the model would have caused
	current        *Model                                // nil while too few tasks or runs are known
	errors         []unseenError                         // errors on unseen tasks, oldest first
	pending        map[sizing.TaskKey]int                // by task whose first runs were all killed: the index of its error in errors
	widening       widening                              // factors on the errors of the current model for tasks with a new DAG or name
	tested         widening                              // the factors that follow from the last cross-validation
	answers        map[sizing.TaskKey]hypotheticalAnswer // what the model would have answered for the first success of each known task
	dags           map[string]*dagState                  // nil: Add fits no models of DAGs
}

// unseenError is the error, log(peak) − level, of the predicted log peak (level) of the first run of a
// task. After a kill it is a lower bound. The first success of the task replaces it, even if this is the success of another run.
type unseenError struct {
	error, level float64
	novelty      novelty
}

// NewLearner returns an empty Learner.
func NewLearner() *Learner {
	l := newLearner()
	l.dags = map[string]*dagState{}
	return l
}

// newLearner returns a Learner whose method Add fits no models of DAGs.
func newLearner() *Learner {
	return &Learner{tasks: map[sizing.TaskKey]*taskRows{}, pending: map[sizing.TaskKey]int{}, answers: map[sizing.TaskKey]hypotheticalAnswer{}}
}

// Model returns the current model; nil while too few tasks or runs are known. The model is immutable.
func (l *Learner) Model() *Model {
	if len(l.dags) < 2 {
		return l.current
	}
	return l.withDAGs()
}

// Fit learns rows in order of time and returns a model of all rows; nil if there are too few tasks or runs. It completes the
// metadata of rows in place.
func Fit(rows []Row) *Model {
	l := newLearner()
	completeMetadata(rows)
	for i := range rows {
		l.Add(rows[i])
	}
	if len(l.order) >= MinTasks && l.runs > l.fittedAt {
		l.fit()
	}
	if l.current == nil {
		return nil
	}
	published := l.current.withTasks(l)
	published.RunTimes, published.dags = fitRunTimes(rows), l.fitDAGs()
	return published.learnPending(rows, l)
}

// completeMetadata gives a row without metadata the metadata of the next row of the same task that has
// some, because the report of a kill often has none.
func completeMetadata(rows []Row) {
	next := map[sizing.TaskKey]sizing.Metadata{}
	for i := len(rows) - 1; i >= 0; i-- {
		if r := &rows[i]; len(r.Metadata) > 0 {
			next[r.Task] = r.Metadata
		} else {
			r.Metadata = next[r.Task]
		}
	}
}

// Add learns a row in order of time. The kill of an unseen task, which has no success yet, changes the errors; the kill of a
// known task does not. Every kill counts in isFitDue.
func (l *Learner) Add(r Row) {
	if !(r.Peak > 0) {
		return
	}
	task := l.tasks[r.Task]
	isNew := task == nil
	if isNew {
		if !r.Killed {
			answer := l.current.sizeFirst(&r)
			l.answers[r.Task] = answer
			l.firstRuns.add(&answer, r.Peak)
		}
		l.recordError(&r)
	}
	if r.Killed {
		l.kills++
		if l.dags != nil && l.isFitDue() {
			l.fit()
		}
		return
	}
	l.largestPeak = max(l.largestPeak, r.Peak)
	if isNew {
		task = &taskRows{key: r.Task, first: r, ratio: math.Inf(-1), requested: r.Requested.Memory}
		task.exceeded = r.Peak > float64(task.requested)
		l.compareRequest(task)
		l.tasks[r.Task] = task
		l.order = append(l.order, task)
		if len(l.order) > maxTasks {
			delete(l.tasks, l.order[0].key)
			delete(l.answers, l.order[0].key)
			l.order = slices.Delete(l.order, 0, 1)
		}
	}
	task.rows = append(task.rows, r)
	if len(task.rows) > RowsPerTask {
		task.rows = slices.Delete(task.rows, 0, 1)
	}
	if r.Requested.Memory > 0 {
		task.ratio = max(task.ratio, math.Log(r.Peak/float64(r.Requested.Memory)))
	}
	task.largestPeak = max(task.largestPeak, r.Peak)
	task.runs++
	l.runs++
	switch {
	case l.isFitDue():
		l.fit()
	case !l.hasTrees() && len(l.order) >= minRatioTasks && l.runs >= MinSuccesses:
		l.current = (&Model{}).withErrors(nil, l)
	}
	if l.dags != nil {
		l.learnDAG(r.Task.DAG, isNew)
	}
}

// isFitDue reports whether there are at least MinTasks tasks, and the number of successes or, in a learner with models of
// DAGs, of kills has grown by the share RefitGrowth since the last fit.
func (l *Learner) isFitDue() bool {
	grown := float64(l.runs) >= float64(l.fittedAt)*(1+RefitGrowth) || l.dags != nil && float64(l.kills) > float64(l.fittedKills)*(1+RefitGrowth)
	return len(l.order) >= MinTasks && grown
}

func (l *Learner) hasTrees() bool { return l.current != nil && l.current.trees != nil }

func (l *Learner) compareRequest(t *taskRows) {
	if t.requested > 0 {
		l.largestRequest = max(l.largestRequest, t.requested)
		l.requests++
		if t.exceeded {
			l.exceeded++
		}
	}
}

// recordError records the error of a run of a task without a success (see unseenError), and updates the errors of the model.
func (l *Learner) recordError(r *Row) {
	i, isPending := l.pending[r.Task]
	if isPending && i < len(l.errors) {
		e := &l.errors[i]
		if e.error = max(e.error, math.Log(r.Peak)-e.level); !r.Killed {
			e.error = math.Log(r.Peak) - e.level
		}
	} else if l.hasTrees() && (!l.current.byRequest || r.Requested.Memory > 0) {
		level := l.current.level(&r.Facts)
		l.errors = append(l.errors, unseenError{math.Log(r.Peak) - level, level, l.current.novelty(&r.Task)})
		if r.Killed {
			l.pending[r.Task] = len(l.errors) - 1
		}
		if len(l.errors) > 2*maxErrors {
			l.errors = slices.Delete(l.errors, 0, maxErrors)
			clear(l.pending)
		}
	}
	if !r.Killed {
		delete(l.pending, r.Task)
	}
	switch {
	case !l.hasTrees():
	case l.usesUnseenErrors():
		l.current = l.current.withErrors(l.weightUnseenErrors(), l)
	default:
		l.current = l.current.withErrors(slices.Clone(l.current.errors), l)
	}
}

func (l *Learner) usesUnseenErrors() bool { return len(l.errors) >= minUnseenErrors }

// weightUnseenErrors returns the newest errors on unseen tasks, weighted by recency, and sets l.widening from them.
func (l *Learner) weightUnseenErrors() []weightedError {
	newest := l.errors[max(0, len(l.errors)-maxErrors):]
	weighted := make([]weightedError, len(newest))
	var byNovelty [novelties][]weightedError // not weighted by recency, because new DAGs and names can be rare
	for i, e := range newest {
		weighted[i] = weightedError{e.error, math.Exp2(-float64(len(newest)-1-i) / errorsHalfLife)}
		byNovelty[e.novelty] = append(byNovelty[e.novelty], weightedError{e.error, 1})
	}
	l.widening = wideningOf(weighted, &byNovelty, l.tested)
	return weighted
}

// fit fits the trees on all tasks. While few errors on unseen tasks are recorded, it uses the errors
// of a cross-validation over whole tasks, which also decides whether the trees predict the peak or its ratio to the request.
func (l *Learner) fit() {
	l.fittedAt, l.fittedKills = l.runs, l.kills
	var errors []weightedError
	byRequest := l.hasTrees() && l.current.byRequest && l.allRequest()
	if l.usesUnseenErrors() {
		errors = l.weightUnseenErrors()
	} else {
		var unseen []unseenTask
		unseen, byRequest = l.chooseTarget()
		errors = errorsOf(unseen)
		novel := byNovelty(slices.Concat(unseen, crossValidateNew(l.order, byRequest)))
		l.tested = wideningOf(errors, &novel, widening{})
		l.widening = l.tested
		l.evaluateTrees(unseen)
	}
	m, err := fitTrees(l.order, byRequest)
	if err != nil {
		return // no fit is possible, and the previous model stays in use
	}
	l.current = m.withErrors(errors, l)
}

// unseenTask is a task with a model that was fitted without it, and the errors of this model on its rows.
type unseenTask struct {
	*taskRows
	model  *Model          // without a distribution of errors (see withErrors); one model for each fold
	errors []weightedError // all tasks have the same weight
}

// crossValidate returns the tasks, ordered by folds, with models that were fitted without the fold; nil if a fit fails.
func crossValidate(tasks []*taskRows, byRequest bool) []unseenTask {
	return holdOut(tasks, byRequest, func(t *taskRows, fold int) bool { return foldOf(t.key, folds) == fold })
}

// holdOut is like crossValidate, but `isIn` decides which tasks are in a fold. A task can be in several folds.
func holdOut(tasks []*taskRows, byRequest bool, isIn func(t *taskRows, fold int) bool) (found []unseenTask) {
	for fold := range folds {
		var training, unseen []*taskRows
		for _, t := range tasks {
			if isIn(t, fold) {
				unseen = append(unseen, t)
			} else {
				training = append(training, t)
			}
		}
		if len(unseen) == 0 || len(training) == 0 {
			continue
		}
		m, err := fitTrees(training, byRequest)
		if err != nil {
			return nil
		}
		for _, t := range unseen {
			errors := make([]weightedError, len(t.rows))
			for i := range t.rows {
				errors[i] = weightedError{math.Log(t.rows[i].Peak) - m.level(&t.rows[i].Facts), 1 / float64(len(t.rows))}
			}
			found = append(found, unseenTask{t, m, errors})
		}
	}
	return found
}

func errorsOf(tasks []unseenTask) (errors []weightedError) {
	for i := range tasks {
		errors = append(errors, tasks[i].errors...)
	}
	return errors
}

// fitTrees fits the trees on all rows of the tasks. It uses ordered target statistics: a task is encoded before the
// statistics learn the task. As in CatBoost (Prokhorenkova et al. 2018), the order is a permutation. In order of arrival the
// first task of each DAG would be its root task, and the trees would learn that each task of an unknown DAG is like a root
// task.
func fitTrees(tasks []*taskRows, byRequest bool) (*Model, error) {
	tasks = permuted(tasks, 0)
	e := newEncoder(tasks, byRequest)
	rows := 0
	for _, t := range tasks {
		rows += len(t.rows)
		for i := range t.rows {
			e.Mean += e.target(&t.rows[i]) / float64(len(t.rows)) / float64(len(tasks))
		}
	}
	data := &table.Table{Names: make([]string, e.columns()), X: make([]float64, 0, rows*e.columns())}
	for _, t := range tasks {
		weight := 1 / math.Sqrt(float64(len(t.rows)))
		for i := range t.rows {
			data.X = e.encode(&t.rows[i].Facts, data.X)
			data.Y, data.W = append(data.Y, e.target(&t.rows[i])), append(data.W, weight)
		}
		e.learn(t)
	}
	trees, err := gbt.FitRegression(data, nil, treeConfig)
	return &Model{encoder: *e, trees: trees, Tasks: len(tasks)}, err
}

// permuted returns the tasks in a random order that follows only from their names and `order`, so that another order of
// arrival gives the same trees.
func permuted[T interface{ randomKey(order uint64) uint64 }](tasks []T, order uint64) []T {
	tasks = slices.Clone(tasks)
	slices.SortStableFunc(tasks, func(a, b T) int { return cmp.Compare(a.randomKey(order), b.randomKey(order)) })
	return tasks
}

// randomKey returns a random number that follows only from the name of a task and `order`. The last steps of SplitMix64 (Steele
// et al. 2014) mix the hash, because the hashes of similar names are similar.
func (t *taskRows) randomKey(order uint64) uint64 {
	h := hashOfTask(t.key) + order*0x9E3779B97F4A7C15
	h = (h ^ h>>30) * 0xBF58476D1CE4E5B9
	h = (h ^ h>>27) * 0x94D049BB133111EB
	return h ^ h>>31
}
