package placement_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/insight/placement"
	"github.com/loadaware/loadaware/internal/insight/placement/placementtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func key(task int) sizing.TaskKey {
	return sizing.TaskKey{Namespace: "n", DAG: "d", Task: fmt.Sprint(task)}
}

// A task gets an estimate for a node type on which it has never run.
func TestEffectsOfNodeTypesWithoutRuns(t *testing.T) {
	var runs []placement.Run
	rng := rand.New(rand.NewPCG(1, 1))
	factor := map[string]float64{"slow": 1.5, "middle": 1, "fast": .6} // on the run time
	for task := range 12 {
		for i := range 40 {
			node := []string{"slow", "middle", "fast"}[i%3]
			if task == 0 && node == "fast" {
				continue
			}
			size := math.Exp(rng.NormFloat64())
			runs = append(runs, placement.Run{
				Task: key(task), Features: sizing.Features{"size": sizing.NumberValue(1e6 * size)}, Placement: sizing.Placement{NodeType: node},
				Seconds: 100 * size * factor[node] * math.Exp(.1*rng.NormFloat64()),
			})
		}
	}
	e := placement.Fit(runs)
	assert.Equal(t, []string{"fast", "middle", "slow"}, e.NodeTypes())
	for task := range 2 {
		effect := e.Effect(key(task), sizing.Placement{NodeType: "fast"}) - e.Effect(key(task), sizing.Placement{NodeType: "slow"})
		assert.InDelta(t, math.Log(.6/1.5), effect, .1, "task %d", task)
	}
	assert.Zero(t, e.Effect(key(0), sizing.Placement{NodeType: "unknown"}))
	assert.False(t, e.HasLoad())
}

// Large inputs mostly run on the fast nodes. The estimated effect of the nodes must not contain that of the inputs.
func TestTheEffectOfInputsIsNotAttributedToNodes(t *testing.T) {
	var runs []placement.Run
	rng := rand.New(rand.NewPCG(2, 1))
	for task := range 10 {
		for range 60 {
			size, node, factor := math.Exp(rng.NormFloat64()), "slow", 1.
			if size*math.Exp(.5*rng.NormFloat64()) > 1 {
				node, factor = "fast", .5
			}
			runs = append(runs, placement.Run{
				Task: key(task), Features: sizing.Features{"size": sizing.NumberValue(1e6 * size)}, Placement: sizing.Placement{NodeType: node},
				Seconds: 100 * size * factor * math.Exp(.1*rng.NormFloat64()),
			})
		}
	}
	e := placement.Fit(runs)
	assert.InDelta(t, math.Log(.5), e.Effect(key(3), sizing.Placement{NodeType: "fast"})-e.Effect(key(3), sizing.Placement{NodeType: "slow"}), .1)
}

func TestTheEffectOfTheLoadIsEstimated(t *testing.T) {
	var runs []placement.Run
	rng := rand.New(rand.NewPCG(3, 1))
	for task := range 5 {
		for range 80 {
			load := rng.Float64()
			runs = append(runs, placement.Run{Task: key(task), Placement: sizing.Placement{ClusterLoad: &load}, Seconds: 50 * math.Exp(.8*load+.1*rng.NormFloat64())})
		}
	}
	e := placement.Fit(runs)
	full, empty := 1., 0.
	for _, task := range []int{2, 99} { // 99 has no runs
		assert.InDelta(t, .8, e.Effect(key(task), sizing.Placement{ClusterLoad: &full})-e.Effect(key(task), sizing.Placement{ClusterLoad: &empty}), .1)
	}
	assert.True(t, e.HasLoad())
	assert.Zero(t, placement.Fit(nil).Effect(key(0), sizing.Placement{NodeType: "x", ClusterLoad: &full}))
}

func TestChangeValidateStatesTheValidValues(t *testing.T) {
	load := 1.5
	bad := (&placement.Change{From: "a\x00", To: sizing.Placement{NodeType: "b\x00", ClusterLoad: &load}}).Validate()
	assert.Equal(t, []sizing.FieldError{
		{Field: "node_type", Detail: "must be at most 200 characters without control characters"},
		{Field: "cluster_load", Detail: "must be 0 to 1"},
		{Field: "from_node_type", Detail: "must be at most 200 characters without control characters"},
	}, bad)
}

// For each generated task, the runs on one of the seven machine types are hidden from the estimation.
func TestExpectedRunTimesOnOtherMachinesAreClose(t *testing.T) {
	right, directed := 0, 0
	var errors []float64
	for seed := range uint64(3) {
		for _, o := range placementtest.Generate(seed, 5).Evaluate() {
			errors = append(errors, o.Error())
			if o.HasDirection() {
				directed++
				if o.IsRight() {
					right++
				}
			}
		}
	}
	require.Greater(t, directed, 300)
	slices.Sort(errors)
	t.Logf("direction right in %d of %d, median error %.3f", right, directed, errors[len(errors)/2])
	assert.GreaterOrEqual(t, float64(right)/float64(directed), .9, "share of changes whose direction (faster or slower) is right")
	assert.LessOrEqual(t, errors[len(errors)/2], .2, "median error")
}

func TestExpectReplacesFeatures(t *testing.T) {
	m := taskmodel.New()
	var runs []placement.Run
	rng := rand.New(rand.NewPCG(4, 1))
	for i := range 120 {
		n := 50 + 100*rng.Float64()
		f := sizing.Features{"n": sizing.NumberValue(n)}
		r := placement.Run{Task: key(0), Features: f, Seconds: 2 * n * math.Exp(.1*rng.NormFloat64())}
		runs = append(runs, r)
		m.Learn(taskmodel.TrainingRow{
			Seq: int64(i + 1), Features: f, Outcome: sizing.Success, Censoring: sizing.Exact, Peak: 1e9,
			Duration: time.Duration(r.Seconds * float64(time.Second)), FirstTry: true, Try: 1,
		})
	}
	e := placement.Fit(runs)
	x, ok := e.Expect(m, runs, &placement.Change{Set: sizing.Features{"n": sizing.NumberValue(150)}})
	require.True(t, ok)
	assert.Equal(t, 120, x.Runs)
	assert.InEpsilon(t, 200, x.Before.Median, .15)
	assert.InEpsilon(t, 300, x.After.Median, .15)
	assert.Less(t, x.After.P75-x.After.P25, x.Before.P75-x.Before.P25, "after the change, all runs have the same input")
	same, _ := e.Expect(m, runs, &placement.Change{})
	assert.Equal(t, same.Before, same.After, "an empty change has no effect")
	_, ok = e.Expect(taskmodel.New(), runs, &placement.Change{})
	assert.False(t, ok, "a model that has learned nothing predicts no run time")
}
