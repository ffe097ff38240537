package main

import (
	"fmt"
	"slices"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/sizing"
)

// step is what one run of a task came to.
type step struct {
	task             string
	used, granted    float64 // bytes; granted to the first try
	requested        float64
	seconds          float64
	wasted           float64 // byte-seconds, killed tries whole
	promised, killed float64 // of the first try: P(killed); 1 if it was
	young            bool    // before the experts decide
}

// A task is trained when this many of its runs are new, and this share of those it
// was trained on: as the backtest does it.
const (
	trainEvery  = 25
	trainGrowth = 0.02
)

// leastCap is the node that every history is given, however small its peaks.
const leastCap sizing.Bytes = 128e9

// player asks and tells the models of every task, as the service does.
type player struct {
	target float64
	tasks  map[sizing.TaskKey]*learner
	pools  map[sizing.TaskKey]*fitting.Pool // of a DAG: the task is left empty
}

// learner is one task.
type learner struct {
	model         *fitting.Model
	pool          *fitting.Pool
	history       sizing.History
	runs, trained int
}

// play replays rows at a risk target: every run is asked about before it is told,
// and told before the next one is asked about.
func play(rows []sizing.Observation, target float64) ([]step, error) {
	p := &player{target: target, tasks: map[sizing.TaskKey]*learner{}, pools: map[sizing.TaskKey]*fitting.Pool{}}
	steps := make([]step, 0, len(rows))
	for i := range rows {
		s, err := p.run(&rows[i])
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", i+1, err)
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func (p *player) of(task sizing.TaskKey) *learner {
	l := p.tasks[task]
	if l == nil {
		l = &learner{model: fitting.New(), pool: p.poolOf(task), history: sizing.History{Task: task}}
		l.model.SetPool(l.pool)
		p.tasks[task] = l
	}
	return l
}

// poolOf is what the tasks of a DAG learn together.
func (p *player) poolOf(task sizing.TaskKey) *fitting.Pool {
	task.Task = ""
	if p.pools[task] == nil {
		p.pools[task] = &fitting.Pool{}
	}
	return p.pools[task]
}

// run asks until an allocation holds.
func (p *player) run(o *sizing.Observation) (step, error) {
	l := p.of(o.Try.TaskKey)
	q := fitting.Question{
		Features: o.Features, Requested: o.Requested, RiskTarget: p.target, Lifts: sizing.DefaultMaxLifts,
		Cap: max(leastCap, o.MemoryMax, o.Requested.Memory),
	}
	sized := l.model.Size(q)
	s := step{
		task: o.Try.Task, used: float64(o.MemoryMax), granted: float64(sized.Limit),
		requested: float64(o.Requested.Memory), seconds: o.Duration.Seconds(),
		young: sized.Source != sizing.FromModel,
	}
	if sized.Promised != nil {
		s.promised = *sized.Promised
	}
	for kills, limit := 0, sized.Limit; ; kills++ {
		short := limit < o.MemoryMax
		l.tell(o, kills, limit, sized.Promised)
		if !short {
			s.wasted += (float64(limit) - s.used) * s.seconds
			l.runs++
			return s, l.train()
		}
		s.killed = 1
		s.wasted += float64(limit) * s.seconds
		q.Above, q.Lifts = limit, sizing.DefaultMaxLifts-kills
		lift := sizing.LiftState{
			Failed: limit, Ceiling: q.Cap, Kills: kills + 1, MaxLifts: sizing.DefaultMaxLifts, Ladder: l.model.Size(q).Ladder,
		}.Decide(sizing.OOMKilled)
		if !lift.Retry {
			return s, fmt.Errorf("no lift above %d bytes: %s", limit, lift.Reason)
		}
		limit = lift.Memory.Limit
	}
}

// tell reports one try: its peak where it held, else that it was killed.
func (l *learner) tell(o *sizing.Observation, kills int, limit sizing.Bytes, promised *float64) {
	l.history.LastSeq++
	l.history.Total++
	l.history.Schema.Extend(o.Features)
	row := sizing.HistoryRow{
		Seq: l.history.LastSeq, At: o.StartedAt, RunID: o.Try.RunID, MapIndex: o.Try.MapIndex, Try: kills + 1,
		Outcome: sizing.Success, MemoryMax: o.MemoryMax, CPUMax: o.CPUMax, Duration: o.Duration,
		Allocated: sizing.Resources{Memory: limit}, Requested: o.Requested,
		Features: l.history.Schema.Row(o.Features, nil), Weight: 1,
	}
	if limit < o.MemoryMax {
		row.Outcome, row.MemoryMax, row.CPUMax = sizing.OOMKilled, 0, 0
	}
	if kills == 0 {
		row.Promised = promised
	}
	l.history.Rows = append(l.history.Rows, row)
	before := l.model.Pool()
	l.model.Learn(fitting.NewTrainingRow(&l.history.Schema, &row))
	l.share(before)
}

// train fits a task's models anew when enough of its runs are new.
func (l *learner) train() error {
	if fresh := l.runs - l.trained; fresh < trainEvery || float64(fresh) < trainGrowth*float64(l.trained) {
		return nil
	}
	l.trained = l.runs
	before := l.model.Pool()
	challenger, _, err := fitting.Fit(&l.history, l.model)
	if err != nil || challenger == nil {
		return err
	}
	l.model = challenger
	l.share(before)
	return nil
}

// share changes the task's part in what its DAG learned together.
func (l *learner) share(before fitting.Pool) {
	now := l.model.Pool()
	l.pool.Remove(&before)
	l.pool.Add(&now)
	l.model.SetPool(l.pool)
}

const driftFactor = 1.8

// drift multiplies every peak of the second half.
func drift(rows []sizing.Observation) []sizing.Observation {
	changed := slices.Clone(rows)
	for i := len(changed) / 2; i < len(changed); i++ {
		changed[i].MemoryMax = changed[i].MemoryMax.Times(driftFactor)
	}
	return changed
}

// at is what a risk target came to.
type at struct {
	target, waste float64 // waste per use
	killed, grown float64 // share of first tries that were; the same of tasks that are not young
}

// targetsOf replays rows at targets from careful to careless.
func targetsOf(rows []sizing.Observation) ([]at, error) {
	var all []at
	for _, target := range []float64{0.002, 0.005, 0.01, sizing.DefaultRiskTarget, 0.03, 0.05, 0.1, 0.2} {
		steps, err := play(rows, target)
		if err != nil {
			return nil, err
		}
		all = append(all, sum(steps, target))
	}
	return all, nil
}

func sum(steps []step, target float64) at {
	t, used, grown := at{target: target}, 0.0, 0.0
	for _, s := range steps {
		used += s.used * s.seconds
		t.waste += s.wasted
		t.killed += s.killed
		if !s.young {
			t.grown += s.killed
			grown++
		}
	}
	t.waste, t.killed, t.grown = t.waste/used, t.killed/float64(len(steps)), t.grown/max(grown, 1)
	return t
}
