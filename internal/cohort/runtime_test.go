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

// timedTask returns the facts and the run time of task i. The run time depends on the owner, and each task deviates by 30 %.
func timedTask(i int, r *rand.Rand) (Facts, float64) {
	owner := r.IntN(4)
	return Facts{
		Task:     sizing.TaskKey{Namespace: "n", DAG: "d", Task: fmt.Sprint("task", i)},
		Metadata: sizing.Metadata{"owner": {fmt.Sprint(owner)}, "tags": {fmt.Sprint(r.IntN(3))}, "team": {fmt.Sprint(owner / 2)}},
		Features: sizing.Features{"plan": sizing.NumberValue(float64(r.IntN(10)))},
	}, []float64{20, 100, 600, 4000}[owner] * math.Exp(.3*r.NormFloat64())
}

func TestRunTimesOfNeverSeenTasksFollowTheMetadata(t *testing.T) {
	r, l := rand.New(rand.NewPCG(1, 4)), NewRunTimeLearner()
	rows, covered, near := 0, 0, 0
	for i := range 400 {
		f, seconds := timedTask(i, r)
		if p, ok := l.Model().Predict(&f, OwnRuns{}); ok && i >= 100 {
			rows++
			if seconds <= p.Quantile(.95) {
				covered++
			}
			if math.Abs(math.Log(p.Quantile(.5)/seconds)) < .5 {
				near++
			}
			assert.InDelta(t, .05, p.Above(p.Quantile(.95)), .05)
		}
		l.Add(&f, seconds)
	}
	require.Equal(t, 300, rows)
	assert.InDelta(t, .95, float64(covered)/float64(rows), .03)
	assert.Greater(t, float64(near)/float64(rows), .7)
}

// Three runs of a task took twice the predicted time. The prediction for the next run moves to about this time, and is narrower
// than the prediction without these runs.
func TestOwnRunsMoveThePrediction(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 4))
	var rows []Row
	for i := range 200 {
		f, s := timedTask(i, r)
		for range 3 {
			rows = append(rows, Row{Facts: f, Peak: 1e9, Seconds: s * math.Exp(.05*r.NormFloat64())})
		}
	}
	fitted := Fit(rows)
	blob, err := fitted.MarshalBinary()
	require.NoError(t, err)
	stored, err := Open(blob)
	require.NoError(t, err)
	m := stored.RunTimes
	require.NotNil(t, m)
	assert.Equal(t, fitted.RunTimes.unseen, m.unseen)
	f, _ := timedTask(1000, r)
	usual, ok := m.Predict(&f, OwnRuns{})
	require.True(t, ok)
	own, _ := m.Predict(&f, OwnRuns{Runs: 3, Mean: math.Log(2 * usual.Quantile(.5))})
	assert.InEpsilon(t, 2*usual.Quantile(.5), own.Quantile(.5), .2)
	assert.Less(t, own.Quantile(.95)/own.Quantile(.5), usual.Quantile(.95)/usual.Quantile(.5))
}

func TestFewTasksPredictNoRunTime(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	l := NewRunTimeLearner()
	for i := range MinTasks - 1 {
		f, seconds := timedTask(i, r)
		l.Add(&f, seconds)
	}
	f, _ := timedTask(99, r)
	_, ok := l.Model().Predict(&f, OwnRuns{})
	assert.False(t, ok)
	l.Add(&f, math.NaN())
	l.Add(&f, -1)
	assert.Nil(t, l.Model())
}
