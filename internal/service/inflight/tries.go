// Package inflight remembers tries between their prediction and their report: their answers, the
// OOM kills of their runs, and the open tries of each task. From the open tries the guard derives
// the factor by which it raises allocations.
package inflight

import (
	"cmp"
	"maps"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/service/packed"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// maxKilledRuns bounds the killed runs in memory. A run stays until its success is reported, a report shows that its DAG run
// was created again, its kills are voided, or its task is deleted. The kills of an evicted run are read from the store, and no
// prediction fails.
const maxKilledRuns = 100_000

// Answer is the allocation of a try that has not been reported yet.
type Answer struct {
	Limit    sizing.Bytes
	Largest  sizing.Bytes // the largest Limit of all answers to the try; Tries sets it
	Static   sizing.Bytes // the static grant of a try whose memory follows a plan; 0 for other tries
	Promised *float64     // the promised risk; nil if there is none
	Request  Request
	Level    float64   // log peak that the cohort (the model from similar tasks) predicted; 0 if the cohort did not answer
	RunScore float64   // see sizing.Observation.RunScore
	At       time.Time // of the answer

	IsRestored bool // the answer comes from the store, and Request is unknown
	features   packed.Reader
}

// Features decodes the features that the caller sent; nil if they are unknown.
func (a *Answer) Features() sizing.Features { return a.features.Features() }

// Request holds the static request and the cap of a caller. A zero field is unknown.
type Request struct {
	Resources sizing.Resources
	MaxMemory sizing.Bytes
}

// RequestOf returns the request of an ask.
func RequestOf(ask *sizing.Ask) Request {
	return Request{Resources: ask.Requested, MaxMemory: ask.MaxMemory}
}

// Or returns r with its unknown fields taken from `other`.
func (r Request) Or(other Request) Request {
	return Request{
		Resources: sizing.Resources{
			Memory: cmp.Or(r.Resources.Memory, other.Resources.Memory),
			CPU:    cmp.Or(r.Resources.CPU, other.Resources.CPU),
		},
		MaxMemory: cmp.Or(r.MaxMemory, other.MaxMemory),
	}
}

// FillIn sets the fields that an ask omits.
func (r Request) FillIn(ask *sizing.Ask) {
	all := RequestOf(ask).Or(r)
	ask.Requested, ask.MaxMemory = all.Resources, all.MaxMemory
}

type runKey struct {
	sizing.TaskKey
	runID    string
	mapIndex int
}

func runOf(try *sizing.TryKey) runKey { return runKey{try.TaskKey, try.RunID, try.MapIndex} }

// Run holds what this replica knows about a run that was OOM-killed.
type Run struct {
	Killed   map[int]sizing.Bytes // try number → killed allocation
	LiftedTo sizing.Bytes         // the limit of the newest lift; 0 if there is none, or if a kill of the run was voided after it
	Static   sizing.Bytes         // the static grant of a killed try whose memory followed a plan; 0: none or unknown
	features sizing.Features      // nil if unknown
	Request  Request              // the static request of the killed tries, and the cap of the newest of them
	RunScore float64              // of the newest lift of the run
	lastKill time.Time
}

// HighestKill returns the largest allocation that was killed.
func (r *Run) HighestKill() sizing.Bytes {
	var highest sizing.Bytes
	for _, allocated := range r.Killed {
		highest = max(highest, allocated)
	}
	return highest
}

// Tries holds the answers of in-flight tries and the kills of their runs. It is safe for
// concurrent use. The zero value is empty.
type Tries struct {
	mu      sync.Mutex
	answers answers
	killed  map[runKey]Run
}

// Add stores an answer, and reports whether it is the first answer to its try.
func (t *Tries) Add(try *sizing.TryKey, a *Answer, features sizing.Features) (isFirst bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answers.put(try, *a, features)
}

// Restore adds the stored answer to a try that was not reported, if Tries has no answer to this try.
func (t *Tries) Restore(task sizing.TaskKey, g *store.GrantedTry) {
	if g.Outcome != sizing.UnknownOutcome {
		return
	}
	try := sizing.TryKey{TaskKey: task, RunID: g.RunID, MapIndex: g.MapIndex, Number: g.Try}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.answers.get(&try); !known {
		a := Answer{Limit: g.Limit, Promised: g.Promised, RunScore: g.RunScore, At: g.At, IsRestored: true}
		if g.Planned {
			a.Static = g.Limit
		}
		t.answers.put(&try, a, g.Features)
	}
}

// End removes a try that has ended, and returns its answer.
func (t *Tries) End(try *sizing.TryKey) (Answer, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, ok := t.answers.get(try)
	t.answers.remove(try)
	return a, ok
}

// Find returns the answer of a try that has not ended.
func (t *Tries) Find(try *sizing.TryKey) (Answer, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answers.get(try)
}

// Features returns the features of an in-flight try. If they are unknown, it returns those of a killed try of the same run, or
// else of its first try, whose ladder may have sized this try. Unknown features are nil.
func (t *Tries) Features(try *sizing.TryKey) sizing.Features {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, _ := t.answers.get(try)
	if features := a.Features(); features != nil {
		return features
	}
	if features := t.killed[runOf(try)].features; features != nil {
		return features
	}
	first := *try
	first.Number = 1
	a, _ = t.answers.get(&first)
	return a.Features()
}

// RunScore returns the run score of the newest prediction for an in-flight try or, if there is none, of the newest lift of its
// run; otherwise zero.
func (t *Tries) RunScore(try *sizing.TryKey) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if a, ok := t.answers.get(try); ok {
		return a.RunScore
	}
	return t.killed[runOf(try)].RunScore
}

// Request returns the request of a try, completed by the request of its run. If the try has an answer, the cap is that of
// this answer, or none if the answer has none. Otherwise the cap is that of the run's newest kill.
func (t *Tries) Request(try *sizing.TryKey) Request {
	a, isAnswered := t.Find(try)
	request := a.Request.Or(t.Run(try).Request)
	if isAnswered {
		request.MaxMemory = a.Request.MaxMemory
	}
	return request
}

// AddKill records that a try was OOM-killed with an allocation, and the features and the request of its ask or report. Of
// several allocations of a try, the largest counts.
func (t *Tries) AddKill(try *sizing.TryKey, allocated sizing.Bytes, features sizing.Features, request Request, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.killed == nil {
		t.killed = map[runKey]Run{}
	}
	key := runOf(try)
	r := t.killed[key]
	if r.Killed == nil {
		r.Killed = map[int]sizing.Bytes{}
	}
	r.Killed[try.Number], r.lastKill = max(r.Killed[try.Number], allocated), at
	r.Request = Request{Resources: request.Or(r.Request).Resources, MaxMemory: request.MaxMemory}
	if features != nil {
		r.features = features
	}
	t.killed[key] = r
	if len(t.killed) > maxKilledRuns {
		t.evictOldestRun()
	}
}

func (t *Tries) evictOldestRun() {
	var oldest runKey
	var at time.Time
	for key, r := range t.killed {
		if at.IsZero() || r.lastKill.Before(at) {
			oldest, at = key, r.lastKill
		}
	}
	delete(t.killed, oldest)
}

// SetStatic records the static grant of a killed run whose memory followed a plan. It changes nothing if `static`
// is zero, or if Tries has no kill of the run.
func (t *Tries) SetStatic(try *sizing.TryKey, static sizing.Bytes) {
	if static > 0 {
		t.changeRun(try, func(r *Run) { r.Static = static })
	}
}

// SetLift records the limit and the run score of a lift, so that the prediction for the next try repeats the limit. The limit
// is zero in shadow mode. SetLift changes nothing if Tries has no kill of the run.
func (t *Tries) SetLift(try *sizing.TryKey, limit sizing.Bytes, runScore float64) {
	t.changeRun(try, func(r *Run) {
		r.RunScore = runScore
		if limit > 0 {
			r.LiftedTo = limit
		}
	})
}

func (t *Tries) changeRun(try *sizing.TryKey, change func(*Run)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := runOf(try)
	if r, ok := t.killed[key]; ok {
		change(&r)
		t.killed[key] = r
	}
}

// KilledRun is like Run, but returns the zero Run with a nil map if no kill of the run is known.
func (t *Tries) KilledRun(try *sizing.TryKey) Run {
	t.mu.Lock()
	_, known := t.killed[runOf(try)]
	t.mu.Unlock()
	if !known {
		return Run{}
	}
	return t.Run(try)
}

// Run returns the run of a try. The caller owns the result and may add kills to its map.
func (t *Tries) Run(try *sizing.TryKey) Run {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.killed[runOf(try)]
	killed := make(map[int]sizing.Bytes, len(r.Killed))
	maps.Copy(killed, r.Killed)
	r.Killed = killed
	return r
}

// EndRun removes the kills of a run that succeeded, or whose DAG run was deleted and created again.
func (t *Tries) EndRun(try *sizing.TryKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.killed, runOf(try))
}

// Void removes the answer and the kill of a try. With a kill it removes the limit of the run's lift, which may have been
// computed from this kill; the prediction for the next try computes a new lift from the remaining kills.
func (t *Tries) Void(try *sizing.TryKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers.remove(try)
	key := runOf(try)
	r := t.killed[key]
	if _, isKilled := r.Killed[try.Number]; !isKilled {
		return
	}
	delete(r.Killed, try.Number)
	if len(r.Killed) == 0 {
		delete(t.killed, key)
		return
	}
	r.LiftedTo = 0
	t.killed[key] = r
}

// RemoveTask removes all tries of a task.
func (t *Tries) RemoveTask(task sizing.TaskKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers.removeTask(task)
	maps.DeleteFunc(t.killed, func(run runKey, _ Run) bool { return run.TaskKey == task })
}

// Len returns the number of tries that have an answer and are not reported yet.
func (t *Tries) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.answers.len()
}
