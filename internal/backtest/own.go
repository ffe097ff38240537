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

// own is loadaware's policy: the models of fitting, asked and told in the same
// order as the service asks and tells them, with a training between rows where the
// service would train beside them.
type own struct {
	tasks map[sizing.TaskKey]*learner
}

func newOwn() *own { return &own{tasks: map[sizing.TaskKey]*learner{}} }

// learner is what is known of one task.
type learner struct {
	model     *fitting.Model
	history   sizing.History
	promised  map[sizing.TryKey]*float64 // of tries that have not ended
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
		Features:   q.Features,
		Requested:  sizing.Resources{Memory: q.Static, CPU: q.Requested.CPU},
		Cap:        max(q.Cap, q.Static),
		RiskTarget: policy.RiskTarget,
		Above:      q.Above,
	}
	sized := l.model.Size(asked)
	if q.Above > 0 {
		return Answer{Limit: lift(&q, asked.Cap, *policy.MaxLifts, sized.Ladder)}
	}
	l.promised[q.Try] = sized.Promised
	return Answer{Limit: sized.Limit, Promised: sized.Promised}
}

// lift is the next rung after a kill; 0 where the brakes say no.
func lift(q *Question, ceiling sizing.Bytes, maxLifts int, ladder []sizing.Bytes) sizing.Bytes {
	state := sizing.LiftState{Failed: q.Above, Ceiling: ceiling, Kills: q.Try.Number - 1, MaxLifts: maxLifts, Ladder: ladder}
	return state.Decide(sizing.OOMKilled).Memory.Limit
}

// Learn implements Policy.
func (p *own) Learn(o Outcome) error {
	l := p.of(o.Try.TaskKey)
	l.history.LastSeq++
	l.history.Total++
	told := told(&o, l.history.LastSeq)
	told.Promised = l.promised[o.Try]
	delete(l.promised, o.Try)
	l.model.Learn(told)
	l.keep(&o, &told)
	if !o.Killed {
		l.successes++
	}
	if fresh := l.successes - l.trained; !o.Killed && fresh >= trainEvery && float64(fresh) >= trainGrowth*float64(l.trained) {
		return l.train()
	}
	return nil
}

func told(o *Outcome, seq int64) fitting.Told {
	t := fitting.Told{
		Seq: seq, Features: o.Features, Outcome: sizing.Success, Peak: o.Peak, Censoring: sizing.Exact,
		CPUMax: o.CPUMax, Duration: o.Duration, Allocated: sizing.Resources{Memory: o.Allocated},
		Requested: sizing.Resources{Memory: o.Static, CPU: o.Requested.CPU}, FirstTry: o.Try.Number == 1,
	}
	if o.Killed {
		t.Outcome, t.Peak, t.Censoring = sizing.OOMKilled, o.Allocated, sizing.AtLeast
	}
	return t
}

// keep adds an outcome to the history that trainings read.
func (l *learner) keep(o *Outcome, t *fitting.Told) {
	l.history.Schema.Admit(o.Features)
	l.history.Rows = append(l.history.Rows, sizing.HistoryRow{
		Seq: t.Seq, At: o.ToldAt, RunID: o.Try.RunID, MapIndex: o.Try.MapIndex, Try: o.Try.Number,
		Outcome: t.Outcome, MemoryMax: o.Peak, CPUMax: o.CPUMax, Duration: o.Duration,
		Allocated: t.Allocated, Requested: t.Requested,
		Features: l.history.Schema.Row(o.Features, nil), Weight: 1,
	})
}

// train replaces the model where the challenger wins its exam.
func (l *learner) train() error {
	l.trained = l.successes
	challenger, _, err := fitting.Fit(&l.history, l.model, fitting.Config{})
	if err != nil {
		return fmt.Errorf("train %s on %d rows: %w", l.history.Task, len(l.history.Rows), err)
	}
	if challenger != nil {
		l.model = challenger
	}
	return nil
}
