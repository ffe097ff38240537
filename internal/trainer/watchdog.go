package trainer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/sequential"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// The watchdog runs before every training, and every OOM kill triggers a training.
//
//	promises ──▶ more kills than promised? ──no──▶ train
//	                     │ yes
//	                     ▼
//	     would an earlier version have held? ──no──▶ train: the task has changed
//	                     │ yes
//	                     ▼
//	     roll back to it and withdraw the versions that broke their promises
//
// The first question asks whether the kills among the newest receipts were too many at
// any time, because a model that learns from its kills recovers before the watchdog
// runs, while the published version stays bad. That question alone would blame a model
// for a task that changed. For the second, an earlier version answers the same tries,
// each after as many training rows as the version that answered had learned: tries that
// run in parallel are all asked about before any of them ends.
const (
	watchedReceipts = 500 // newest receipts of first tries
	maxReplayRows   = 5_000
	maxRivals       = 3 // earlier versions that are compared with the suspect
)

var (
	// For a model that is killed at most twice as often as promised, the first test gives a
	// false alarm within n tries with probability at most n in 100,000.
	brokenFrom = math.Log(1e5)
	// On tries that are not selected by their outcome, an earlier version that is no better
	// wins with probability at most one in fifty. These tries are selected: the first test
	// ends them. A model within twice its promises is therefore protected by the first
	// bound, and one that broke them may lose to an equal version.
	betterFrom = math.Log(50)
)

// checkPromises compares the active model's promises with the outcomes. It returns the
// version that it rolled back to, or 0 if it withdrew nothing.
func (t *Trainer) checkPromises(ctx context.Context, active *store.Model) (back int, reason string, err error) {
	promises, err := t.store.Promises(ctx, active.Task, watchedReceipts)
	if err != nil {
		return 0, "", err
	}
	// Answers of later versions do not count: another replica gave them before it learned
	// that they are no longer active.
	promises = slices.DeleteFunc(promises, func(p sizing.Promise) bool { return p.Version > active.Version })
	tries := make([]sequential.Try, len(promises))
	for i, p := range promises {
		tries[i] = sequential.Try{Promised: p.Risk, Killed: p.Killed}
	}
	from, to := sequential.FindViolation(tries, brokenFrom)
	if from < 0 {
		return 0, "", nil
	}
	// The trial covers all answers of the suspects up to the end of the evidence. Later
	// answers come from models that have already learned from the kills.
	earliest := promises[from].Version
	tr := &trial{trainer: t, active: active, earliest: earliest,
		broken: slices.DeleteFunc(promises[:to], func(p sizing.Promise) bool { return p.Version < earliest })}
	if err := tr.readVersions(ctx); err != nil {
		return 0, "", err
	}
	return tr.decide(ctx)
}

// trial compares the suspect versions with earlier ones (the second question).
type trial struct {
	trainer  *Trainer
	active   *store.Model
	earliest int              // first suspect version
	broken   []sizing.Promise // promises of the suspects
	suspects []int
	rivals   []int // earlier versions, the latest first
}

// readVersions separates suspects from rivals. Every version since the earliest suspect
// builds on it and is a suspect as well.
func (c *trial) readVersions(ctx context.Context) error {
	stored, err := c.trainer.store.ModelVersions(ctx, c.active.Task)
	if err != nil {
		return err
	}
	for _, m := range stored { // newest first
		switch {
		case m.Withdrawn:
		case m.Version >= c.earliest && m.Version <= c.active.Version:
			c.suspects = append(c.suspects, m.Version)
		default:
			c.rivals = append(c.rivals, m.Version)
		}
	}
	return nil
}

// decide rolls back to the latest earlier version that would have held.
func (c *trial) decide(ctx context.Context) (back int, reason string, err error) {
	for _, version := range c.rivals[:min(len(c.rivals), maxRivals)] {
		better, err := c.isOutperformedBy(ctx, version)
		if err != nil {
			return 0, "", err
		}
		if better {
			return c.rollBack(ctx, version)
		}
	}
	c.trainer.log.InfoContext(ctx, "more tries were killed than promised, and no earlier version would have held: the task has changed",
		"task", c.active.Task.String(), "tries", len(c.broken))
	return 0, "", nil
}

func (c *trial) rollBack(ctx context.Context, version int) (back int, reason string, err error) {
	killed, promised := 0, 0.0
	for _, p := range c.broken {
		promised += p.Risk
		if p.Killed {
			killed++
		}
	}
	reason = fmt.Sprintf("of %d first tries answered by version %d and later, %d were killed where %.2g were promised, and version %d would have held",
		len(c.broken), c.earliest, killed, promised, version)
	err = c.trainer.store.RollBack(sizing.WithActor(ctx, store.Watchdog), store.Rollback{
		Task: c.active.Task, From: c.active.Version, To: version, Withdrawn: c.suspects, Reason: reason,
	})
	if err == nil {
		c.trainer.log.WarnContext(ctx, "model rolled back", "task", c.active.Task.String(),
			"from", c.active.Version, "to", version, "reason", reason)
	}
	return version, reason, err
}

// isOutperformedBy reports whether a stored version would have held clearly more of the
// tries whose promises were broken.
func (c *trial) isOutperformedBy(ctx context.Context, version int) (bool, error) {
	stored, err := c.trainer.store.Model(ctx, c.active.Task, version)
	if err != nil {
		return false, err
	}
	model := c.trainer.open(ctx, &stored)
	if model == nil {
		return false, nil
	}
	policy, err := c.trainer.store.Policy(ctx, c.active.Task)
	if err != nil {
		return false, err
	}
	rows, err := c.trainer.store.Since(ctx, c.active.Task, stored.LastSeq, maxReplayRows)
	if err != nil {
		return false, err
	}
	tries := firstTries(&rows)
	var pairs sequential.Pairs
	replay(model, &rows, c.broken, func(p *sizing.Promise) {
		try := tries[mappedRun{p.RunID, p.MapIndex}]
		if try == nil || try.needed == 0 {
			return // the run never succeeded, so its need is unknown
		}
		granted := model.Size(try.question(policy.WithDefaults())).Limit
		pairs.Record(p.Granted < try.needed, granted < try.needed)
	})
	return pairs.Log > betterFrom, nil
}

// mappedRun identifies one map index of a run.
type mappedRun struct {
	run      string
	mapIndex int
}

// endedTry is a first try and the peak that its run turned out to need.
type endedTry struct {
	features  sizing.Features
	requested sizing.Resources
	needed    sizing.Bytes // zero: unknown
}

func (e *endedTry) question(policy sizing.Policy) taskmodel.Question {
	return taskmodel.Question{
		Features: e.features, Requested: e.requested, RiskTarget: policy.RiskTarget, Floor: policy.Floor, Cap: policy.Cap,
	}
}

// firstTries returns the first tries among rows.
func firstTries(rows *sizing.History) map[mappedRun]*endedTry {
	tries := map[mappedRun]*endedTry{}
	for i := range rows.Rows {
		r := &rows.Rows[i]
		key := mappedRun{r.RunID, r.MapIndex}
		if tries[key] == nil {
			tries[key] = &endedTry{}
		}
		if r.Try == 1 {
			tries[key].features, tries[key].requested = rows.Schema.Features(r.Features), r.Requested
		}
		if peak, censoring := r.Peak(); censoring == sizing.Exact || censoring == sizing.Sampled {
			tries[key].needed = peak
		}
	}
	return tries
}

// replay trains a model on the rows in order, and calls ask for each promise once the
// model has learned as many rows as the model that made the promise.
func replay(model *taskmodel.Model, rows *sizing.History, promises []sizing.Promise, ask func(*sizing.Promise)) {
	promises = slices.Clone(promises)
	slices.SortStableFunc(promises, func(a, b sizing.Promise) int { return cmp.Compare(a.GuardVersion, b.GuardVersion) })
	next := 0
	askUpTo := func(learned int64) {
		for ; next < len(promises) && promises[next].GuardVersion <= learned; next++ {
			ask(&promises[next])
		}
	}
	for i := range rows.Rows {
		if askUpTo(int64(model.Tries)); next == len(promises) {
			return // later rows are not needed
		}
		model.Learn(taskmodel.NewTrainingRow(&rows.Schema, &rows.Rows[i]))
	}
	askUpTo(math.MaxInt64)
}
