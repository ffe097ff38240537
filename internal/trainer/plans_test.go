package trainer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/ml/plan"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskplan"
	"github.com/loadaware/loadaware/internal/trainer"
)

// reportDetailed stores the runs [`from`, `to`) with series of 20 minutes that grow to 4 GiB.
func (s *hookedStore) reportDetailed(t *testing.T, name string, from, to int) {
	t.Helper()
	var obs []sizing.Observation
	for i := from; i < to; i++ {
		series := &sizing.Series{Step: 15 * time.Second}
		for step := range 80 {
			series.Memory = append(series.Memory, int64(sizing.GiB.Times(0.5+3.5*float64(step)/79)))
		}
		obs = append(obs, sizing.Observation{
			Try:     sizing.TryKey{TaskKey: task(name), RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Number: 1},
			Outcome: sizing.Success, MemoryMax: 4 * sizing.GiB, Duration: 20 * time.Minute, Allocated: sizing.Resources{Memory: 8 * sizing.GiB}, Detailed: series,
		})
	}
	recorded, err := s.Record(t.Context(), obs)
	require.NoError(t, err)
	for i := range recorded {
		require.NoError(t, recorded[i].Err)
	}
}

func (s *hookedStore) pooledRuns(t *testing.T) (runs float64) {
	t.Helper()
	stored, err := s.PlanPool(t.Context(), sizing.DefaultNamespace, 0)
	require.NoError(t, err)
	pool, err := taskplan.DecodePool(stored.Format, stored.Content)
	require.NoError(t, err)
	for _, ages := range pool.Classes {
		for _, rules := range ages {
			if len(rules) > 0 {
				runs += rules[0].Runs
			}
		}
	}
	return runs
}

// The pool counts each run of a task except the first one, once, even if the state of the task is learned again. A new pool
// counts all runs but the first of the tasks whose states are learned again, and only the newer runs of other tasks.
func TestAPlanThatIsLearnedAgainCountsNoRunTwiceInThePool(t *testing.T) {
	emptyCurve, err := taskplan.Encode(&taskplan.State{Learner: plan.Learner{Curves: make([]plan.Curve, 1)}})
	require.NoError(t, err)
	const ofFirstTask = " WHERE task = (SELECT min(task) FROM task_plan)"
	for name, c := range map[string]struct {
		damage string
		pooled float64
	}{
		"damaged state":              {"UPDATE task_plan SET content = 'nonsense'" + ofFirstTask, 12},
		"damaged states":             {"UPDATE task_plan SET content = 'nonsense'", 12},
		"a curve without points":     {fmt.Sprintf("UPDATE task_plan SET content = '\\x%x'", emptyCurve) + ofFirstTask, 12},
		"another format":             {"UPDATE task_plan SET format = format - 1; UPDATE plan_pool SET format = format - 1", 12},
		"damaged state and pool":     {"UPDATE task_plan SET content = 'nonsense'" + ofFirstTask + "; UPDATE plan_pool SET content = 'nonsense'", 6 + 2},
		"damaged pool, intact tasks": {"UPDATE plan_pool SET content = 'nonsense'", 2 + 2},
	} {
		st := newStore(t)
		tr := newTrainer(st, trainer.Config{})
		for _, task := range []string{"load", "save"} {
			st.reportDetailed(t, task, 0, 5)
		}
		require.NoError(t, tr.LearnPlans(t.Context(), time.Now()), name)
		require.InDelta(t, 4+4, st.pooledRuns(t), 0, name)
		st.sql(t, c.damage)
		for _, task := range []string{"load", "save"} {
			st.reportDetailed(t, task, 5, 7)
		}
		require.NoError(t, tr.LearnPlans(t.Context(), time.Now()), name)
		assert.InDelta(t, c.pooled, st.pooledRuns(t), 0, name)
		for _, name := range []string{"load", "save"} {
			stored, err := st.TaskPlan(t.Context(), task(name), 0)
			require.NoError(t, err, name)
			state, err := taskplan.Decode(stored.Format, stored.Content)
			require.NoError(t, err, name)
			assert.Equal(t, 7, state.Learner.Runs, name)
		}
	}
}
