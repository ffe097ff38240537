package taskmodel_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/taskmodel"
)

// A release multiplies the peaks of all tasks of a DAG by three, while the tasks are in their cold start. After three runs at the
// new level, each task has learned this level itself, so the run score must not raise the grants further.
func TestTheRunScoreDoesNotCountALastingChange(t *testing.T) {
	const change, runs = 10, 30
	replay := func(ablation taskmodel.Ablation) (s dagResult) {
		for seed := range uint64(5) {
			d, rng := newDAG(t, ablation, make([]float64, 6), nil), newRand(seed)
			for n := range runs {
				run := fmt.Sprint("run-", n)
				for i := range d.tasks {
					gibs := 2 * math.Exp(0.05*rng.NormFloat64())
					if n >= change {
						gibs *= 3
					}
					sized, score := d.size(i, run)
					if n >= change+3 {
						s.add(&sized, gibs)
					}
					d.report(i, run, gibs, score)
				}
			}
		}
		return s
	}
	with, without := replay(taskmodel.Ablation{}), replay(taskmodel.Ablation{NoRunScores: true})
	t.Logf("with run scores: %.0f GiB wasted, %d of %d runs killed; without: %.0f GiB, %d", with.wasted, with.killed, len(with.limits), without.wasted, without.killed)
	assert.Less(t, with.wasted, 1.2*without.wasted)
	assert.Less(t, float64(with.killed), 0.015*float64(len(with.limits)))
}
