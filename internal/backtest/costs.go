package backtest

import (
	"slices"

	"github.com/loadaware/loadaware/internal/ml/cost"
	"github.com/loadaware/loadaware/internal/sizing"
)

type policyCosts struct {
	tasks    map[sizing.TaskKey]*taskCosts
	promises []promise
}

func newPolicyCosts() *policyCosts { return &policyCosts{tasks: map[sizing.TaskKey]*taskCosts{}} }

// taskCosts has the sums over the rows of one task. A row is one run with all its tries.
type taskCosts struct {
	task               sizing.TaskKey
	number             int                 // the tasks are numbered in the order of their first rows
	replayed           int                 // number of rows, including those that do not count; see Config.Skip
	totals                                 // over all rows that count
	needed             float64             // byte-seconds of the peaks of all rows that count; the same for every policy
	tries, gaveUp      int                 // number of tries; number of rows that never succeeded
	promises, survived int                 // number of first tries with a promised risk; number of these tries that succeeded
	promised           float64             // sum of the promised risks
	causes             [causeCount]float64 // byte-seconds of wastage, by cause
	ages               [ageCount]totals    // by age group
}

// totals has sums over rows; used and wasted are in byte-seconds. A row that never succeeded has used nothing: as in the ledger
// of savings, only the peaks of successes count as used.
type totals struct {
	rows, killed int // number of rows; number of rows that were killed at least once
	used, wasted float64
}

func (s *totals) add(o *totals) {
	s.rows += o.rows
	s.killed += o.killed
	s.used += o.used
	s.wasted += o.wasted
}

type rowCosts struct {
	task      sizing.TaskKey
	tries     int
	wasted    float64             // byte-seconds
	causes    [causeCount]float64 // wasted, by cause
	succeeded bool                // the last try succeeded
	gaveUp    bool
	promised  *float64     // promised risk of the first try; nil: none
	limit     sizing.Bytes // limit of the first try
}

func (c *policyCosts) newRow(task sizing.TaskKey) *rowCosts { return &rowCosts{task: task} }

// attempt adds the costs of one try. `coldStart` is Answer.ColdStart of the answer that sized the try.
func (e *rowCosts) attempt(o *Outcome, coldStart bool) {
	e.tries++
	e.succeeded = !o.Killed
	wasted := cost.Wastage(float64(o.Allocated), float64(o.Peak), o.Duration.Seconds(), o.Killed)
	e.wasted += wasted
	e.causes[causeOf(o, coldStart)] += wasted
}

func (e *rowCosts) kills() int {
	if e.succeeded {
		return e.tries - 1
	}
	return e.tries
}

// add adds the costs of a row to those of its task. If the row does not count, add only increases the number of replayed rows,
// which determines the age group of later rows.
func (c *policyCosts) add(e *rowCosts, r *row, isCounted bool) {
	a := c.tasks[e.task]
	if a == nil {
		a = &taskCosts{task: e.task, number: len(c.tasks)}
		c.tasks[e.task] = a
	}
	before := a.replayed
	a.replayed++
	if !isCounted {
		return
	}
	killed := e.kills() > 0
	needed := float64(r.MemoryMax) * r.Duration.Seconds()
	s := totals{rows: 1, killed: count(killed), used: needed, wasted: e.wasted}
	if e.gaveUp {
		s.used = 0
	}
	a.needed += needed
	a.ages[ageGroupOf(before)].add(&s)
	a.totals.add(&s)
	a.tries += e.tries
	a.gaveUp += count(e.gaveUp)
	for i := range e.causes {
		a.causes[i] += e.causes[i]
	}
	if e.promised != nil {
		a.promises++
		a.promised += *e.promised
		a.survived += count(!killed)
		c.promises = append(c.promises, promise{risk: *e.promised, killed: killed, task: a.number, limit: e.limit})
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (a *taskCosts) add(b *taskCosts) {
	a.totals.add(&b.totals)
	a.needed += b.needed
	a.tries += b.tries
	a.gaveUp += b.gaveUp
	a.promises += b.promises
	a.survived += b.survived
	a.promised += b.promised
	for c := range a.causes {
		a.causes[c] += b.causes[c]
	}
	for i := range a.ages {
		a.ages[i].add(&b.ages[i])
	}
}

// result returns the figures of a policy. Its tasks are in descending order of `needed`, which is the same for every policy.
func (c *policyCosts) result(policy string) Result {
	tasks := make([]*taskCosts, 0, len(c.tasks))
	for _, a := range c.tasks {
		if a.rows > 0 {
			tasks = append(tasks, a)
		}
	}
	slices.SortFunc(tasks, byNeed)
	var all taskCosts
	for _, a := range tasks {
		all.add(a)
	}
	ranked := slices.Clone(c.promises)
	rankLimits(ranked)
	res := Result{Policy: policy, Figures: all.figures(), Deciles: decilesOf(c.promises, byRisk), LimitDeciles: decilesOf(ranked, byRank), WorstHeavy: worstHeavy(tasks, &all)}
	for _, a := range tasks {
		res.Tasks = append(res.Tasks, TaskFigures{Task: a.task.String(), Figures: a.figures()})
	}
	return res
}
