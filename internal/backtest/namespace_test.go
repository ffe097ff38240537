package backtest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// dagKind is a kind of DAG. The log-normal peaks of its tasks grow with the square root of the feature "rows".
type dagKind struct {
	name      string
	deviation float64 // of the log peak, without the effect of the feature "rows"
}

var steady, noisy = dagKind{"steady", 0.1}, dagKind{"noisy", 0.8}

// namespaceTrace returns the history of many tasks as CSV. A DAG has three tasks, and the kinds take turns by DAG. The first
// run of each task is two days after that of the task before it. Each task then runs daily.
func namespaceTrace(tasks, runs int, rng *rand.Rand, kinds ...dagKind) string {
	lines := make([]string, 0, tasks*runs)
	first := time.Date(2025, 1, 6, 2, 0, 0, 0, time.UTC)
	for j := range tasks {
		kind, level := kinds[j/3%len(kinds)], 2*math.Exp(rng.NormFloat64())
		for i := range runs {
			root := math.Exp(0.15 * rng.NormFloat64())
			peak := min(60, level*root*math.Exp(kind.deviation*rng.NormFloat64())) * (1 << 30)
			at := first.AddDate(0, 0, 2*j+i).Format(time.RFC3339)
			lines = append(lines, fmt.Sprintf("%s,dag_%d,%s_%d,r%d,600,%d,%.0f,%.0f\n", at, j/3, kind.name, j, i, 64<<30, peak, 1e5*root*root))
		}
	}
	slices.Sort(lines)
	return "started_at,dag_id,task_id,run_id,duration_s,memory_requested_bytes,memory_max_bytes,feature.rows\n" + strings.Join(lines, "")
}

type outcomes struct{ promised, killed float64 }

// isCalibrated reports whether the number of killed runs is close enough to the promised one, as docs/learning.md requires.
func (o *outcomes) isCalibrated() bool {
	return math.Abs(o.killed-o.promised) <= max(o.promised/2, 3*math.Sqrt(o.promised))
}

// sizeNamespace replays a trace, and returns the promised and killed runs by kind, without the first run of each task.
func sizeNamespace(t *testing.T, csv string) map[string]*outcomes {
	t.Helper()
	kinds, seen := map[string]*outcomes{}, map[string]bool{}
	_, err := Run(context.Background(), readTrace(t, csv), Config{Policies: []string{Loadaware}, OnStep: func(s Step) {
		kind, _, _ := strings.Cut(s.Try.Task, "_")
		if kinds[kind] == nil {
			kinds[kind] = &outcomes{}
		}
		if seen[s.Try.Task] && s.Promised != nil {
			kinds[kind].promised += *s.Promised
			kinds[kind].killed += float64(min(1, s.Kills))
		}
		seen[s.Try.Task] = true
	}})
	require.NoError(t, err)
	for name, o := range kinds {
		t.Logf("%s: %.1f promised, %.0f killed", name, o.promised, o.killed)
	}
	return kinds
}

// The few runs of three new tasks say little about the noise of their DAG, but the other DAGs of the namespace have
// hundreds of such runs.
func TestPromisesOfColdStartTasksUseTheOtherDAGs(t *testing.T) {
	for _, kind := range []dagKind{steady, noisy} {
		o := sizeNamespace(t, namespaceTrace(81, 8, rand.New(rand.NewPCG(1, 1)), kind))[kind.name]
		assert.True(t, o.isCalibrated(), kind.name)
	}
}

// The steady DAGs of a namespace do not make the promises of its noisy DAGs too small.
func TestSteadyDAGsDoNotLowerThePromisesOfNoisyDAGs(t *testing.T) {
	o := sizeNamespace(t, namespaceTrace(60, 12, rand.New(rand.NewPCG(2, 1)), steady, noisy))["noisy"]
	assert.True(t, o.isCalibrated())
}
