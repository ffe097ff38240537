package cohort

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// step is a task that each DAG of salesDAGs has.
type step struct {
	name          string
	peak, seconds float64 // typical peak in bytes, typical run time
}

// salesSteps are in the order in which a DAG runs them.
var salesSteps = []step{{"get_params", 0.15e9, 20}, {"extract", 1.5e9, 200}, {"features", 6e9, 900}, {"train", 18e9, 5400}, {"publish", 0.4e9, 60}}

// run returns a run of a step in a DAG. All tasks have the same request.
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

// salesDAGs returns three runs of n DAGs with the same steps, which run in the given order.
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
