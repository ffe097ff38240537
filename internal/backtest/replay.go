package backtest

import (
	"cmp"
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Config holds the options of a replay. Its zero value is usable.
type Config struct {
	Policies       []string     // names from Policies; all if empty
	Delayed        bool         // a policy learns a peak when the try ends; else right after the prediction
	TimeToFailure  float64      // share of the duration after which a kill happens; 1 if zero
	DefaultRequest sizing.Bytes // the static request if a trace has none; 4 GB if zero
	// Progress receives the number of newly replayed rows, from several goroutines at
	// once; it may be nil. A complete replay adds up to Config.Steps.
	Progress func(rows int)
}

func (c Config) withDefaults() Config {
	c.TimeToFailure = cmp.Or(c.TimeToFailure, 1)
	c.DefaultRequest = cmp.Or(c.DefaultRequest, 4e9)
	if len(c.Policies) == 0 {
		c.Policies = Policies()
	}
	if c.Progress == nil {
		c.Progress = func(int) {}
	}
	return c
}

// Steps returns how many rows a Run of these traces reports to Progress in total.
func (c Config) Steps(traces ...*Trace) int {
	steps := 0
	for _, t := range traces {
		steps += len(t.rows) * len(c.withDefaults().Policies)
	}
	return steps
}

// Run replays a trace for every policy, GOMAXPROCS policies at a time. An unknown
// policy is an error of kind sizing.Invalid.
func Run(ctx context.Context, t *Trace, cfg Config) (*Report, error) {
	cfg = cfg.withDefaults()
	report := newReport(t, cfg)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range cfg.Policies {
		policy, err := newPolicy(name)
		if err != nil {
			return nil, err
		}
		group.Go(func() error {
			ledger := newLedger()
			r := replay{trace: t, cfg: cfg, policy: policy, ledger: ledger}
			if err := r.run(ctx); err != nil {
				return fmt.Errorf("replay %s for %s: %w", t.Name, name, err)
			}
			report.Results[i] = ledger.result(name)
			return nil
		})
	}
	return report, group.Wait()
}

// replay runs one policy over one trace.
type replay struct {
	trace   *Trace
	cfg     Config
	policy  Policy
	ledger  *ledger
	running delayed
}

// progressEvery is the number of rows between two progress reports.
const progressEvery = 64

func (r *replay) run(ctx context.Context) error {
	for i := range r.trace.rows {
		if err := r.running.due(r.trace.rows[i].StartedAt, r.policy.Learn); err != nil {
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

// row predicts until an allocation suffices and reports the outcome of every try.
// The policy learns kills at once, even with delayed feedback, because the next lift
// depends on them.
func (r *replay) row(i int) error {
	q := r.trace.question(i, r.cfg.DefaultRequest)
	entry := r.ledger.open(q.Try.TaskKey)
	answer := r.policy.Predict(q)
	entry.promise(answer.Promised)
	for {
		if answer.Limit <= q.Above {
			if answer.Limit == 0 {
				entry.giveUp()
				break
			}
			return fmt.Errorf("row %d: policy answered %[3]d bytes after a kill at %[2]d bytes; a lift must be larger", i+1, q.Above, answer.Limit)
		}
		o := r.trace.outcome(i, q, answer.Limit, r.cfg.TimeToFailure)
		entry.attempt(&o)
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
	r.ledger.close(entry, &r.trace.rows[i])
	return nil
}

func (r *replay) succeeded(o Outcome, row int) error {
	if r.cfg.Delayed {
		r.running.add(o, row)
		return nil
	}
	return r.policy.Learn(o)
}
