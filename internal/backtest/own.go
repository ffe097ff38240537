package backtest

import (
	"fmt"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// A task is retrained after trainEvery new successes, provided that they are at least
// trainGrowth of the successes it was trained on: long histories replay in minutes.
const (
	trainEvery  = 25
	trainGrowth = 0.02
)

// own is loadaware's policy. It calls the models of taskmodel in the same order as the
// service does, but trains between rows where the service trains in the background.
type own struct {
	tasks map[sizing.TaskKey]*learner
	pools map[sizing.TaskKey]*pool // by DAG: the key's Task is empty
}

// pool is the state that the tasks of a DAG share.
type pool struct {
	taskmodel.Pool
	version int // increases with every change
}

func newOwn() *own {
	return &own{tasks: map[sizing.TaskKey]*learner{}, pools: map[sizing.TaskKey]*pool{}}
}

// learner is the state of one task.
type learner struct {
	model     *taskmodel.Model
	poolSeen  int // version of the pool that the model uses; 0: none
	history   sizing.History
	promised  map[sizing.TryKey]*float64 // first tries that have not ended
	open      taskmodel.Guard
	successes int
	trained   int // successes at the last training
}

func (p *own) learnerOf(task sizing.TaskKey) *learner {
	l := p.tasks[task]
	if l == nil {
		l = &learner{model: taskmodel.New(), promised: map[sizing.TryKey]*float64{}}
		l.history.Task = task
		p.tasks[task] = l
	}
	return l
}

// Predict implements Policy.
func (p *own) Predict(q Question) Answer {
	l := p.learnerOf(q.Try.TaskKey)
	policy := sizing.Policy{}.WithDefaults()
	question := taskmodel.Question{
		Features: q.Features, Requested: q.static(), Cap: q.reach(), RiskTarget: policy.RiskTarget, Above: q.Above,
		Lifts: max(0, *policy.MaxLifts-max(0, q.Try.Number-2)), Widen: l.open.Widen(q.StartedAt), Open: l.open.OpenKills(q.StartedAt),
	}
	if pool := p.poolOf(q.Try.TaskKey); l.poolSeen != pool.version {
		l.model.SetPool(&pool.Pool)
		l.poolSeen = pool.version
	}
	sized := l.model.Size(question)
	if q.Above > 0 {
		state := sizing.LiftState{
			Failed: q.Above, Ceiling: question.Cap, Kills: q.Try.Number - 1, MaxLifts: *policy.MaxLifts, Ladder: sized.Ladder,
		}
		lift := state.Decide(sizing.OOMKilled)
		if lift.Retry {
			l.open.Retry(q.Try.Run(), q.Try.Number)
		}
		return Answer{Limit: lift.Memory.Limit} // zero if the lift policy gives up
	}
	if sized.Promised != nil {
		l.promised[q.Try] = sized.Promised
		l.open.Grant(q.Try.Run(), taskmodel.BeforeGuard(*sized.Promised, sized.Guard), q.StartedAt)
	}
	return Answer{Limit: sized.Limit, Promised: sized.Promised}
}

// Learn implements Policy.
func (p *own) Learn(o Outcome) error {
	l := p.learnerOf(o.Try.TaskKey)
	l.history.LastSeq++
	l.history.Total++
	row := l.row(&o)
	l.history.Rows = append(l.history.Rows, row)
	l.ended(&o)
	training := taskmodel.NewTrainingRow(&l.history.Schema, &row)
	training.Features = o.Features // as reported: the schema may not hold all of them
	before := l.model.Pool()
	l.model.Learn(training)
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

// ended reports the outcome of a try to the guard.
func (l *learner) ended(o *Outcome) {
	if o.Killed {
		l.open.Kill(o.Try.Run(), o.Try.Number)
		return
	}
	l.open.Forget(o.Try.Run())
}

// row converts an outcome to the history row that a store would hold.
func (l *learner) row(o *Outcome) sizing.HistoryRow {
	promised := l.promised[o.Try]
	delete(l.promised, o.Try)
	l.history.Schema.Extend(o.Features)
	outcome := sizing.Success
	if o.Killed {
		outcome = sizing.OOMKilled
	}
	return sizing.HistoryRow{
		Seq: l.history.LastSeq, At: o.ReportedAt, RunID: o.Try.RunID, MapIndex: o.Try.MapIndex, Try: o.Try.Number,
		Outcome: outcome, MemoryMax: o.Peak, CPUMax: o.CPUMax, Duration: o.Duration,
		Allocated: sizing.Resources{Memory: o.Allocated}, Requested: o.static(), Promised: promised,
		Features: l.history.Schema.Row(o.Features, nil), Weight: 1,
	}
}

// train fits a challenger and replaces the model if taskmodel returns one.
func (p *own) train(l *learner) error {
	l.trained = l.successes
	before := l.model.Pool()
	challenger, _, err := taskmodel.Fit(&l.history, l.model)
	if err != nil {
		return fmt.Errorf("train %s on %d rows: %w", l.history.Task, len(l.history.Rows), err)
	}
	if challenger != nil {
		l.model = challenger
		p.share(l, before)
	}
	return nil
}

// share updates the task's contribution to the pool. The other models of the DAG load
// the new pool at their next prediction.
func (p *own) share(l *learner, before taskmodel.Pool) {
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
