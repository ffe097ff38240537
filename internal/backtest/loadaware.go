package backtest

import (
	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// minTriesAfterRejection is the smallest number of tries before the first training of a task, and between a training that
// returned no model (its model lost the evaluation, or there was nothing to fit) and the next training.
const minTriesAfterRejection = 25

// loadawarePolicy is loadaware's own policy. It calls the models of taskmodel in the same order as the service, and fits
// at the same numbers of rows, unless minTriesAfterRejection delays a fit. While a training of a task runs, the next prediction
// or outcome of this task waits.
type loadawarePolicy struct {
	newModel   func() *taskmodel.Model
	settings   func(sizing.TaskKey) sizing.Policy // with defaults
	tasks      map[sizing.TaskKey]*learner
	pools      map[sizing.TaskKey]*taskmodel.Pool // by DAG: the Task of the key is empty
	namespaces map[string]*namespace              // by namespace
	cohorts    map[string]*cohort.Learner         // by namespace
	workers    *workers                           // see Config.workers
	fits       *taskmodel.FitCache                // see Config.fits
	err        error                              // error of a failed training

	runs taskmodel.RunErrors

	noCohorts bool // a task without history gets its static request
}

// namespace is the state that the DAGs of a namespace share.
type namespace struct {
	taskmodel.Namespace
	version int // increases with every change of a pool
}

func newLoadawarePolicy(cfg Config) *loadawarePolicy {
	return &loadawarePolicy{
		newModel: cfg.NewModel, settings: func(sizing.TaskKey) sizing.Policy { return cfg.Settings },
		tasks: map[sizing.TaskKey]*learner{}, pools: map[sizing.TaskKey]*taskmodel.Pool{}, namespaces: map[string]*namespace{}, cohorts: map[string]*cohort.Learner{},
		workers: cfg.workers, fits: cfg.fits,
	}
}

type learner struct {
	model          *taskmodel.Model
	poolSeen       int // namespace.version when the model last received the pools; 0: never
	history        sizing.History
	scores         map[sizing.TryKey]float64  // run scores of the tries that have not ended; without those that are 0
	promised       map[sizing.TryKey]*float64 // promised risks of the first tries that have not ended
	guard          taskmodel.Guard            // raises grants while clearly more of the runs with an open try were killed than promised
	lastRejectedAt int                        // number of tries when a training last returned no model
	training       *training                  // nil: no training is running, and the model may be used
}

// learnerOf returns the learner of a task, after a running training of this task has ended.
func (p *loadawarePolicy) learnerOf(task sizing.TaskKey) *learner {
	l := p.tasks[task]
	if l == nil {
		l = &learner{model: p.newModel(), promised: map[sizing.TryKey]*float64{}, scores: map[sizing.TryKey]float64{}}
		l.history.Task = task
		l.model.SetFitCache(p.fits)
		p.tasks[task] = l
	}
	p.join(l)
	return l
}

// Predict implements Policy.
func (p *loadawarePolicy) Predict(q Question) Answer {
	l := p.learnerOf(q.Try.TaskKey)
	if namespace := p.namespaceOf(q.Try.TaskKey); l.poolSeen != namespace.version {
		pool, others := p.poolOf(q.Try.TaskKey), namespace.Namespace
		others.Remove(pool)
		l.model.SetPool(pool, &others)
		l.poolSeen = namespace.version
	}
	settings := p.settings(q.Try.TaskKey)
	question := question(&q, l, &settings)
	if !p.noCohorts && q.Above > 0 && q.Above < question.Requested.Memory && l.model.LargestPeak() == 0 && p.cohortOf(q.Try.Namespace).Model().CanSize(factsOf(&q)) {
		question.Requested.Memory = 0 // the cohort sized the first try, so the lift may stay below the static request
	}
	if question.RunScore = p.runs.Score(q.Try.TaskKey, q.Try.Run()); question.RunScore != 0 {
		l.scores[q.Try] = question.RunScore
	}
	sized := l.model.Size(question)
	coldStart := sized.Source != sizing.FromModel
	if sized.Source == sizing.FromRequested && q.Above == 0 {
		p.sizeByCohort(&q, &question, l.model, &sized)
	}
	if q.Above > 0 {
		state := sizing.LiftState{
			Failed: q.Above, Ceiling: question.Cap, Kills: q.Try.Number - 1, MaxLifts: *settings.MaxLifts, Ladder: sized.Ladder,
		}
		lift := state.Decide(sizing.OOMKilled)
		if lift.Retry {
			l.guard.Retry(q.Try.Run(), q.Try.Number)
		}
		return Answer{Limit: lift.Memory.Limit, ColdStart: coldStart} // zero if the lift policy gives up
	}
	if settings.Mode != sizing.Enforce {
		return Answer{Limit: q.Static}
	}
	if sized.Promised != nil {
		l.promised[q.Try] = sized.Promised
		l.guard.Grant(q.Try.Run(), taskmodel.BeforeGuard(*sized.Promised, sized.Guard), q.StartedAt)
	}
	return Answer{Limit: sized.Limit, Promised: sized.Promised, ColdStart: coldStart, CPU: sized.CPU}
}

// Learn implements Policy.
func (p *loadawarePolicy) Learn(o Outcome) error {
	if !p.noCohorts {
		p.cohortOf(o.Try.Namespace).Add(cohortRow(&o))
	}
	l := p.learnerOf(o.Try.TaskKey)
	l.history.LastSeq++
	l.history.Total++
	row := l.row(&o)
	l.history.Rows = append(l.history.Rows, row)
	l.updateGuard(&o)
	trainingRow := taskmodel.NewTrainingRow(&l.history.Schema, &row)
	trainingRow.Features = o.Features // as reported, because the schema may not contain all of them
	before := l.model.Pool()
	l.model.Learn(trainingRow)
	if e, ok := l.model.RunError(trainingRow.Run); ok {
		p.runs.Add(o.Try.TaskKey, trainingRow.Run, e)
	}
	p.updatePool(l, before)
	if !o.Killed && l.model.IsFitDue() && l.history.Total >= l.lastRejectedAt+minTriesAfterRejection {
		p.train(l)
	}
	return p.err
}

func (l *learner) updateGuard(o *Outcome) {
	if o.Killed {
		l.guard.Kill(o.Try.Run(), o.Try.Number)
		return
	}
	l.guard.Forget(o.Try.Run())
}

// row returns the history row of an outcome, and removes its try from l.promised and l.scores.
func (l *learner) row(o *Outcome) sizing.HistoryRow {
	promised := l.promised[o.Try]
	delete(l.promised, o.Try)
	score := l.scores[o.Try]
	delete(l.scores, o.Try)
	l.history.Schema.Extend(o.Features)
	outcome := sizing.Success
	if o.Killed {
		outcome = sizing.OOMKilled
	}
	return sizing.HistoryRow{
		Seq: l.history.LastSeq, At: o.ReportedAt, StartedAt: o.StartedAt, RunID: o.Try.RunID, MapIndex: o.Try.MapIndex, Try: o.Try.Number,
		Outcome: outcome, MemoryMax: o.Peak, CPUMax: o.CPUMax, Duration: o.Duration,
		Allocated: sizing.Resources{Memory: o.Allocated}, Requested: o.static(), Promised: promised,
		Features: l.history.Schema.Row(o.Features, nil), RunScore: score, Weight: 1,
	}
}

// updatePool replaces the contribution of a task to the pool of its DAG; `before` is the earlier contribution. Each model
// of the namespace loads the new pools at its next prediction.
func (p *loadawarePolicy) updatePool(l *learner, before taskmodel.Pool) {
	now := l.model.Pool()
	pool, namespace := p.poolOf(l.history.Task), p.namespaceOf(l.history.Task)
	namespace.Remove(pool)
	pool.Remove(&before)
	pool.Add(&now)
	namespace.Add(pool)
	namespace.version++
}

func (p *loadawarePolicy) poolOf(task sizing.TaskKey) *taskmodel.Pool {
	task.Task = ""
	if p.pools[task] == nil {
		p.pools[task] = &taskmodel.Pool{}
	}
	return p.pools[task]
}

func (p *loadawarePolicy) namespaceOf(task sizing.TaskKey) *namespace {
	if p.namespaces[task.Namespace] == nil {
		p.namespaces[task.Namespace] = &namespace{version: 1}
	}
	return p.namespaces[task.Namespace]
}
