package backtest

import (
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

// rule is the sizing rule of one baseline for one task.
type rule interface {
	// allocate returns the first allocation in bytes; 0 or less if there is too little data.
	allocate(q *Question) float64
	// learn receives one success.
	learn(o *Outcome)
}

// baseline applies the conventions that all baselines share: one rule per task, which
// learns successes only; the static request while the rule has no answer; no first
// allocation above the cap; a kill doubles, up to the same bound as loadaware's lifts.
type baseline struct {
	newRule func(task int) rule // task is a number in order of appearance
	rules   map[sizing.TaskKey]rule
}

func newBaseline(newRule func(task int) rule) *baseline {
	return &baseline{newRule: newRule, rules: map[sizing.TaskKey]rule{}}
}

// Predict implements Policy.
func (r *baseline) Predict(q Question) Answer {
	if q.Above > 0 {
		return Answer{Limit: min(2*q.Above, q.reach())}
	}
	limit := q.Static
	if v := r.rule(q.Try.TaskKey).allocate(&q); v > 0 {
		limit = sizing.Bytes(math.Ceil(min(v, float64(q.Cap))))
	}
	return Answer{Limit: min(limit, q.Cap)}
}

// Learn implements Policy.
func (r *baseline) Learn(o Outcome) error {
	if !o.Killed {
		r.rule(o.Try.TaskKey).learn(&o)
	}
	return nil
}

func (r *baseline) rule(task sizing.TaskKey) rule {
	known, ok := r.rules[task]
	if !ok {
		known = r.newRule(len(r.rules))
		r.rules[task] = known
	}
	return known
}
