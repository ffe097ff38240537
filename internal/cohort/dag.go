package cohort

import (
	"maps"

	"github.com/loadaware/loadaware/internal/sizing"
)

// The DAGs of a namespace may have little in common: in one of them tasks stay within their
// requests, in another a request says nothing. So each DAG with enough tasks also gets a model of its
// tasks alone. The model of a DAG answers first if its answers for these tasks would have cost less and been
// closer to the peaks than those of the model of the namespace (see isBetter), or if the trees of the namespace
// cannot answer. Both answers come from models that have not learned the task; see hypotheticalAnswer.

const (
	maxDAGs        = 64 // Fit fits models of at most this many single DAGs: those with the most tasks
	minComparisons = 3  // smallest number of newer tasks of a DAG on which the two models are compared; see isBetter
)

type dagState struct {
	tasks, runs             int    // numbers of tasks with a success, and of successes
	fittedTasks, fittedRuns int    // the same at the last fit
	model                   *Model // nil before the first fit
}

// hashOfDAG is the key of a DAG in Model.dags.
func hashOfDAG(dag string) uint64 { return hashOf(dagID, dag) }

// learnDAG counts a success. A DAG with at least MinTasks tasks gets a new model when its successes have grown by the share
// RefitGrowth since the last fit, and a smaller DAG for each new task. The only DAG, and a DAG with fewer than
// minRatioTasks tasks, get no model.
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

// fitDAGs returns the models of the DAGs with the most tasks; none if there is only one DAG.
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

// fitDAG returns the model of a DAG. It has trees only if it answers first.
func (l *Learner) fitDAG(dag string) *Model {
	own := l.restrictTo(dag)
	if len(own.order) >= MinTasks {
		own.fit()
	}
	if !own.hasTrees() {
		own.evaluateRatios()
	}
	answersFirst := isBetter(own, l)
	if !own.hasTrees() || !answersFirst {
		own.current = (&Model{}).withErrors(nil, own)
	}
	m := own.current.withTasks(own)
	m.ofDAG, m.answersFirst = true, answersFirst
	return m
}

func (m *Model) canAnswer() bool { return m.trees != nil || m.ratios.Tasks >= minRatioTasks }

// isBetter compares the answers of a DAG's learner and of the namespace's learner for the DAG's tasks. Those of the DAG are
// better if they would have cost less, and would have been closer to the peaks of the newer half of the tasks. The cost
// alone is too optimistic: in the cross-validation, the trees that answer for an older task have learned newer tasks.
// isBetter is false if fewer than minComparisons tasks of the newer half have both answers.
func isBetter(own, namespace *Learner) bool {
	var ofOwn, ofNamespace, newerOfOwn, newerOfNamespace answerTotals
	for i, t := range own.order {
		a, b := own.answers[t.key], namespace.answers[t.key]
		if a.limit == 0 || b.limit == 0 {
			continue
		}
		ofOwn.add(a, t.first.Peak)
		ofNamespace.add(b, t.first.Peak)
		if i >= len(own.order)/2 {
			newerOfOwn.add(a, t.first.Peak)
			newerOfNamespace.add(b, t.first.Peak)
		}
	}
	return newerOfOwn.tasks >= minComparisons && newerOfOwn.squares < newerOfNamespace.squares && ofOwn.cost() < ofNamespace.cost()
}

func (l *Learner) restrictTo(dag string) *Learner {
	return l.subset(func(t *taskRows) bool { return t.key.DAG == dag })
}

// modelOfDAG returns the model of a task's DAG; nil if there is none. m may be nil.
func (m *Model) modelOfDAG(task *sizing.TaskKey) *Model {
	if m == nil || m.dags == nil {
		return nil
	}
	return m.dags[hashOfDAG(task.DAG)]
}

// firstModel returns the model that answers first for a task. m may be nil.
func (m *Model) firstModel(task *sizing.TaskKey) *Model {
	if own := m.modelOfDAG(task); own != nil && own.answersFirst {
		return own
	}
	return m
}

// learnDAG returns a copy of m in which the model of the row's DAG has learned the row, or m itself if the row
// changes nothing; see Learn.
func (m *Model) learnDAG(r *Row, level float64) *Model {
	own := m.modelOfDAG(&r.Task)
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
