package service

import (
	"maps"
	"sync"
	"time"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// maxLifted bounds what is remembered of runs that were killed and never ended; beyond it
// the oldest is forgotten, which costs a read of the store, never an answer.
const maxLifted = 100_000

// runKey names what is lifted: one (run, map index) of a task.
type runKey struct {
	sizing.TaskKey
	run      string
	mapIndex int
}

func runOf(try sizing.TryKey) runKey { return runKey{try.TaskKey, try.RunID, try.MapIndex} }

// lifted is what is known of a run that was killed.
type lifted struct {
	killed   map[int]sizing.Bytes // by try number: what it had
	granted  sizing.Bytes         // what the last lift answered
	features sizing.Features      // of the run, where they are known
	terms    terms                // of the run, where they are known
	at       time.Time
}

// highest is the largest allocation that was not enough.
func (l lifted) highest() sizing.Bytes {
	var high sizing.Bytes
	for _, b := range l.killed {
		high = max(high, b)
	}
	return high
}

// tries remembers what was asked and what was killed. The zero value is ready.
type tries struct {
	mu     sync.Mutex
	asked  askedTries
	lifted map[runKey]lifted
}

// ask remembers an answer, and reports whether it is the try's first.
func (ts *tries) ask(try sizing.TryKey, a asked, features sizing.Features) (first bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.asked.put(&try, &a, features)
}

// restore remembers a stored answer to a try that was not reported, unless a newer one is
// remembered.
func (ts *tries) restore(task sizing.TaskKey, g *store.GrantedTry) {
	if g.Outcome != sizing.UnknownOutcome {
		return
	}
	try := sizing.TryKey{TaskKey: task, RunID: g.RunID, MapIndex: g.MapIndex, Number: g.Try}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if _, known := ts.asked.get(&try); !known {
		ts.asked.put(&try, &asked{limit: g.Limit, promised: g.Promised}, g.Features)
	}
}

// end forgets a try that has ended, and says what was answered.
func (ts *tries) end(try sizing.TryKey) (asked, bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	a, ok := ts.asked.get(&try)
	ts.asked.drop(&try)
	return a, ok
}

// answered says what a try was answered, if it has not ended.
func (ts *tries) answered(try sizing.TryKey) (asked, bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.asked.get(&try)
}

// features are those that a try was asked or reported with; nil if not known.
func (ts *tries) features(try sizing.TryKey) sizing.Features {
	if a, ok := ts.answered(try); ok {
		return a.features.read()
	}
	return ts.run(runOf(try)).features
}

// terms are those that a try was asked with, else those of its run.
func (ts *tries) terms(try sizing.TryKey) terms {
	a, _ := ts.answered(try)
	return a.terms.or(ts.run(runOf(try)).terms)
}

// kill remembers that a try died with less than it needed.
func (ts *tries) kill(try sizing.TryKey, had sizing.Bytes, features sizing.Features, said terms, at time.Time) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.lifted == nil {
		ts.lifted = map[runKey]lifted{}
	}
	key := runOf(try)
	l := ts.lifted[key]
	if l.killed == nil {
		l.killed = map[int]sizing.Bytes{}
	}
	l.killed[try.Number], l.at = had, at
	l.terms = said.or(l.terms)
	if features != nil {
		l.features = features
	}
	ts.lifted[key] = l
	if len(ts.lifted) > maxLifted {
		ts.forgetOldestRun()
	}
}

// forgetOldestRun makes room; it runs only when far too many runs never ended.
func (ts *tries) forgetOldestRun() {
	var oldest runKey
	var at time.Time
	for key, l := range ts.lifted {
		if at.IsZero() || l.at.Before(at) {
			oldest, at = key, l.at
		}
	}
	delete(ts.lifted, oldest)
}

// grant remembers what a lift answered, so that the next try's predict agrees.
func (ts *tries) grant(try sizing.TryKey, b sizing.Bytes) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	key := runOf(try)
	if l, ok := ts.lifted[key]; ok {
		l.granted = b
		ts.lifted[key] = l
	}
}

// knownRun is run, without an allocation where no kill is known.
func (ts *tries) knownRun(key runKey) lifted {
	ts.mu.Lock()
	_, known := ts.lifted[key]
	ts.mu.Unlock()
	if !known {
		return lifted{}
	}
	return ts.run(key)
}

// run says what is known of a run's kills.
func (ts *tries) run(key runKey) lifted {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	l := ts.lifted[key]
	// The map may grow while the caller reads: hand out a copy.
	killed := make(map[int]sizing.Bytes, len(l.killed))
	for number, had := range l.killed {
		killed[number] = had
	}
	l.killed = killed
	return l
}

// endRun forgets a run's kills: a success ends the lift.
func (ts *tries) endRun(try sizing.TryKey) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	delete(ts.lifted, runOf(try))
}

// forget takes back what was said of a try.
func (ts *tries) forget(try sizing.TryKey) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.asked.drop(&try)
	if l, ok := ts.lifted[runOf(try)]; ok {
		delete(l.killed, try.Number)
		if len(l.killed) == 0 {
			delete(ts.lifted, runOf(try))
		}
	}
}

// forgetTask takes back all that was said of a task.
func (ts *tries) forgetTask(task sizing.TaskKey) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.asked.dropTask(task)
	maps.DeleteFunc(ts.lifted, func(run runKey, _ lifted) bool { return run.TaskKey == task })
}
