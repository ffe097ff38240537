package taskplan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/loadaware/loadaware/internal/ml/plan"
	"github.com/loadaware/loadaware/internal/ml/plan/plantest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskplan"
)

// A usage series has at most sizing.MaxPoints wide steps. Plans learned from such series must cost little more than plans
// learned from steps of plantest.Step seconds. Both costs are computed from the short steps.
func TestUsageSeriesSufficeForPlans(t *testing.T) {
	fixed, fine, coarse := 0.0, followed{}, followed{}
	for seed, family := range plantest.Families() {
		finePool, coarsePool := new(plan.Pool), new(plan.Pool)
		runs := plantest.Generate(family, 4, 15, uint64(seed))
		grants, states := map[string]float64{}, map[string][2]*taskplan.State{}
		for _, r := range runs {
			grants[r.Task], states[r.Task] = max(grants[r.Task], 1.1*slices.Max(r.Memory)), [2]*taskplan.State{{}, {}}
		}
		for _, r := range runs {
			state, grant := states[r.Task], grants[r.Task]
			run := taskplan.Run{RunID: r.ID, MapIndex: sizing.NoMap, Try: 1, Static: sizing.Resources{Memory: sizing.Bytes(grant)}}
			run.Series.Step = plantest.Step * time.Second
			for _, m := range r.Memory {
				run.Series.Memory = append(run.Series.Memory, int64(m))
			}
			if state[0].Learner.Runs > 0 {
				fixed += grant * plantest.Step * float64(len(r.Memory))
				fine.add(state[0], finePool, &run)
				coarse.add(state[1], coarsePool, &run)
			}
			state[0].Learn(finePool, &run)
			run.Series = widened(run.Series)
			state[1].Learn(coarsePool, &run)
		}
	}
	t.Logf("cost of the limits relative to static grants, and kills: learned from detailed series %.3f, %d; from usage series %.3f, %d", fine.cost/fixed, fine.kills, coarse.cost/fixed, coarse.kills)
	assert.Less(t, fine.cost, .9*fixed, "plans must cost clearly less than static grants")
	assert.Less(t, coarse.cost, fine.cost+.02*fixed)
	assert.LessOrEqual(t, coarse.kills, fine.kills+1)
}

// followed sums the byte-seconds of the limits of plans, and counts the runs that exceeded their limits.
type followed struct {
	cost  float64
	kills int
}

func (f *followed) add(s *taskplan.State, pool *plan.Pool, run *taskplan.Run) {
	var samples []plan.Sample
	for i, m := range run.Series.Memory {
		samples = append(samples, plan.Sample{Seconds: float64(i) * plantest.Step, Memory: float64(m)})
	}
	killed := 0
	for i, limit := range s.Learner.Plan(pool, float64(run.Static.Memory), taskplan.Timing).Follow(samples, plantest.Step, taskplan.Timing) {
		f.cost += limit * plantest.Step
		if samples[i].Memory > limit {
			killed = 1
		}
	}
	f.kills += killed
}

func widened(s sizing.Series) sizing.Series {
	for len(s.Memory) > sizing.MaxPoints {
		var pairs []int64
		for i := 0; i < len(s.Memory); i += 2 {
			pairs = append(pairs, max(s.Memory[i], s.Memory[min(i+1, len(s.Memory)-1)]))
		}
		s.Step, s.Memory = 2*s.Step, pairs
	}
	return s
}
