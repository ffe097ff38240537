package backtest

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// Config has the options of a replay. Its zero value is usable.
type Config struct {
	Policies       []string     // names that the function Policies returns; those of DefaultPolicies if empty
	Delayed        bool         // whether a policy learns a success when its try ends, not at once; it learns kills at once in both cases
	Skip           float64      // share of the rows, the oldest ones, that train the policies and do not count in the figures
	TimeToFailure  float64      // share of the duration after which a kill happens; 1 if zero
	DefaultRequest sizing.Bytes // the static request of a row without one; 4 GB if zero
	RiskTarget     float64      // risk target of loadaware's own policy; Settings.RiskTarget if zero
	// Settings has the settings of loadaware's own policy, such as a floor.
	Settings sizing.Policy
	// SimilarBy has names of metadata. For the first run of a task, Durations compares the predicted run time with the
	// mean of the earlier runs of the namespace that have the same values of these metadata. If SimilarBy is empty, the
	// mean is over all earlier runs of the namespace. If there is no such run, it is over all earlier runs of the trace.
	SimilarBy []string
	// NewModel returns the first model of a task for loadaware's own policy; taskmodel.New if nil.
	NewModel func() *taskmodel.Model
	// Workers bounds the goroutines that compute at the same time; GOMAXPROCS if zero. The results
	// do not depend on it.
	Workers int
	// IsBusy reports whether other work needs the processors. RunSettings calls it every yieldInterval,
	// and leaves half of the Workers (rounded down) unused while IsBusy returns true. It may be nil.
	IsBusy func() bool
	// Progress receives the number of newly replayed rows, from several goroutines at
	// once; it may be nil. The numbers of a complete Run sum to Config.Steps.
	Progress func(rows int)
	// OnStep receives every replayed row. The rows of one policy arrive in order; several policies call OnStep
	// concurrently. It may be nil.
	OnStep func(Step)

	workers *workers            // nil: a training runs within Learn
	fits    *taskmodel.FitCache // fits that replays share; nil: each replay fits for itself
}

// Step is one replayed row.
type Step struct {
	Policy   string
	Question               // question of the first try
	Answer                 // answer to this question
	Peak     sizing.Bytes  // measured peak of the run
	Duration time.Duration // of a try that is not killed
	Kills    int
	Wasted   float64 // byte-seconds of all tries
}

func (c Config) withDefaults() Config {
	c.TimeToFailure = cmp.Or(c.TimeToFailure, 1)
	c.DefaultRequest = cmp.Or(c.DefaultRequest, 4e9)
	c.Settings.RiskTarget = cmp.Or(c.RiskTarget, c.Settings.RiskTarget)
	c.Settings = c.Settings.WithDefaults()
	c.RiskTarget = c.Settings.RiskTarget
	if len(c.Policies) == 0 {
		c.Policies = DefaultPolicies()
	}
	c.Workers = cmp.Or(c.Workers, runtime.GOMAXPROCS(0))
	if c.Progress == nil {
		c.Progress = func(int) {}
	}
	if c.NewModel == nil {
		c.NewModel = taskmodel.New
	}
	if c.OnStep == nil {
		c.OnStep = func(Step) {}
	}
	return c
}

// Steps returns the total number of rows that Run reports to Progress, over these traces.
func (c Config) Steps(traces ...*Trace) int {
	steps := 0
	for _, t := range traces {
		steps += len(t.rows) * len(c.withDefaults().Policies)
	}
	return steps
}

// Run replays a trace for every policy, and at most Config.Workers policies at the same time. An unknown policy is an
// error of kind sizing.Invalid.
func Run(ctx context.Context, t *Trace, cfg Config) (*Report, error) {
	cfg = cfg.withDefaults()
	report := newReport(t, cfg)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(cfg.Workers)
	cfg.workers = newWorkers(ctx, cfg.Workers)
	cfg.fits = taskmodel.NewFitCache(cfg.workers.Weighted, 0)
	policies := make([]Policy, len(cfg.Policies))
	for i, name := range cfg.Policies { // before the first replay starts, because an error here would not stop running replays
		var err error
		if policies[i], err = newPolicy(name, cfg); err != nil {
			return nil, err
		}
	}
	for i, name := range cfg.Policies {
		group.Go(func() error {
			costs := newPolicyCosts()
			r := replay{trace: t, cfg: cfg, name: name, policy: policies[i], costs: costs}
			if err := r.run(ctx); err != nil {
				return fmt.Errorf("replay %s for %s: %w", t.Name, name, err)
			}
			report.Results[i] = costs.result(name)
			return nil
		})
	}
	return report, group.Wait()
}

type replay struct {
	trace   *Trace
	cfg     Config
	name    string
	policy  Policy
	costs   *policyCosts
	running outcomeQueue // with delayed feedback
}

const progressEvery = 64

func (r *replay) run(ctx context.Context) error {
	err := r.advance(ctx, 0, len(r.trace.rows))
	if last := r.finish(); err == nil {
		err = last
	}
	return err
}

// advance waits for a free worker, and then replays the rows from `from` to `to`-1.
func (r *replay) advance(ctx context.Context, from, to int) error {
	if !r.cfg.workers.Start() {
		return ctx.Err()
	}
	defer r.cfg.workers.Stop()
	for i := from; i < to; i++ {
		if err := r.running.deliver(r.trace.rows[i].StartedAt, r.policy.Learn); err != nil {
			return err
		}
		if err := r.row(i); err != nil {
			return err
		}
		if done := i + 1; done%progressEvery == 0 || done == len(r.trace.rows) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.cfg.Progress((done-1)%progressEvery + 1)
		}
	}
	return nil
}

// finish waits until no training of the policy runs. It returns the error of a failed training, if there is one.
func (r *replay) finish() error {
	p, trains := r.policy.(*loadawarePolicy)
	if !trains || !r.cfg.workers.Start() {
		return nil
	}
	defer r.cfg.workers.Stop()
	return p.finish()
}

// row calls Predict until an allocation is sufficient or the policy gives up. The policy learns kills at once, even with
// delayed feedback, because the next lift depends on them. So it knows a kill before the next row, even if the killed try
// ends after the start of that row in the time of the trace.
func (r *replay) row(i int) error {
	q := r.trace.question(i, r.cfg.DefaultRequest)
	sums := r.costs.newRow(q.Try.TaskKey)
	answer := r.policy.Predict(q)
	step := Step{Policy: r.name, Question: q, Answer: answer, Peak: r.trace.rows[i].MemoryMax, Duration: r.trace.rows[i].Duration}
	sums.promised, sums.limit = answer.Promised, answer.Limit
	for {
		if answer.Limit <= q.Above {
			if answer.Limit == 0 {
				sums.gaveUp = true
				break
			}
			return fmt.Errorf("row %d: policy answered %[3]d bytes after a kill at %[2]d bytes; a lift must be larger", i+1, q.Above, answer.Limit)
		}
		o := r.trace.outcome(i, q, answer.Limit, r.cfg.TimeToFailure)
		sums.attempt(&o, answer.ColdStart)
		if !o.Killed {
			if err := r.succeeded(o, i); err != nil {
				return err
			}
			break
		}
		if err := r.policy.Learn(o); err != nil {
			return err
		}
		q.Above = answer.Limit
		q.Try.Number++
		answer = r.policy.Predict(q)
	}
	r.costs.add(sums, &r.trace.rows[i], float64(i) >= r.cfg.Skip*float64(len(r.trace.rows)))
	step.Kills, step.Wasted = sums.kills(), sums.wasted
	r.cfg.OnStep(step)
	return nil
}

// succeeded reports a success at once or, with delayed feedback, at the end of the try.
func (r *replay) succeeded(o Outcome, row int) error {
	if r.cfg.Delayed && !r.trace.rows[row].startUnknown {
		r.running.add(o, row)
		return nil
	}
	return r.policy.Learn(o)
}
