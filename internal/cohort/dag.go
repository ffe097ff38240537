package cohort

import (
	"maps"
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The DAGs of a namespace may have little in common: in one of them tasks stay within their
// requests, in another a request says nothing. So each DAG with enough tasks also gets a model of its
// tasks alone. The model of a DAG answers first if its errors on these tasks are smaller than those that the model
// of the namespace had before it learned the tasks, or if the trees of the namespace cannot answer.

const (
	maxDAGs        = 64 // largest number of DAGs with a model of their own in a model by Fit: those with most tasks
	minComparisons = 3  // smallest number of tasks of a DAG on which the two models are compared
)

// dagState is what a Learner knows about one DAG.
type dagState struct {
	tasks, runs             int    // numbers of tasks with a success, and of successes
	fittedTasks, fittedRuns int    // the same at the last fit
	model                   *Model // nil before the first fit
}

// hashOfDAG returns the hash by which a model knows a DAG.
func hashOfDAG(dag string) uint64 { return hashOf(dagID, dag) }

// learnDAG counts a success. With at least MinTasks tasks in the DAG, it fits the model of the DAG again if the
// number of successes in the DAG has grown by the share RefitGrowth since the last fit; with fewer, if the DAG has a new
// task. It fits no model while there is only one DAG, or while the DAG has fewer than minRatioTasks tasks.
func (l *Learner) learnDAG(dag string, isNewTask bool) {
	s := l.dags[dag]
	if s == nil {
		s = &dagState{}
		l.dags[dag] = s
	}
	s.runs++
	if isNewTask {
		s.tasks++
	}
	if len(l.dags) < 2 || s.tasks < minRatioTasks {
		return
	}
	isDue := s.tasks > s.fittedTasks // without trees a fit is cheap
	if s.tasks >= MinTasks {
		isDue = float64(s.runs) >= float64(s.fittedRuns)*(1+RefitGrowth)
	}
	if isDue {
		s.fittedTasks, s.fittedRuns = s.tasks, s.runs
		s.model = l.fitDAG(dag)
	}
}

// withDAGs returns a copy of the current model with the current models of the DAGs.
func (l *Learner) withDAGs() *Model {
	if l.current == nil {
		return nil
	}
	updated := *l.current
	updated.dags = map[uint64]*Model{}
	for dag, s := range l.dags {
		if s.model != nil {
			updated.dags[hashOfDAG(dag)] = s.model
		}
	}
	return &updated
}

// fitDAGs returns the models of the DAGs with most tasks; none if there is only one DAG.
func (l *Learner) fitDAGs() map[uint64]*Model {
	tasks := map[string]int{}
	for _, t := range l.order {
		tasks[t.key.DAG]++
	}
	if len(tasks) < 2 {
		return nil
	}
	maps.DeleteFunc(tasks, func(_ string, n int) bool { return n < minRatioTasks })
	models := map[uint64]*Model{}
	for _, dag := range mostFrequent(tasks, maxDAGs) {
		if m := l.fitDAG(dag); m.canAnswer() { // earlier releases cannot open a model that cannot answer
			models[hashOfDAG(dag)] = m
		}
	}
	return models
}

// fitDAG returns the model of one DAG. It has trees only if it answers first.
func (l *Learner) fitDAG(dag string) *Model {
	own := l.restrictTo(dag)
	if len(own.order) >= MinTasks {
		own.fit()
	}
	var squares map[sizing.TaskKey]float64
	if own.hasTrees() {
		squares = own.treeSquares()
	} else {
		squares = own.ratioSquares()
	}
	answersFirst := isBetter(own.order, squares)
	if !own.hasTrees() || !answersFirst {
		own.current = (&Model{}).withErrors(nil, own)
	}
	m := own.current.withTasks(own)
	m.ofDAG, m.answersFirst = true, answersFirst
	return m
}

// canAnswer reports whether the model has trees or enough tasks with a request.
func (m *Model) canAnswer() bool { return m.trees != nil || m.ratios.Tasks >= minRatioTasks }

// isBetter reports whether squares, the squared errors of a DAG's model by task, are smaller than those of
// the namespace's model on the newer half of the tasks. It is false if fewer than minComparisons of these tasks have
// both errors. The older half does not count, because the namespace's model had learned little when it predicted this half.
func isBetter(tasks []*taskRows, squares map[sizing.TaskKey]float64) bool {
	namespace, own, n := 0.0, 0.0, 0
	for _, t := range tasks[len(tasks)/2:] {
		if square, ok := squares[t.key]; ok && !math.IsNaN(t.unseen) {
			namespace, own, n = namespace+t.unseen*t.unseen, own+square, n+1
		}
	}
	return n >= minComparisons && own < namespace
}

// restrictTo returns a learner of the tasks of one DAG, without a model.
func (l *Learner) restrictTo(dag string) *Learner {
	own := newLearner()
	for _, t := range l.order {
		if t.key.DAG != dag {
			continue
		}
		own.tasks[t.key] = t
		own.order = append(own.order, t)
		own.runs += t.runs
		own.largest = max(own.largest, t.largest)
		own.compareRequest(t)
	}
	return own
}

// treeSquares returns for each task the mean squared error of trees that were fitted without the task;
// nil if a fit fails.
func (l *Learner) treeSquares() map[sizing.TaskKey]float64 {
	found := make(map[sizing.TaskKey]float64, len(l.order))
	err := eachUnseen(l.order, l.current.byRequest, func(t *taskRows, errors []weightedError) {
		found[t.key] = squares(errors)
	})
	if err != nil {
		return nil
	}
	return found
}

// ratioSquares returns for each task with a request the squared error of the mean log ratio of the
// other tasks.
func (l *Learner) ratioSquares() map[sizing.TaskKey]float64 {
	found := make(map[sizing.TaskKey]float64, len(l.order))
	all := l.ratios()
	n := float64(all.Tasks)
	for _, t := range l.order {
		if n > 1 && !math.IsInf(t.ratio, -1) {
			off := (t.ratio - all.Mean) * n / (n - 1) // from the mean without the task
			found[t.key] = off * off
		}
	}
	return found
}

// of returns the model of a task's DAG; nil if there is none. It is valid for a nil model.
func (m *Model) of(task *sizing.TaskKey) *Model {
	if m == nil || m.dags == nil {
		return nil
	}
	return m.dags[hashOfDAG(task.DAG)]
}

// first returns the model that answers first for a task. It is valid for a nil model.
func (m *Model) first(task *sizing.TaskKey) *Model {
	if own := m.of(task); own != nil && own.answersFirst {
		return own
	}
	return m
}

// learnDAG returns a model whose model of the row's DAG has learned the row, or m itself if the row
// changes nothing; see Learn.
func (m *Model) learnDAG(r *Row, level float64) *Model {
	own := m.of(&r.Task)
	if own == nil {
		return m
	}
	learned := own.learnRun(r, level)
	if learned == own {
		return m
	}
	updated := *m
	updated.dags = maps.Clone(m.dags)
	updated.dags[hashOfDAG(r.Task.DAG)] = learned
	return &updated
}
