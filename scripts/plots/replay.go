package main

import (
	"fmt"
	"slices"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// step is the result of one run.
type step struct {
	task             string
	used, granted    float64 // bytes; granted is that of the first try
	requested        float64
	seconds          float64
	wasted           float64 // byte-seconds; a killed try counts in full
	promised, killed float64 // of the first try: the promised probability of a kill; 1 if it was killed
	coldStart        bool    // not predicted by the model of the task
}

// A task is trained after this many new runs, if they are also this share of the runs of its last
// training. The backtest uses the same rule.
const (
	trainEvery  = 25
	trainGrowth = 0.02
)

// minCap is the minimum of the allocation cap.
const minCap sizing.Bytes = 128e9

// replayer predicts and learns the runs of all tasks, as the service does.
type replayer struct {
	target float64
	tasks  map[sizing.TaskKey]*taskState
	pools  map[sizing.TaskKey]*taskmodel.Pool // by DAG: the task name is empty
}

// taskState is the model and the history of one task.
type taskState struct {
	model         *taskmodel.Model
	pool          *taskmodel.Pool
	history       sizing.History
	runs, trained int
}

// replay replays rows at a risk target. It predicts each run before it learns from it, and learns
// from it before the next run (prequential evaluation).
func replay(rows []sizing.Observation, target float64) ([]step, error) {
	p := &replayer{target: target, tasks: map[sizing.TaskKey]*taskState{}, pools: map[sizing.TaskKey]*taskmodel.Pool{}}
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

func (p *replayer) stateOf(task sizing.TaskKey) *taskState {
	l := p.tasks[task]
	if l == nil {
		l = &taskState{model: taskmodel.New(), pool: p.poolOf(task), history: sizing.History{Task: task}}
		p.tasks[task] = l
	}
	return l
}

// poolOf returns the pool of the DAG of a task.
func (p *replayer) poolOf(task sizing.TaskKey) *taskmodel.Pool {
	task.Task = ""
	if p.pools[task] == nil {
		p.pools[task] = &taskmodel.Pool{}
	}
	return p.pools[task]
}

// run predicts one run and lifts the allocation until it suffices.
func (p *replayer) run(o *sizing.Observation) (step, error) {
	l := p.stateOf(o.Try.TaskKey)
	q := taskmodel.Question{
		Features: o.Features, Requested: o.Requested, RiskTarget: p.target, Lifts: sizing.DefaultMaxLifts,
		Cap: max(minCap, o.MemoryMax, o.Requested.Memory),
	}
	l.model.SetPool(l.pool)
	sized := l.model.Size(q)
	s := step{
		task: o.Try.Task, used: float64(o.MemoryMax), granted: float64(sized.Limit),
		requested: float64(o.Requested.Memory), seconds: o.Duration.Seconds(),
		coldStart: sized.Source != sizing.FromModel,
	}
	if sized.Promised != nil {
		s.promised = *sized.Promised
	}
	for kills, limit := 0, sized.Limit; ; kills++ {
		killed := limit < o.MemoryMax
		l.learn(o, kills, limit, sized.Promised)
		if !killed {
			s.wasted += (float64(limit) - s.used) * s.seconds
			l.runs++
			return s, l.train()
		}
		s.killed = 1
		s.wasted += float64(limit) * s.seconds
		l.model.SetPool(l.pool)
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

// learn adds one try to the history: its peak, or an OOM kill at the limit.
func (l *taskState) learn(o *sizing.Observation, kills int, limit sizing.Bytes, promised *float64) {
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
	l.model.Learn(taskmodel.NewTrainingRow(&l.history.Schema, &row))
	l.updatePool(before)
}

// train fits the model of the task again after enough new runs.
func (l *taskState) train() error {
	if fresh := l.runs - l.trained; fresh < trainEvery || float64(fresh) < trainGrowth*float64(l.trained) {
		return nil
	}
	l.trained = l.runs
	before := l.model.Pool()
	challenger, _, err := taskmodel.Fit(&l.history, l.model)
	if err != nil || challenger == nil {
		return err
	}
	l.model = challenger
	l.updatePool(before)
	return nil
}

// updatePool replaces the contribution of the task to the pool of its DAG.
func (l *taskState) updatePool(before taskmodel.Pool) {
	now := l.model.Pool()
	l.pool.Remove(&before)
	l.pool.Add(&now)
}

const driftFactor = 1.8

// drift returns the runs with the peaks of the second half multiplied by driftFactor.
func drift(rows []sizing.Observation) []sizing.Observation {
	changed := slices.Clone(rows)
	for i := len(changed) / 2; i < len(changed); i++ {
		changed[i].MemoryMax = changed[i].MemoryMax.Times(driftFactor)
	}
	return changed
}

// targetResult holds the figures of one risk target.
type targetResult struct {
	target, waste      float64 // waste is relative to use
	killed, killedWarm float64 // shares of the first tries: of all, and of those that a model predicted
}

// replayTargets replays the rows at risk targets from low to high.
func replayTargets(rows []sizing.Observation) ([]targetResult, error) {
	var all []targetResult
	for _, target := range []float64{0.002, 0.005, 0.01, sizing.DefaultRiskTarget, 0.03, 0.05, 0.1, 0.2} {
		steps, err := replay(rows, target)
		if err != nil {
			return nil, err
		}
		all = append(all, sum(steps, target))
	}
	return all, nil
}

func sum(steps []step, target float64) targetResult {
	t, used, killedWarm := targetResult{target: target}, 0.0, 0.0
	for _, s := range steps {
		used += s.used * s.seconds
		t.waste += s.wasted
		t.killed += s.killed
		if !s.coldStart {
			t.killedWarm += s.killed
			killedWarm++
		}
	}
	t.waste, t.killed, t.killedWarm = t.waste/used, t.killed/float64(len(steps)), t.killedWarm/max(killedWarm, 1)
	return t
}
