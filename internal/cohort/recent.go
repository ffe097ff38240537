package cohort

import (
	"maps"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// A published model, which a training has stored and the replicas use, learns the first runs of tasks that
// it has not seen: a kill among them raises the margin of the next new task before the next training. The
// errors, the ratios of peaks to requests and the largest amounts change. The trees and the target statistics
// wait for the training.
//
// A Model also holds models of single DAGs (see dag.go), which learn the runs of their DAG in the same way. For
// some tasks the model of the DAG answers first, for others the model of the namespace; see Model.firstModel.

// recentTasks holds the tasks that are not new to a published model.
type recentTasks struct {
	learned map[uint64]struct{}  // hashes of the tasks with a success in the training; shared by copies
	added   map[uint64]struct{}  // hashes of the tasks with a success since then
	killed  map[uint64]killedRun // first runs that were killed and have not succeeded
}

// killedRun is the entry of a killed first run among the errors.
type killedRun struct {
	_     struct{} `cbor:",toarray"`
	Error float64  // a lower bound of log(peak) − Level
	Level float64  // predicted log peak
}

// maxRecent bounds recentTasks.added and recentTasks.killed. If one of them is full, the model learns no more.
const maxRecent = 512

// hashOfTask is the hash by which recentTasks knows a task.
func hashOfTask(task sizing.TaskKey) uint64 { return hashOf(task.DAG, task.Task) }

// withTasks returns a copy of m that is ready to learn the first runs of tasks other than those of l.
func (m *Model) withTasks(l *Learner) *Model {
	recent := &recentTasks{learned: make(map[uint64]struct{}, len(l.tasks)), killed: map[uint64]killedRun{}}
	for task := range l.tasks {
		recent.learned[hashOfTask(task)] = struct{}{}
	}
	for task, i := range l.pending {
		if i < len(l.errors) && l.usesUnseenErrors() {
			recent.killed[hashOfTask(task)] = killedRun{Error: l.errors[i].error, Level: l.errors[i].level}
		}
	}
	updated := *m
	updated.recent = recent
	return &updated
}

// learnPending returns a model that has learned the pending kills of l: the first runs that were killed and have not
// succeeded yet. If the training used the errors on unseen tasks, m knows these kills already. Errors of a cross-validation,
// such as all errors of a DAG's trees, come from successes only.
func (m *Model) learnPending(rows []Row, l *Learner) *Model {
	for i := range rows {
		if _, isPending := l.pending[rows[i].Task]; isPending && rows[i].Killed {
			m = m.Learn(&rows[i], math.NaN())
		}
	}
	return m
}

// Level predicts the log peak of a task without history by the trees of the model that answers first; NaN if
// they cannot. It is valid for a nil model.
func (m *Model) Level(f *Facts) float64 { return m.firstModel(&f.Task).treeLevel(f) }

// treeLevel is Level by the trees of m itself.
func (m *Model) treeLevel(f *Facts) float64 {
	if m == nil || m.trees == nil || m.byRequest && f.Requested.Memory <= 0 {
		return math.NaN()
	}
	return m.level(f)
}

// Learn returns a model that has learned the first run of a task, or m itself if the run changes
// nothing. `level` is the log peak that Level predicted for the run; NaN if it is unknown. The model that answers
// first learns the error of level, and the other model learns the error of its own prediction. The same run changes
// nothing a second time. Learn returns nil for a nil model.
func (m *Model) Learn(r *Row, level float64) *Model {
	if m.firstModel(&r.Task) != m {
		return m.learnRun(r, math.NaN()).learnDAG(r, level)
	}
	return m.learnRun(r, level).learnDAG(r, math.NaN())
}

// learnRun is like Learn, but does not change the models of DAGs; see learnDAG.
func (m *Model) learnRun(r *Row, level float64) *Model {
	if m == nil || m.recent == nil || !(r.Peak > 0) || len(m.recent.added) >= maxRecent || len(m.recent.killed) >= maxRecent {
		return m
	}
	task := hashOfTask(r.Task)
	if m.recent.has(task) {
		return m
	}
	updated := *m
	if m.trees != nil {
		if !updated.learnError(task, r, level) {
			return m
		}
	} else if r.Killed {
		return m
	}
	if !r.Killed {
		updated.recent = m.recent.with(task)
		updated.LargestPeak = max(m.LargestPeak, r.Peak)
		if requested := r.Requested.Memory; requested > 0 {
			updated.LargestRequest = max(m.LargestRequest, requested)
			withRequest := float64(m.ratios.Tasks)
			updated.Exceeded = (m.Exceeded*withRequest + indicator(r.Peak > float64(requested))) / (withRequest + 1)
			updated.ratios.add(math.Log(r.Peak / float64(requested)))
		}
	}
	return &updated
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (t *recentTasks) has(task uint64) bool {
	_, learned := t.learned[task]
	_, added := t.added[task]
	return learned || added
}

func (t *recentTasks) with(task uint64) *recentTasks {
	next := *t
	next.added = maps.Clone(t.added)
	if next.added == nil {
		next.added = map[uint64]struct{}{}
	}
	next.added[task] = struct{}{}
	next.killed = maps.Clone(t.killed)
	delete(next.killed, task)
	return &next
}

// learnError adds the error of a first run, or replaces the error of an earlier kill of the same task. It reports whether
// the errors changed.
func (m *Model) learnError(task uint64, r *Row, level float64) bool {
	before, wasKilled := m.recent.killed[task]
	if wasKilled {
		level = before.Level
	} else if math.IsNaN(level) {
		level = m.treeLevel(&r.Facts)
	}
	now := math.Log(r.Peak) - level
	switch {
	case math.IsNaN(now) || math.IsInf(now, 0):
		return false
	case wasKilled && r.Killed && now <= before.Error:
		return false
	case wasKilled:
		m.replaceError(before.Error, now)
	default:
		m.addError(now)
	}
	if r.Killed {
		recent := *m.recent
		recent.killed = maps.Clone(recent.killed)
		recent.killed[task] = killedRun{Error: now, Level: level}
		m.recent = &recent
	}
	return true
}

func (m *Model) replaceError(before, now float64) {
	at, found := slices.BinarySearchFunc(m.errors, before, func(e weightedError, v float64) int {
		switch {
		case e.Error < v:
			return -1
		case e.Error > v:
			return 1
		}
		return 0
	})
	if !found {
		m.addError(now) // the training used newer errors only
		return
	}
	errors := slices.Clone(m.errors)
	weight := errors[at].Weight
	m.setErrors(insertError(slices.Delete(errors, at, at+1), weightedError{now, weight}))
}

// addError gives an error weight 1, the weight of the newest error in Learner.weightUnseenErrors, and reduces the other weights.
func (m *Model) addError(now float64) {
	errors := make([]weightedError, len(m.errors), len(m.errors)+1)
	for i, e := range m.errors {
		errors[i] = weightedError{e.Error, e.Weight * recencyDecay}
	}
	m.setErrors(insertError(errors, weightedError{now, 1}))
}

// recencyDecay is the factor on the weight of an error for each newer one.
var recencyDecay = math.Exp2(-1.0 / errorsHalfLife)

// insertError inserts an error, so that the list stays ascending.
func insertError(errors []weightedError, e weightedError) []weightedError {
	at, _ := slices.BinarySearchFunc(errors, e.Error, func(other weightedError, v float64) int {
		if other.Error < v {
			return -1
		}
		return 1
	})
	return slices.Insert(errors, at, e)
}
