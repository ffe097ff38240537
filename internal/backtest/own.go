package backtest

import (
	"fmt"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

// A task is trained when this many of its successes are new, and at least this
// share of those it was trained on: long histories are replayed in minutes.
const (
	trainEvery  = 25
	trainGrowth = 0.02
)

// own is loadaware's policy: the models of fitting, asked and told in the order in
// which the service asks and tells them. Trainings stand between rows here, where
// the service trains beside them.
type own struct {
	tasks map[sizing.TaskKey]*learner
	pools map[sizing.TaskKey]*pool // of DAGs: the task is left empty
}

// pool is what the tasks of a DAG learned together.
type pool struct {
	fitting.Pool
	version int // moves with every change
}

func newOwn() *own {
	return &own{tasks: map[sizing.TaskKey]*learner{}, pools: map[sizing.TaskKey]*pool{}}
}

// learner is what is known of one task.
type learner struct {
	model     *fitting.Model
	follows   int // version of the pool that the model follows; 0: none
	history   sizing.History
	promised  map[sizing.TryKey]*float64 // of first tries that have not ended
	open      fitting.Guard
	successes int
	trained   int // successes at the last training
}

func (p *own) of(task sizing.TaskKey) *learner {
	l := p.tasks[task]
	if l == nil {
		l = &learner{model: fitting.New(), promised: map[sizing.TryKey]*float64{}}
		l.history.Task = task
		p.tasks[task] = l
	}
	return l
}

// Predict implements Policy.
func (p *own) Predict(q Question) Answer {
	l := p.of(q.Try.TaskKey)
	policy := sizing.Policy{}.WithDefaults()
	asked := fitting.Question{
		Features: q.Features, Requested: q.static(), Cap: q.reach(), RiskTarget: policy.RiskTarget, Above: q.Above,
		Lifts: max(0, *policy.MaxLifts-max(0, q.Try.Number-2)), Widen: l.open.Widen(q.StartedAt), Open: l.open.OpenKills(q.StartedAt),
	}
	if pool := p.poolOf(q.Try.TaskKey); l.follows != pool.version {
		l.model.SetPool(&pool.Pool)
		l.follows = pool.version
	}
	sized := l.model.Size(asked)
	if q.Above > 0 {
		state := sizing.LiftState{
			Failed: q.Above, Ceiling: asked.Cap, Kills: q.Try.Number - 1, MaxLifts: *policy.MaxLifts, Ladder: sized.Ladder,
		}
		lift := state.Decide(sizing.OOMKilled)
		if lift.Retry {
			l.open.Retry(q.Try.Run(), q.Try.Number)
		}
		return Answer{Limit: lift.Memory.Limit} // zero where the brakes say no
	}
	if sized.Promised != nil {
		l.promised[q.Try] = sized.Promised
		l.open.Grant(q.Try.Run(), fitting.BeforeGuard(*sized.Promised, sized.Guard), q.StartedAt)
	}
	return Answer{Limit: sized.Limit, Promised: sized.Promised}
}

// Learn implements Policy.
func (p *own) Learn(o Outcome) error {
	l := p.of(o.Try.TaskKey)
	l.history.LastSeq++
	l.history.Total++
	row := l.row(&o)
	l.history.Rows = append(l.history.Rows, row)
	l.ended(&o)
	told := fitting.NewTrainingRow(&l.history.Schema, &row)
	told.Features = o.Features // as they were sent: the schema may not hold all of them
	before := l.model.Pool()
	l.model.Learn(told)
	p.share(l, before)
	if o.Killed {
		return nil
	}
	l.successes++
	fresh := l.successes - l.trained
	if fresh < trainEvery || float64(fresh) < trainGrowth*float64(l.trained) {
		return nil
	}
	return p.train(l)
}

// ended tells the guard what came of a try.
func (l *learner) ended(o *Outcome) {
	if o.Killed {
		l.open.Kill(o.Try.Run(), o.Try.Number)
		return
	}
	l.open.Forget(o.Try.Run())
}

// row is an outcome as a store would keep it.
func (l *learner) row(o *Outcome) sizing.HistoryRow {
	promised := l.promised[o.Try]
	delete(l.promised, o.Try)
	l.history.Schema.Extend(o.Features)
	outcome := sizing.Success
	if o.Killed {
		outcome = sizing.OOMKilled
	}
	return sizing.HistoryRow{
		Seq: l.history.LastSeq, At: o.ToldAt, RunID: o.Try.RunID, MapIndex: o.Try.MapIndex, Try: o.Try.Number,
		Outcome: outcome, MemoryMax: o.Peak, CPUMax: o.CPUMax, Duration: o.Duration,
		Allocated: sizing.Resources{Memory: o.Allocated}, Requested: o.static(), Promised: promised,
		Features: l.history.Schema.Row(o.Features, nil), Weight: 1,
	}
}

// train puts the challenger in the place of the model where there is one.
func (p *own) train(l *learner) error {
	l.trained = l.successes
	before := l.model.Pool()
	challenger, _, err := fitting.Fit(&l.history, l.model)
	if err != nil {
		return fmt.Errorf("train %s on %d rows: %w", l.history.Task, len(l.history.Rows), err)
	}
	if challenger != nil {
		l.model = challenger
		p.share(l, before)
	}
	return nil
}

// share changes a task's part in the pool. The models of the DAG follow it when they are
// asked next.
func (p *own) share(l *learner, before fitting.Pool) {
	now := l.model.Pool()
	pool := p.poolOf(l.history.Task)
	pool.Remove(&before)
	pool.Add(&now)
	pool.version++
}

func (p *own) poolOf(task sizing.TaskKey) *pool {
	task.Task = ""
	if p.pools[task] == nil {
		p.pools[task] = &pool{version: 1}
	}
	return p.pools[task]
}
