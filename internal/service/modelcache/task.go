package modelcache

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// emptyModel answers for every task without a model of its own. It is never changed. A model
// takes 24 kB, and most of 10,000 known tasks may have no rows.
var emptyModel = taskmodel.New()

// Task is what is in memory of one task. Callers of Model and Policy hold its read lock, so
// that the model does not learn while it computes an allocation.
type Task struct {
	Open inflight.OpenTries

	name    string // task id
	pool    *pool
	ref     atomic.Pointer[sizing.ModelRef] // nil: nothing is published, or the model is encoded
	encoded atomic.Pointer[encodedModel]    // nil: the model is decoded
	queue   learnQueue
	loadMu  sync.Mutex // held from reading the stored model until it is installed

	mu          sync.RWMutex
	model       *taskmodel.Model        // nil: the task has no rows; Model returns emptyModel
	poolVersion uint64                  // version of the pool that the model uses
	lastSeq     int64                   // newest row that the model had when it was installed
	tail        []taskmodel.TrainingRow // newer rows, reported to this replica
	policy      sizing.Policy
	isDeleted   bool // deleted or renamed: the task learns nothing more
}

// RLock locks t for reading. Predictions use RLockUpdated.
func (t *Task) RLock() { t.mu.RLock() }

// RLockUpdated locks t for reading, after its model has taken over the newest pool of the DAG.
func (t *Task) RLockUpdated() {
	t.mu.RLock()
	if t.model == nil || t.poolVersion == t.pool.version.Load() {
		return
	}
	t.mu.RUnlock()
	t.mu.Lock()
	t.updatePool()
	t.mu.Unlock()
	t.mu.RLock()
}

// RUnlock undoes RLock and RLockUpdated.
func (t *Task) RUnlock() { t.mu.RUnlock() }

// Model returns the model that computes allocations. The caller holds the read lock and only reads.
func (t *Task) Model() *taskmodel.Model {
	if t.model == nil {
		return emptyModel
	}
	return t.model
}

// Policy returns the policy as it was set, without defaults. The caller holds the read lock.
func (t *Task) Policy() sizing.Policy { return t.policy }

// Ref identifies the published model; nil if none is published or decoded.
func (t *Task) Ref() *sizing.ModelRef { return t.ref.Load() }

// IsDecoded reports whether the published model, if there is one, is in use.
func (t *Task) IsDecoded() bool { return t.encoded.Load() == nil }

// WillLearn reports whether the model is decoded and does not contain the row yet. The caller
// holds the read lock.
func (t *Task) WillLearn(row *taskmodel.TrainingRow) bool {
	return t.IsDecoded() && row.Seq > t.lastSeq
}

// version returns the active version; 0 if none is published.
func (t *Task) version() int {
	if e := t.encoded.Load(); e != nil {
		return int(e.version.Load())
	}
	if ref := t.ref.Load(); ref != nil {
		return ref.Version
	}
	return 0
}

// uses reports whether the stored model m is in use. The training time distinguishes versions
// of a task that was deleted and created again.
func (t *Task) uses(m *store.Model) bool {
	ref := t.ref.Load()
	return ref != nil && ref.Version == m.Version && ref.TrainedAt.Equal(m.TrainedAt)
}

func (t *Task) setPolicy(p sizing.Policy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.policy = p
}

// install puts a loaded model in use that contains every row up to lastSeq, and its published
// pool share; nil if it is not published. The model first learns newer rows of the tail.
func (t *Task) install(model *taskmodel.Model, lastSeq int64, ref *sizing.ModelRef, share *taskmodel.Pool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isDeleted {
		return
	}
	t.pool.set(t.name, share)
	newer := t.tail[:0]
	for i := range t.tail {
		if row := t.tail[i]; row.Seq > lastSeq {
			newer = append(newer, row)
			model = learn(model, row)
		}
	}
	clear(t.tail[len(newer):])
	t.tail = newer
	t.model, t.lastSeq = model, lastSeq
	t.ref.Store(ref)
	t.encoded.Store(nil)
	t.updatePool()
}

// learn adds a row to the tail, and to the model if that is decoded. It ignores a row that the
// model already contains: a refresh may read the row before this call.
func (t *Task) learn(row taskmodel.TrainingRow) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isDeleted || row.Seq <= t.lastSeq && !row.Amends {
		return
	}
	if len(t.tail) == maxTail {
		t.tail = t.tail[maxTail/2:]
	}
	t.tail = append(t.tail, row)
	if !t.IsDecoded() {
		return
	}
	t.model = learn(t.model, row)
	t.updatePool()
}

// learn returns m after it learned row, or a new model with that row if m is nil.
func learn(m *taskmodel.Model, row taskmodel.TrainingRow) *taskmodel.Model {
	if m == nil {
		m = taskmodel.New()
	}
	m.Learn(row)
	return m
}

// void removes a voided report from the tail and from the lower bounds of the model.
func (t *Task) void(try *sizing.TryKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tail = slices.DeleteFunc(t.tail, func(row taskmodel.TrainingRow) bool {
		return row.Run == try.Run() && row.Try == try.Number
	})
	if t.model != nil {
		t.model.Void(try.Run(), try.Number)
	}
}

// updatePool gives the model the newest pool of its DAG. The caller holds t.mu.
func (t *Task) updatePool() {
	if t.model == nil {
		return
	}
	sum, version := t.pool.sumWith(t.name, t.model.Pool())
	t.model.SetPool(&sum)
	t.poolVersion = version
}
