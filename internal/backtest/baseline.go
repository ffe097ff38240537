package backtest

import (
	"math"

	"github.com/loadaware/loadaware/internal/sizing"
)

type rule interface {
	// allocate returns the first allocation in bytes. A value that is not above 0, or NaN, means that the rule has no answer.
	allocate(q *Question) float64
	// learn receives one success.
	learn(o *Outcome)
}

// baseline is a Policy with the conventions that all baselines share. Each task has its own rule, which learns successes
// only. While the rule has no answer, the try gets the static request. No first allocation is above the cap. A kill
// doubles the allocation, up to Question.maxLift.
type baseline struct {
	newRule func(task int) rule // task is the number of the task in order of appearance
	rules   map[sizing.TaskKey]rule
}

func newBaseline(newRule func(task int) rule) *baseline {
	return &baseline{newRule: newRule, rules: map[sizing.TaskKey]rule{}}
}

// Predict implements Policy.
func (r *baseline) Predict(q Question) Answer {
	if q.Above > 0 {
		return Answer{Limit: min(2*q.Above, q.maxLift())}
	}
	v := r.rule(q.Try.TaskKey).allocate(&q)
	if !(v > 0) { // true for NaN, the result of inputs near the limits of float64
		return Answer{Limit: min(q.Static, q.Cap), ColdStart: true}
	}
	return Answer{Limit: sizing.Bytes(math.Ceil(min(v, float64(q.Cap))))}
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
