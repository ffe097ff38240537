package modelcache

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// maxAmended bounds Task.amended. The next training learns the amending rows beyond this limit.
const maxAmended = 100

// emptyModel answers for every task without a model or an outline in memory. It is never changed. It is shared
// because an empty model takes about 26 kB, and most of 10,000 known tasks may have no rows.
var emptyModel = taskmodel.New()

// Task holds the model, the policy and the open tries of one task in memory. Callers of Model and
// Policy hold the read lock, so that the model does not learn while it computes an allocation.
type Task struct {
	Open inflight.OpenTries // the open tries, which the guard counts, and the unschedulable allocations

	key     sizing.TaskKey
	usedAt  atomic.Int64 // memory.clock at the last Cache.Get or refresh
	timeout atomic.Int64 // newest execution timeout of a try in nanoseconds; 0 if there is none
	sizeMu  sync.Mutex   // held from measuring the model until the size is recorded; locked before mu
	pool    *pool
	shapes  *shapes
	ref     atomic.Pointer[sizing.ModelRef] // nil if there is no active model, or if it is encoded
	encoded atomic.Pointer[encodedModel]    // nil if the model is decoded
	queue   learnQueue
	loadMu  sync.Mutex // held from reading the stored model until it is installed

	mu          sync.RWMutex
	model       *taskmodel.Model        // nil if the task has no rows or the model is encoded; see Model
	poolVersion uint64                  // version of the pool that the model uses
	lastSeq     int64                   // newest stored row that the model had when it was installed
	isLoading   bool                    // whether a refresh is reading the store
	tail        []taskmodel.TrainingRow // rows reported to this replica while isLoading, except those in amended
	amended     []taskmodel.TrainingRow // newest rows that add a peak to an earlier row; a loaded model may lack the peak
	outline     *taskmodel.Outline      // of the evicted model; nil if the model is not evicted
	policy      sizing.Policy
	isDeleted   bool // deleted or renamed: the task learns nothing more
}

// SetTimeout records the execution timeout of the newest predicted try.
func (t *Task) SetTimeout(d time.Duration) { t.timeout.Store(int64(d)) }

// Timeout returns the newest execution timeout that this replica received with a request for a prediction, or zero if
// there was none.
func (t *Task) Timeout() time.Duration { return time.Duration(t.timeout.Load()) }

// RLock locks t for reading. Predictions use RLockUpdated.
func (t *Task) RLock() { t.mu.RLock() }

// RLockUpdated updates the model to the newest pool of the DAG and the newest shapes of the
// namespace, and locks t for reading.
func (t *Task) RLockUpdated() {
	t.mu.RLock()
	if t.model == nil || t.poolVersion == t.pool.version.Load() && t.model.Shapes() == t.shapes.set() {
		return
	}
	t.mu.RUnlock()
	t.updateNow()
	t.mu.RLock()
}

// updateNow is updatePool for a caller without a lock.
func (t *Task) updateNow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.updatePool()
}

// RUnlock undoes RLock and RLockUpdated.
func (t *Task) RUnlock() { t.mu.RUnlock() }

// Model returns the model that computes allocations. The caller holds the read lock and only reads.
func (t *Task) Model() *taskmodel.Model {
	switch {
	case t.model != nil:
		return t.model
	case t.outline != nil && !t.IsDecoded():
		return t.outline.Model()
	}
	return emptyModel
}

// Shapes returns the shapes that the model uses, or the newest ones if the task has no model, and the
// classifier that predicts them. Both are nil if there is no classifier for these shapes. The caller holds the
// read lock.
func (t *Task) Shapes() (*taskmodel.Shapes, *cohort.Shapes) {
	l := t.shapes.loaded.Load()
	if l == nil || l.classifier == nil || t.model != nil && t.model.Shapes() != l.set {
		return nil, nil
	}
	return l.set, l.classifier
}

// Policy returns the policy as it was set, without defaults. The caller holds the read lock.
func (t *Task) Policy() sizing.Policy { return t.policy }

// Ref identifies the active model. It is nil if there is no active model, or if it is not decoded.
func (t *Task) Ref() *sizing.ModelRef { return t.ref.Load() }

// IsDecoded reports whether the model is decoded, or known not to exist.
func (t *Task) IsDecoded() bool { return t.encoded.Load() == nil }

// WillLearn reports whether the model is decoded and does not contain the row already: the row is newer than those that
// the last refresh read from the store. The caller holds the read lock.
func (t *Task) WillLearn(row *taskmodel.TrainingRow) bool {
	return t.IsDecoded() && row.Seq > t.lastSeq
}

func (t *Task) version() int {
	if e := t.encoded.Load(); e != nil {
		return int(e.version.Load())
	}
	if ref := t.ref.Load(); ref != nil {
		return ref.Version
	}
	return 0
}

// uses reports whether the stored model `m` is the model in use. The training time distinguishes
// versions of a task that was deleted and created again.
func (t *Task) uses(m *store.Model) bool {
	ref := t.ref.Load()
	return ref != nil && ref.Version == m.Version && ref.TrainedAt.Equal(m.TrainedAt)
}

func (t *Task) setPolicy(p sizing.Policy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.policy = p
}

// install puts a loaded model and its pool share into use. The model has learned the stored rows up to read.LastSeq; the
// newest of these rows are read.Rows. install first lets the model learn the rows of t.tail that it lacks. `share` is nil if
// the task has no active model.
func (t *Task) install(model *taskmodel.Model, read *sizing.History, ref *sizing.ModelRef, share *taskmodel.Pool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isDeleted {
		return
	}
	t.pool.set(t.key.Task, share)
	newer := t.tail[:0]
	for i := range t.tail {
		if row := t.tail[i]; !contains(read, &row) {
			newer = append(newer, row)
			model = learn(model, row)
		}
	}
	clear(t.tail[len(newer):])
	t.tail = newer
	t.amended = slices.DeleteFunc(t.amended, func(row taskmodel.TrainingRow) bool { return !learnAmended(model, row) })
	t.outline = nil
	t.model, t.lastSeq = model, read.LastSeq
	t.ref.Store(ref)
	t.encoded.Store(nil)
	t.updatePool()
}

func contains(read *sizing.History, row *taskmodel.TrainingRow) bool {
	return row.Seq <= read.LastSeq
}

// learn adds a row to a decoded model. During a refresh it also adds the row to the tail, because the refresh may have
// read the store before the row was committed. A model that was refreshed contains the rows up to t.lastSeq, so
// learn ignores such a row, unless the row amends another one.
//
// learn returns the error of the prediction for the row. ok is false if the model did not predict it, or if the row is not the
// one that the model learned last.
func (t *Task) learn(row taskmodel.TrainingRow) (e taskmodel.RunError, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(row)
	if t.model == nil {
		return e, false
	}
	return t.model.RunError(row.Run)
}

// add is learn without the error. The caller holds t.mu.
func (t *Task) add(row taskmodel.TrainingRow) {
	if t.isDeleted || row.Seq <= t.lastSeq && !row.Amends {
		return
	}
	if row.Amends {
		if len(t.amended) == maxAmended {
			t.amended = slices.Delete(t.amended, 0, maxAmended/2)
		}
		t.amended = append(t.amended, row)
		if t.IsDecoded() && learnAmended(t.model, row) {
			t.updatePool()
		}
		return
	}
	if t.isLoading {
		if len(t.tail) == maxTail {
			t.tail = t.tail[maxTail/2:]
		}
		t.tail = append(t.tail, row)
	}
	if !t.IsDecoded() {
		return
	}
	t.model = learn(t.model, row)
	t.updatePool()
}

// learnAmended lets a model learn a row that amends an earlier one, if the model has learned only the earlier row. It reports
// whether the model learned the row.
func learnAmended(m *taskmodel.Model, row taskmodel.TrainingRow) bool {
	if m == nil || !m.Awaits(row.Seq) {
		return false
	}
	m.Learn(row)
	return true
}

func learn(m *taskmodel.Model, row taskmodel.TrainingRow) *taskmodel.Model {
	if m == nil {
		m = taskmodel.New()
	}
	m.Learn(row)
	return m
}

func (t *Task) void(try *sizing.TryKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	isVoided := func(row taskmodel.TrainingRow) bool { return row.Run == try.Run() && row.Try == try.Number }
	t.tail, t.amended = slices.DeleteFunc(t.tail, isVoided), slices.DeleteFunc(t.amended, isVoided)
	if t.model != nil {
		t.model.Void(try.Run(), try.Number)
	}
}

// RenameRun changes the sizing.RunHash of a run in the state of the model; see taskmodel.Model.RenameRun.
func (t *Task) RenameRun(from, to uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.model != nil {
		t.model.RenameRun(from, to)
	}
}

// updatePool gives the model the newest pool of its DAG, and the newest statistics and shapes of its namespace.
// The caller holds t.mu.
func (t *Task) updatePool() {
	if t.model == nil {
		return
	}
	t.model.SetShapes(t.shapes.set())
	sum, others, version := t.pool.sumWith(t.key.Task, t.model.Pool())
	t.model.SetPool(&sum, others)
	t.poolVersion = version
}

// beginLoading makes learn collect rows that the store may not return, until endLoading.
func (t *Task) beginLoading() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.isLoading = true
}

func (t *Task) endLoading() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.isLoading, t.tail = false, nil
}

// evict replaces the model in memory by its outline. The next prediction decodes the stored model, which then learns the
// rows that arrived since its training.
func (t *Task) evict() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.model == nil || t.isDeleted {
		return
	}
	e := &encodedModel{}
	e.version.Store(int64(t.version()))
	t.outline = t.model.Outline()
	t.encoded.Store(e)
	t.ref.Store(nil)
	t.model = nil
}

func (t *Task) memoryBytes() int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.model == nil || t.isDeleted {
		return 0
	}
	return t.model.MemoryBytes()
}
