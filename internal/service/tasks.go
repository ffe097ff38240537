package service

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/service/inflight"
	"github.com/loadaware/loadaware/internal/sizing"
)

// task is what is in memory of one task. Readers hold mu for reading, so that a
// model is never asked while it learns.
type task struct {
	loading  sync.Mutex // held while a model is read and put in place
	mu       sync.RWMutex
	model    *fitting.Model
	name     string // its task id
	pool     *pool
	follows  uint64 // version of the pool that the model follows
	open     inflight.OpenTries
	ref      atomic.Pointer[sizing.ModelRef] // nil: nothing published yet, or not open
	latent   atomic.Pointer[latent]          // nil: open
	loaded   int64                           // the newest row that model knew when it was loaded
	recent   []fitting.TrainingRow           // told here since then
	behind   behind                          // … and not learned yet
	policy   sizing.Policy
	unfitFor time.Duration // Config.UnfitFor
	gone     bool          // deleted or renamed: nothing is learned any more
}

// tasks is the map of all of them. The zero value is ready.
type tasks struct {
	mu       sync.RWMutex
	unfitFor time.Duration
	byName   map[sizing.TaskKey]*task
	pools    map[sizing.TaskKey]*pool // by DAG: the task is left empty
}

// find is nil where nothing is known.
func (ts *tasks) find(key sizing.TaskKey) *task {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	return ts.byName[key]
}

// get makes an empty task where nothing is known.
func (ts *tasks) get(key sizing.TaskKey) *task {
	if t := ts.find(key); t != nil {
		return t
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if t := ts.byName[key]; t != nil {
		return t
	}
	return ts.add(key)
}

// list is the task of which version is active; where nothing was heard of it here,
// that is all that is known.
func (ts *tasks) list(key sizing.TaskKey, version int) *task {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.byName[key]
	if t == nil {
		t = ts.add(key)
		t.latent.Store(&latent{})
	}
	if l := t.latent.Load(); l != nil && l.version.Swap(int64(version)) != int64(version) {
		t.pool.expire()
	}
	return t
}

// add makes an empty task. ts.mu is held.
func (ts *tasks) add(key sizing.TaskKey) *task {
	if ts.byName == nil {
		ts.byName, ts.pools = map[sizing.TaskKey]*task{}, map[sizing.TaskKey]*pool{}
	}
	t := &task{model: untaught, name: key.Task, pool: ts.poolOf(key), unfitFor: ts.unfitFor}
	ts.byName[key] = t
	return t
}

// poolOf is shared by the tasks of a DAG. ts.mu is held.
func (ts *tasks) poolOf(key sizing.TaskKey) *pool {
	key.Task = ""
	p := ts.pools[key]
	if p == nil {
		p = &pool{}
		ts.pools[key] = p
	}
	return p
}

func (ts *tasks) drop(key sizing.TaskKey) {
	ts.mu.Lock()
	t := ts.byName[key]
	delete(ts.byName, key)
	ts.mu.Unlock()
	// Nobody waits for one task's lock while holding that of them all: a task that
	// learns must hold up only its own answers.
	if t == nil {
		return
	}
	t.pool.reading.Lock()
	defer t.pool.reading.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
	t.pool.set(t.name, nil)
}

// expired lists one task of every DAG in use of which a share may have changed.
func (ts *tasks) expired() []sizing.TaskKey {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	var keys []sizing.TaskKey
	for key, p := range ts.pools {
		if p.expired() {
			keys = append(keys, key)
		}
	}
	return keys
}

// keys lists the tasks in memory.
func (ts *tasks) keys() []sizing.TaskKey {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	keys := make([]sizing.TaskKey, 0, len(ts.byName))
	for key := range ts.byName {
		keys = append(keys, key)
	}
	return keys
}

// models counts the tasks that have a published model.
func (ts *tasks) models() int {
	ts.mu.RLock()
	defer ts.mu.RUnlock()
	n := 0
	for _, t := range ts.byName {
		if t.version() > 0 {
			n++
		}
	}
	return n
}

// pool is that of a DAG; key.Task is ignored.
func (ts *tasks) pool(key sizing.TaskKey) *pool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.poolOf(key)
}
