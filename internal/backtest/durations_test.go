package backtest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The run times of twenty tasks grow with a size. Half of the tasks vary little, and the other
// half varies much.
func TestRunTimesOfSteadyAndVariableTasksAreCovered(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	var csv strings.Builder
	csv.WriteString("dag_id,task_id,run_id,started_at,duration_s,memory_max_bytes,feature.size\n")
	for run := range 60 {
		for task := range 20 {
			size := math.Exp(.8 * rng.NormFloat64())
			seconds := 100 * size * math.Exp([]float64{.05, .5}[task%2]*rng.NormFloat64())
			fmt.Fprintf(&csv, "d,t%02d,r%d,2020-01-%02dT%02d:%02d:00Z,%.2f,1e9,%.4f\n", task, run, 1+run/24, run%24, task, seconds, size)
		}
	}
	report, err := Durations(context.Background(), readTrace(t, csv.String()), Config{})
	require.NoError(t, err)
	assert.Equal(t, 20, report.Tasks)
	assert.Equal(t, report.Rows-2*report.Tasks, report.Scored, "all but the first two runs of each task")
	assert.Equal(t, 2, report.Shapes)
	assert.InDelta(t, .95, report.P95.Share, .03)
	assert.InDelta(t, .99, report.P99.Share, .01)
	assert.Less(t, report.Point[0].Median, report.Point[1].Median, "the size explains more than the mean of the past")
	require.NotEmpty(t, report.KS)
	// The paper that package shape follows reports a Kolmogorov–Smirnov distance 9.2 % below that of a regression.
	assert.Less(t, report.KS[1].Loadaware, (1-.092)*report.KS[1].Boosted,
		"after eight runs, loadaware's distributions are clearly nearer to the observed run times than the predictions of boosted trees")
	var out bytes.Buffer
	require.NoError(t, WriteDurations(&out, "table", []*DurationReport{report}))
	assert.Contains(t, out.String(), "running mean of the task")
	require.Error(t, WriteDurations(&out, "csv", nil))
}
