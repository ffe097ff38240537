package trainer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/ml/sequential"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// The watchdog stands before every training, and every OOM kill brings one at once.
//
//	promises ──▶ more kills than promised? ──no──▶ train
//	                     │ yes
//	                     ▼
//	     would an earlier version have held? ──no──▶ train: the task has changed
//	                     │ yes
//	                     ▼
//	     back to it; what broke its promise is withdrawn
//
// The first question is whether the kills of the newest receipts were ever too many, not
// whether they still are: a model that learns from its kills heals before the watchdog
// has its turn, and what was published is bad all the same. Alone it would blame a
// model for a task that needs more today than yesterday. For the second, an earlier
// version is asked about the same tries, each when it was told of as many as the one
// that answered had been told of: tries that run side by side are all asked about
// before any of them ends.
const (
	watchOver    = 500   // newest receipts of first tries
	replayAtMost = 5_000 // rows of a replay
	rivalsAtMost = 3     // earlier versions that are held against the suspect
)

var (
	// In n tries of a model that is killed at most twice as often as it promised,
	// the first question is answered yes with probability at most n in 100,000.
	brokenFrom = math.Log(1e5)
	// Of tries that were not chosen by how they ended, an earlier version that is no
	// better is found better with probability at most one in fifty. These are chosen:
	// they end where the first question says. Hence a model within twice its promises is
	// protected by the first bound, and one that broke them may lose to its equal.
	betterFrom = math.Log(50)
)

// judge holds the active model to its promises, and reports the version that it went
// back to; 0 where nothing was withdrawn.
func (t *Trainer) judge(ctx context.Context, active *store.Model) (back int, reason string, err error) {
	promises, err := t.store.Promises(ctx, active.Task, watchOver)
	if err != nil {
		return 0, "", err
	}
	// What a later version answers elsewhere, before it is heard there that it is no
	// longer active, does not count.
	promises = slices.DeleteFunc(promises, func(p sizing.Promise) bool { return p.Version > active.Version })
	tries := make([]sequential.Try, len(promises))
	for i, p := range promises {
		tries[i] = sequential.Try{Promised: p.Risk, Killed: p.Killed}
	}
	from, to := sequential.Broken(tries, brokenFrom)
	if from < 0 {
		return 0, "", nil
	}
	// One version or more broke theirs: all that they answered until then is looked at
	// again. What they answer since, healed by what they learned, speaks for nobody.
	earliest := promises[from].Version
	c := &trial{trainer: t, active: active, earliest: earliest,
		broken: slices.DeleteFunc(promises[:to], func(p sizing.Promise) bool { return p.Version < earliest })}
	if err := c.summon(ctx); err != nil {
		return 0, "", err
	}
	return c.decide(ctx)
}

// trial is the second question.
type trial struct {
	trainer  *Trainer
	active   *store.Model
	earliest int              // version that is suspect
	broken   []sizing.Promise // of the suspects
	suspects []int
	rivals   []int // the latest first
}

// summon tells suspects from rivals: what was published since the earliest suspect went
// out from it.
func (c *trial) summon(ctx context.Context) error {
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

// decide goes back to the latest version that would have held.
func (c *trial) decide(ctx context.Context) (back int, reason string, err error) {
	for _, version := range c.rivals[:min(len(c.rivals), rivalsAtMost)] {
		better, err := c.outdoneBy(ctx, version)
		if err != nil {
			return 0, "", err
		}
		if better {
			return c.rollBack(ctx, version)
		}
	}
	c.trainer.log.InfoContext(ctx, "more tries are killed than were promised, and no earlier version would have held: the task has changed",
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
	reason = fmt.Sprintf("of %d first tries that version %d and those after it answered, %d were killed where %.2g were promised, and version %d would have held",
		len(c.broken), c.earliest, killed, promised, version)
	err = c.trainer.store.RollBack(sizing.WithActor(ctx, store.Watchdog), store.Rollback{
		Task: c.active.Task, From: c.active.Version, To: version, Withdrawn: c.suspects, Reason: reason,
	})
	if err == nil {
		c.trainer.log.WarnContext(ctx, "a model was rolled back", "task", c.active.Task.String(),
			"from", c.active.Version, "to", version, "reason", reason)
	}
	return version, reason, err
}

// outdoneBy reports whether a stored version would have held clearly more of the
// tries whose promises were broken.
func (c *trial) outdoneBy(ctx context.Context, version int) (bool, error) {
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
	rows, err := c.trainer.store.Since(ctx, c.active.Task, stored.LastSeq, replayAtMost)
	if err != nil {
		return false, err
	}
	tries := triesOf(&rows)
	var pairs sequential.Pairs
	replay(model, &rows, c.broken, func(p *sizing.Promise) {
		try := tries[first{p.RunID, p.MapIndex}]
		if try == nil || try.needed == 0 {
			return // the run never succeeded: nobody knows what it needs
		}
		granted := model.Size(try.question(policy.WithDefaults())).Limit
		pairs.Ended(p.Granted < try.needed, granted < try.needed)
	})
	return pairs.Log > betterFrom, nil
}

// first names the first try of one (run, map index).
type first struct {
	run      string
	mapIndex int
}

// ended is a first try, and what its run turned out to need; zero: not known.
type ended struct {
	features  sizing.Features
	requested sizing.Resources
	needed    sizing.Bytes
}

func (e *ended) question(policy sizing.Policy) fitting.Question {
	return fitting.Question{
		Features: e.features, Requested: e.requested, RiskTarget: policy.RiskTarget, Floor: policy.Floor, Cap: policy.Cap,
	}
}

// triesOf collects the first tries among rows.
func triesOf(rows *sizing.History) map[first]*ended {
	tries := map[first]*ended{}
	for i := range rows.Rows {
		r := &rows.Rows[i]
		key := first{r.RunID, r.MapIndex}
		if tries[key] == nil {
			tries[key] = &ended{}
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

// replay tells a model the rows in order, and asks about each promise when the model
// was told of as many tries as whoever made the promise.
func replay(model *fitting.Model, rows *sizing.History, promises []sizing.Promise, ask func(*sizing.Promise)) {
	promises = slices.Clone(promises)
	slices.SortStableFunc(promises, func(a, b sizing.Promise) int { return cmp.Compare(a.GuardVersion, b.GuardVersion) })
	next := 0
	askUpTo := func(told int64) {
		for ; next < len(promises) && promises[next].GuardVersion <= told; next++ {
			ask(&promises[next])
		}
	}
	for i := range rows.Rows {
		if askUpTo(int64(model.Tries)); next == len(promises) {
			return // what came since need not be learned
		}
		model.Learn(fitting.NewTrainingRow(&rows.Schema, &rows.Rows[i]))
	}
	askUpTo(math.MaxInt64)
}
