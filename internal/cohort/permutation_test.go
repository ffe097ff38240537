package cohort

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/usageprofile"
)

// step is a task that each DAG of salesDAGs has.
type step struct {
	name          string
	peak, seconds float64 // typical peak in bytes, typical run time
}

// salesSteps are in the order in which a DAG runs them.
var salesSteps = []step{{"get_params", 0.15e9, 20}, {"extract", 1.5e9, 200}, {"features", 6e9, 900}, {"train", 18e9, 5400}, {"publish", 0.4e9, 60}}

// run returns a row of the step in a DAG. The request is the same for all steps.
func (s step) run(dag string, r *rand.Rand) Row {
	return Row{
		Facts: Facts{
			Task:      sizing.TaskKey{Namespace: "n", DAG: dag, Task: s.name},
			Features:  sizing.Features{"rows": sizing.NumberValue(1e6 * math.Exp(0.2*r.NormFloat64()))},
			Requested: sizing.Resources{Memory: 24e9},
		},
		Peak: s.peak * math.Exp(0.1*r.NormFloat64()), Seconds: s.seconds * math.Exp(0.1*r.NormFloat64()),
	}
}

// salesDAGs returns the rows of n DAGs, each of which runs the steps three times in the given order.
func salesDAGs(n int, steps []step) []Row {
	r := rand.New(rand.NewPCG(12, 1))
	var rows []Row
	for range 3 {
		for dag := range n {
			for _, s := range steps {
				rows = append(rows, s.run(fmt.Sprint("sales", dag), r))
			}
		}
	}
	return rows
}

// In all known DAGs, the first task is small (or, in the other order, large). The sizes of the tasks of a new DAG follow from
// the names of the tasks, not from the size of the first task of the known DAGs.
func TestTasksOfANewDAGAreNotSizedLikeTheFirstTaskOfTheKnownDAGs(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	largestFirst := []step{salesSteps[3], salesSteps[1], salesSteps[2], salesSteps[0], salesSteps[4]}
	for name, steps := range map[string][]step{"smallest first": salesSteps, "largest first": largestFirst} {
		m := Fit(salesDAGs(12, steps))
		require.NotNil(t, m, name)
		for _, s := range salesSteps {
			row := s.run("new", r)
			a, ok := m.Size(question(&row))
			require.True(t, ok, "%s: %s must have an answer", name, s.name)
			assert.Greater(t, float64(a.Limit), row.Peak, "%s: %s must not be killed", name, s.name)
			assert.Less(t, float64(a.Limit), 8*row.Peak, "%s: %s", name, s.name)
			seconds, ok := m.RunTimes.Predict(&row.Facts, OwnRuns{})
			require.True(t, ok)
			assert.InDelta(t, 0, math.Log(seconds.Median()/s.seconds), math.Log(6), "%s: run time of %s", name, s.name)
		}
	}
}

// In all known DAGs, the three tasks of a kind come one after the other, and each kind has its own image. The image of a
// new task decides on its profile and its GPU memory, whether its DAG is known or new.
func TestTheProfileOfANewTaskFollowsItsImage(t *testing.T) {
	kinds := []struct {
		image                  string
		memory, seconds, cores float64
		gpu                    float64
	}{{"etl", 0.3e9, 60, 0.2, 0}, {"agg", 8e9, 3600, 4, 0}, {"gpu", 30e9, 10800, 1, 20e9}}
	r := rand.New(rand.NewPCG(14, 1))
	around := func(v, spread float64) float64 { return v * math.Exp(spread*r.NormFloat64()) }
	task := func(dag, kind, k int) sizing.ContextRow {
		kd := kinds[kind]
		row := sizing.ContextRow{
			Task:     sizing.TaskKey{Namespace: "n", DAG: fmt.Sprint("dag", dag), Task: fmt.Sprintf("%s_%d_%d", kd.image, k, dag)},
			Metadata: sizing.Metadata{"image": {"img/" + kd.image + ":1"}, "owner": {fmt.Sprint("o", dag%3)}},
		}
		row.Outcome, row.Requested = sizing.Success, sizing.Resources{Memory: 64e9, CPU: 8}
		row.MemoryMax, row.Duration, row.CPUMax = sizing.Bytes(around(kd.memory, .2)), time.Duration(around(kd.seconds, .2)*1e9), sizing.Cores(around(kd.cores, .2))
		row.Usage = row.Usage.Set(sizing.CPUMean, kd.cores/2)
		if kd.gpu > 0 {
			row.Usage = row.Usage.Set(sizing.GPUMemoryMax, around(kd.gpu, .2))
		}
		return row
	}
	var rows []Row
	var runs []usageprofile.Run
	add := func(dag, kind, k int) {
		stored := task(dag, kind, k)
		stored.Seq = int64(len(rows) + 1)
		row, ok := RowOf(&stored)
		require.True(t, ok)
		run, ok := usageprofile.RunOf(&stored)
		require.True(t, ok)
		rows, runs = append(rows, row), append(runs, run)
	}
	for range 5 {
		for kind := range kinds {
			for dag := range 6 {
				for k := range 3 {
					add(dag, kind, k)
				}
			}
		}
	}
	set, err := usageprofile.Fit(runs, nil)
	require.NoError(t, err)
	require.Len(t, set.Profiles, len(kinds))
	p := FitProfiles(rows, set)
	require.NotNil(t, p)
	for dag := range 12 {
		for kind := range kinds {
			for k := 3; k < 6; k++ {
				stored := task(dag, kind, k)
				row, _ := RowOf(&stored)
				place, ok := p.Place(&row.Facts)
				require.True(t, ok)
				want := set.Place(&row.Usage).Profile.ID
				assert.Equal(t, want, place.Profile, "%v, confidence %.2f", row.Task, place.Confidence)
				if kinds[kind].gpu == 0 {
					assert.Zero(t, place.GPUMemory(.5), "%v", row.Task)
				} else {
					assert.InEpsilon(t, kinds[kind].gpu, place.GPUMemory(.5), .3, "%v", row.Task)
				}
			}
		}
	}
}
