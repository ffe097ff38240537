package trainer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadaware/loadaware/internal/ml/plan"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskplan"
)

// One replica at a time learns plans. Its lease is longer than the work on one task takes, and is renewed before each
// task.
const (
	plansLease    = "plans"
	plansLeaseFor = 5 * time.Minute
)

func (t *Trainer) runPlans(ctx context.Context) {
	if t.cfg.PlansEvery <= 0 {
		return
	}
	for wait := min(firstPassDelay, t.cfg.PlansEvery); ; wait = t.cfg.PlansEvery {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		if err := t.LearnPlans(ctx, time.Now()); err != nil && ctx.Err() == nil {
			t.log.ErrorContext(ctx, "failed to learn plans", "err", err)
		}
	}
}

// LearnPlans learns the new series of usage and the new outcomes of plans of every task, at a lower priority. It does
// nothing while another replica holds the lease.
func (t *Trainer) LearnPlans(ctx context.Context, now time.Time) error {
	tasks, err := t.store.PlannableTasks(ctx, taskplan.Format)
	if err != nil {
		return fmt.Errorf("list tasks to plan: %w", err)
	}
	var failed []error                                                          // an error of one task must not stop the others
	defer func() { _, _ = t.store.AcquireLease(ctx, plansLease, t.owner, 0) }() // ends the lease, which would also expire by itself
	for _, task := range tasks {
		acquired, err := t.store.AcquireLease(ctx, plansLease, t.owner, plansLeaseFor)
		if err != nil || !acquired {
			return errors.Join(append(failed, err)...)
		}
		err = t.learnPlan(ctx, task, now)
		switch kind := sizing.KindOf(err); {
		case err == nil, kind == sizing.Conflict, kind == sizing.NotFound: // another replica was faster, or the task was deleted
		default:
			failed = append(failed, fmt.Errorf("learn the plan of %s: %w", task, err))
		}
	}
	return errors.Join(failed...)
}

// planInputs holds the stored plans of a task and of its namespace, and the outcomes and runs to learn: those that are newer
// than the stored state, or all stored runs if the state cannot be decoded.
type planInputs struct {
	stored       store.TaskPlan
	storedPool   store.PlanPool
	state        *taskplan.State
	pool         *plan.Pool
	lastPooledID int64 // after a state that cannot be decoded: the largest ID of the runs that `pool` has counted; 0: none
	outcomes     []store.PlanOutcome
	runs         []store.DetailedRun
}

func (t *Trainer) learnPlan(ctx context.Context, task sizing.TaskKey, now time.Time) error {
	p, err := t.readPlan(ctx, task)
	if err != nil {
		return err
	}
	began := time.Now()
	var runs []taskplan.Run
	for i := range p.runs {
		runs = append(runs, runOf(&p.runs[i]))
		p.stored.Series = p.runs[i].ID
	}
	err = RunAtLowerPriority(func() error {
		p.learn(runs)
		return nil
	})
	if err != nil {
		return err
	}
	if p.state.NeedsPhases() {
		all, err := t.store.DetailedRuns(ctx, task, 0)
		if err != nil {
			return err
		}
		runs = runs[:0] // FindPhases uses the newest stored runs, also those that were learned before
		for i := range all {
			runs = append(runs, runOf(&all[i]))
		}
		if err := RunAtLowerPriority(func() error { return p.state.FindPhases(runs) }); err != nil {
			return err
		}
	}
	err = t.savePlan(ctx, p, now)
	if err == nil {
		t.log.InfoContext(ctx, "learned a plan", "task", task.String(), "version", p.stored.Version+1, "new_runs", len(p.runs), "runs", p.state.Learner.Runs, "took", time.Since(began))
	}
	return err
}

// learn learns the outcomes before the runs, because plan.Pool.Observe must use the duration of the task before these runs.
func (p *planInputs) learn(runs []taskplan.Run) {
	for _, o := range p.outcomes {
		p.pool.Observe(&p.state.Learner, o.Killed)
		p.stored.Plans = o.ID
	}
	counted := new(plan.Pool) // replaces p.pool for the runs that p.pool has counted
	for i := range runs {
		pool := p.pool
		if p.runs[i].ID <= p.lastPooledID {
			pool = counted
		}
		p.state.Learn(pool, &runs[i])
	}
}

func runOf(r *store.DetailedRun) taskplan.Run {
	return taskplan.Run{RunID: r.RunID, MapIndex: r.MapIndex, Try: r.Try, Series: r.Series, Static: r.Static}
}

// readPlan reads what learnPlan needs. If the state of the task cannot be decoded, it returns an empty state and all stored
// runs.
func (t *Trainer) readPlan(ctx context.Context, task sizing.TaskKey) (*planInputs, error) {
	p := &planInputs{state: new(taskplan.State), pool: new(plan.Pool)}
	var err error
	if p.stored, err = t.store.TaskPlan(ctx, task, 0); err != nil && sizing.KindOf(err) != sizing.NotFound {
		return nil, err
	}
	if p.storedPool, err = t.store.PlanPool(ctx, task.Namespace, 0); err != nil {
		return nil, err
	}
	isNewPool := p.storedPool.Version == 0
	if !isNewPool {
		if p.pool, err = taskplan.DecodePool(p.storedPool.Format, p.storedPool.Content); err != nil {
			t.log.WarnContext(ctx, "the stored pool of plans cannot be decoded; it starts again with the next runs", "namespace", task.Namespace, "err", err)
			p.pool, isNewPool = new(plan.Pool), true
		}
	}
	if p.stored.Version > 0 {
		if p.state, err = taskplan.Decode(p.stored.Format, p.stored.Content); err != nil {
			t.log.WarnContext(ctx, "the stored plan of a task cannot be decoded; it is learned again from the stored series", "task", task.String(), "err", err)
			// A new pool has counted no run of this state. Neither has a pool whose format is newer than that of the state:
			// then the error is not ErrDamaged.
			if isNewPool || !errors.Is(err, taskplan.ErrDamaged) {
				p.stored.Series, p.stored.Plans = 0, 0
			}
			p.state, p.lastPooledID, p.stored.Series = new(taskplan.State), p.stored.Series, 0
		}
	}
	if p.outcomes, err = t.store.PlanOutcomes(ctx, task, p.stored.Plans); err != nil {
		return nil, err
	}
	p.runs, err = t.store.DetailedRuns(ctx, task, p.stored.Series)
	return p, err
}

func (t *Trainer) savePlan(ctx context.Context, p *planInputs, now time.Time) (err error) {
	next, pool := p.stored, p.storedPool
	next.Format, next.LearnedAt, pool.Format = taskplan.Format, now, taskplan.Format
	if next.Content, err = taskplan.Encode(p.state); err != nil {
		return err
	}
	if pool.Content, err = taskplan.EncodePool(p.pool); err != nil {
		return err
	}
	return t.store.SavePlan(ctx, next, pool)
}
