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

// The watchdog runs before every training, so it runs soon after an OOM kill: the kill makes the task due at once, except
// a kill in a reproduced run.
//
//	promises ──▶ more kills than promised? ──no──▶ train
//	                     │ yes
//	                     ▼
//	     fewer kills with an earlier version? ──no──▶ train: the task has changed
//	                     │ yes
//	                     ▼
//	     roll back to it and withdraw the versions after it
//
// The promise of an answer is the probability of a kill with the granted limit, as the receipt states it.
// The first question asks whether there was a series of too many kills (a violation) anywhere among the newest receipts:
// the model in memory may learn from its kills and recover before the watchdog runs, but the stored active version
// remains bad. The suspects are the versions from the one that gave the first answer of the violation to the active one.
//
// The second question distinguishes a bad version from a change of the task. An earlier version answers the same
// tries. It answers each try when it has learned as many training rows as the suspect had learned when it answered this try,
// because tries that run in parallel are all predicted before any of them ends.
const (
	watchedReceipts = 500   // largest number of receipts of first tries that are read: the newest
	maxReplayRows   = 5_000 // largest number of rows since its training that an earlier version learns for the comparison
	maxAlternatives = 3     // largest number of earlier versions that are compared with the suspects
)

var (
	// For a model whose tries are killed at most twice as often as promised, the first question gives a
	// false alarm within n tries with probability at most n in 100,000.
	violationFrom = math.Log(1e5)
	// On tries that are not selected by their outcome, an earlier version that is no better wins with probability
	// at most 1 in 50. But the first question selects the tries by their outcome. So only violationFrom protects a
	// model whose tries are killed at most twice as often as promised; a model with more kills may lose to an equally good
	// version.
	betterFrom = math.Log(50)
)

// checkPromises rolls back the active model if both questions call for it. It returns the version to which it rolled back, or
// 0 if it did not roll back.
func (t *Trainer) checkPromises(ctx context.Context, active *store.Model) (target int, reason string, err error) {
	promises, err := t.store.Promises(ctx, active.Task, watchedReceipts)
	if err != nil {
		return 0, "", err
	}
	// Ignore answers of versions that are newer than the active one. Another replica gave these answers before it was
	// notified that its version is no longer active.
	promises = slices.DeleteFunc(promises, func(p sizing.Promise) bool { return p.Version > active.Version })
	tries := make([]sequential.Try, len(promises))
	for i, p := range promises {
		tries[i] = sequential.Try{Promised: p.Risk, Killed: p.Killed}
	}
	from, to := sequential.FindViolation(tries, violationFrom)
	if from < 0 {
		return 0, "", nil
	}
	// The comparison covers all answers of the suspects up to the end of the violation. Later
	// answers come from models that have already learned from the kills.
	earliest := promises[from].Version
	c := &comparison{trainer: t, active: active, earliest: earliest,
		promises: slices.DeleteFunc(promises[:to], func(p sizing.Promise) bool { return p.Version < earliest })}
	if err := c.readVersions(ctx); err != nil {
		return 0, "", err
	}
	return c.decide(ctx)
}

// comparison compares the suspects with earlier versions (the second question).
type comparison struct {
	trainer      *Trainer
	active       *store.Model
	earliest     int              // first suspect version
	promises     []sizing.Promise // of the suspects
	suspects     []int            // versions
	alternatives []int            // earlier versions, latest first
}

// readVersions separates suspects from alternatives. Each version from the earliest suspect to the active one is a suspect,
// because it was trained from its predecessor. Versions that are withdrawn or newer than the active one are neither: the
// watchdog or a person has returned from them to an older version.
func (c *comparison) readVersions(ctx context.Context) error {
	stored, err := c.trainer.store.ModelVersions(ctx, c.active.Task)
	if err != nil {
		return err
	}
	for _, m := range stored { // newest first
		switch {
		case m.Withdrawn, m.Version > c.active.Version:
		case m.Version >= c.earliest:
			c.suspects = append(c.suspects, m.Version)
		default:
			c.alternatives = append(c.alternatives, m.Version)
		}
	}
	return nil
}

// decide rolls back to the latest alternative that outperforms the suspects, if there is one.
func (c *comparison) decide(ctx context.Context) (target int, reason string, err error) {
	for _, version := range c.alternatives[:min(len(c.alternatives), maxAlternatives)] {
		better, err := c.isOutperformedBy(ctx, version)
		if err != nil {
			return 0, "", err
		}
		if better {
			return c.rollBack(ctx, version)
		}
	}
	c.trainer.log.InfoContext(ctx, "more tries were killed than promised, and no compared earlier version does clearly better",
		"task", c.active.Task.String(), "tries", len(c.promises))
	return 0, "", nil
}

func (c *comparison) rollBack(ctx context.Context, version int) (target int, reason string, err error) {
	killed, promised := 0, 0.0
	for _, p := range c.promises {
		promised += p.Risk
		if p.Killed {
			killed++
		}
	}
	reason = fmt.Sprintf("of %d first tries answered by version %d and later, %d were killed where %.2g were promised, and version %d would have held",
		len(c.promises), c.earliest, killed, promised, version)
	err = c.trainer.store.RollBack(sizing.WithActor(ctx, store.Watchdog), store.Rollback{
		Task: c.active.Task, From: c.active.Version, To: version, Withdrawn: c.suspects, Reason: reason,
	})
	if err != nil {
		return 0, "", err
	}
	c.trainer.log.WarnContext(ctx, "model rolled back", "task", c.active.Task.String(),
		"from", c.active.Version, "to", version, "reason", reason)
	return version, reason, nil
}

// isOutperformedBy reports whether clearly fewer tries of the suspects would have been killed with the grants of a stored
// version.
func (c *comparison) isOutperformedBy(ctx context.Context, version int) (bool, error) {
	stored, err := c.trainer.store.Model(ctx, c.active.Task, version)
	if sizing.KindOf(err) == sizing.NotFound {
		return false, nil // another replica published a model, and the store then deleted this old version
	}
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
	replay(model, &rows, c.promises, func(p *sizing.Promise) {
		try := tries[mappedRun{p.RunID, p.MapIndex}]
		if try == nil || try.peak == 0 {
			return // the peak of the run is unknown
		}
		granted := model.Size(try.question(policy.WithDefaults())).Limit
		pairs.Record(p.Granted < try.needed(), granted < try.needed())
	})
	return pairs.LogStake > betterFrom, nil
}

type mappedRun struct {
	run      string
	mapIndex int
}

// endedTry is a first try with what is known about the memory that it needed.
type endedTry struct {
	features  sizing.Features
	requested sizing.Resources
	peak      sizing.Bytes // of the success; zero if unknown
	killed    sizing.Bytes // largest killed allocation; zero: no try was killed
}

// needed returns the memory that the run needed; zero if it is unknown. It assumes a peak above the killed allocation if the
// success of the run had a smaller peak. So a grant that is hardly larger than the killed one does not count as enough.
func (e *endedTry) needed() sizing.Bytes {
	if e.killed >= e.peak {
		return e.killed.Times(taskmodel.KilledPeakFactor)
	}
	return e.peak
}

func (e *endedTry) question(policy sizing.Policy) taskmodel.Question {
	return taskmodel.Question{
		Features: e.features, Requested: e.requested, RiskTarget: policy.RiskTarget, Floor: policy.Floor, Cap: policy.Cap,
	}
}

// firstTries returns the first try of each run, with the peak of the run's success and its largest killed allocation.
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
		switch peak, censoring := r.Peak(); censoring {
		case sizing.Exact, sizing.Sampled:
			tries[key].peak = peak
		case sizing.AtLeast:
			tries[key].killed = max(tries[key].killed, peak)
		}
	}
	return tries
}

// replay lets a model learn the rows in order. It calls `answer` for each promise when the model has learned as many rows as
// the model that made the promise had learned, or, if there are fewer rows, all of them.
func replay(model *taskmodel.Model, rows *sizing.History, promises []sizing.Promise, answer func(*sizing.Promise)) {
	promises = slices.Clone(promises)
	slices.SortStableFunc(promises, func(a, b sizing.Promise) int { return cmp.Compare(a.GuardVersion, b.GuardVersion) })
	next := 0
	answerUpTo := func(learned int64) {
		for ; next < len(promises) && promises[next].GuardVersion <= learned; next++ {
			answer(&promises[next])
		}
	}
	for i := range rows.Rows {
		if answerUpTo(int64(model.Tries)); next == len(promises) {
			return // later rows are not needed
		}
		model.Learn(taskmodel.NewTrainingRow(&rows.Schema, &rows.Rows[i]))
	}
	answerUpTo(math.MaxInt64)
}
