package backtest

import (
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
)

// ledger adds up the cost of one policy's answers per task and in total.
type ledger struct {
	tasks map[sizing.TaskKey]*account
}

func newLedger() *ledger { return &ledger{tasks: map[sizing.TaskKey]*account{}} }

// account holds the sums over a task's rows. used and wasted are in byte-seconds.
type account struct {
	task               sizing.TaskKey
	rows, killed       int
	tries, gaveUp      int
	used, wasted       float64
	promises, survived int // first tries with a promised risk, and those that were not killed
	promised           float64
}

// entry accumulates the tries of one row.
type entry struct {
	task     sizing.TaskKey
	tries    int
	wasted   float64
	ok       bool
	gaveUp   bool
	promised *float64
}

func (l *ledger) open(task sizing.TaskKey) *entry { return &entry{task: task} }

func (e *entry) promise(risk *float64) { e.promised = risk }

func (e *entry) giveUp() { e.gaveUp = true }

// attempt adds one try. A killed try wastes its whole allocation until the kill; a
// success wastes the allocation above its peak.
func (e *entry) attempt(o *Outcome) {
	e.tries++
	e.ok = !o.Killed
	e.wasted += float64(o.Allocated-o.Peak) * o.Duration.Seconds()
}

func (l *ledger) close(e *entry, r *row) {
	a := l.tasks[e.task]
	if a == nil {
		a = &account{task: e.task}
		l.tasks[e.task] = a
	}
	killed := e.tries > 1 || !e.ok
	a.rows++
	a.tries += e.tries
	a.used += float64(r.MemoryMax) * r.Duration.Seconds()
	a.wasted += e.wasted
	a.killed += count(killed)
	a.gaveUp += count(e.gaveUp)
	if e.promised != nil {
		a.promises++
		a.promised += *e.promised
		a.survived += count(!killed)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// add adds the sums of b to a.
func (a *account) add(b *account) {
	a.rows += b.rows
	a.killed += b.killed
	a.tries += b.tries
	a.gaveUp += b.gaveUp
	a.used += b.used
	a.wasted += b.wasted
	a.promises += b.promises
	a.survived += b.survived
	a.promised += b.promised
}

// result converts the sums to figures, with tasks sorted by descending use.
func (l *ledger) result(policy string) Result {
	accounts := make([]*account, 0, len(l.tasks))
	for _, a := range l.tasks {
		accounts = append(accounts, a)
	}
	slices.SortFunc(accounts, byUse)
	var all account
	for _, a := range accounts {
		all.add(a)
	}
	res := Result{Policy: policy, Figures: all.figures(), WorstHeavy: worstHeavy(accounts, &all)}
	for _, a := range accounts {
		res.Tasks = append(res.Tasks, TaskFigures{Task: a.task.String(), Figures: a.figures()})
	}
	return res
}
