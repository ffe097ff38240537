package cohort

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// published returns a model of n tasks, as a replica opens it, and the rows of these tasks.
func published(t *testing.T, n int, r *rand.Rand) (*Model, []Row) {
	t.Helper()
	var rows []Row
	for i := range n {
		rows = append(rows, task(i, r))
	}
	blob, err := Fit(rows).MarshalBinary()
	require.NoError(t, err)
	m, err := Open(blob)
	require.NoError(t, err)
	return m, rows
}

func TestAPublishedModelLearnsFirstRunsAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	m, rows := published(t, 300, r)
	unseen := task(1000, r)
	unseen.Metadata["owner"] = []string{"0"} // a small task, so that the largest known peak does not bound its grant
	before, _ := m.Size(question(&unseen))

	assert.Same(t, m, m.Learn(&rows[0], math.NaN()), "a task that the training knows changes nothing")
	learned := m
	for i := range 16 {
		killed := task(2000+i, r)
		a, _ := m.Size(question(&killed))
		killed.Killed, killed.Peak = true, 4*float64(a.Limit)
		next := learned.Learn(&killed, math.NaN())
		require.NotSame(t, learned, next)
		assert.Same(t, next, next.Learn(&killed, math.NaN()), "a repeated report changes nothing")
		learned = next
	}
	after, _ := learned.Size(question(&unseen))
	assert.Greater(t, after.Limit, before.Limit)
	same, _ := m.Size(question(&unseen))
	assert.Equal(t, before, same, "Learn does not change its receiver")

	success := task(2000, r)
	a, _ := m.Size(question(&success))
	success.Peak = float64(a.Level)
	for i := range 16 {
		success.Task.Task = task(2000+i, r).Task.Task
		learned = learned.Learn(&success, math.NaN())
		assert.Same(t, learned, learned.Learn(&success, math.NaN()))
	}
	back, _ := learned.Size(question(&unseen))
	assert.Less(t, back.Limit, after.Limit, "the peaks replace the lower bounds of the kills")
}

// Learn takes the error of a run relative to the level that was predicted before the run. It does not predict the level
// again from the report, because the report of a kill often has no metadata.
func TestALearnedErrorCountsFromThePredictedLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	m, _ := published(t, 300, r)
	row := task(5000, r)
	level := m.Level(&row.Facts)
	row.Peak, row.Killed, row.Metadata = math.Exp(level+3), true, nil
	largest := func(m *Model) float64 { return m.errors[len(m.errors)-1].Error }
	require.Less(t, largest(m), 2.5)
	assert.InDelta(t, 3, largest(m.Learn(&row, level)), 1e-9)
	row.Peak = math.Inf(1)
	assert.Same(t, m, m.Learn(&row, level))
	row.Peak = 0
	assert.Same(t, m, m.Learn(&row, level))
	assert.Nil(t, (*Model)(nil).Learn(&row, level))
}

func TestTheTrainingKnowsKilledTasks(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	var rows []Row
	for i := range 300 {
		rows = append(rows, task(i, r))
	}
	killed := task(7000, r)
	killed.Killed, killed.Peak = true, 60e9
	m := Fit(append(rows, killed))
	assert.Same(t, m, m.Learn(&killed, math.NaN()))
	blob, err := m.MarshalBinary()
	require.NoError(t, err)
	opened, err := Open(blob)
	require.NoError(t, err)
	assert.Same(t, opened, opened.Learn(&killed, math.NaN()))
	killed.Peak = 70e9
	assert.NotSame(t, opened, opened.Learn(&killed, math.NaN()), "a kill of the same task with a larger allocation changes the model")
}

// A training with too few errors on unseen tasks uses a cross-validation, which uses successes only. Fit adds the errors of
// the killed tasks.
func TestTheTrainingKeepsTheMarginOfAKill(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 1))
	m, rows := published(t, 60, r)
	largest := func(m *Model) float64 { return m.errors[len(m.errors)-1].Error }
	killed := task(7000, r)
	killed.Killed, killed.Peak = true, math.Exp(m.Level(&killed.Facts)+5)
	require.InDelta(t, 5, largest(m.Learn(&killed, math.NaN())), 1e-9)

	trained := Fit(append(rows, killed))
	expected := math.Log(killed.Peak) - trained.Level(&killed.Facts)
	require.Greater(t, expected, 4.0)
	assert.InDelta(t, expected, largest(trained), 1e-9)
	assert.Same(t, trained, trained.Learn(&killed, math.NaN()), "a repeated report changes nothing")

	success := killed
	success.Killed, success.Peak = false, math.Exp(trained.Level(&killed.Facts))
	assert.Less(t, largest(trained.Learn(&success, math.NaN())), 4.0, "the peak replaces the lower bound of the kill")
	assert.Less(t, largest(Fit(append(rows, killed, success))), 4.0)
}

func TestLearnedTasksAreBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(14, 1))
	m, _ := published(t, 150, r)
	for i := range 3 * maxRecent {
		row := task(10_000+i, r)
		row.Killed = i%2 == 0
		m = m.Learn(&row, math.NaN())
	}
	assert.LessOrEqual(t, len(m.recent.added), maxRecent)
	assert.LessOrEqual(t, len(m.recent.killed), maxRecent)
	assert.LessOrEqual(t, len(m.errors), 150+2*maxRecent)
}

// Without trees, a model learns the ratio of peak to request of a success, and nothing from a kill.
func TestAModelWithoutTreesLearnsRatios(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 1))
	var rows []Row
	for i := range MinTasks {
		row := task(i%7, r)
		rows = append(rows, row)
	}
	m := Fit(rows)
	require.NotNil(t, m)
	require.Nil(t, m.trees)
	row := task(100, r)
	assert.True(t, math.IsNaN(m.Level(&row.Facts)))
	before := m.ratios.Tasks
	assert.Equal(t, before+1, m.Learn(&row, math.NaN()).ratios.Tasks)
	row.Killed = true
	assert.Same(t, m, m.Learn(&row, math.NaN()))
}

// A kill without metadata gets the metadata of the next try of the task.
func TestKillsWithoutMetadataAreCompleted(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 1))
	rows := []Row{task(1, r), task(1, r), task(2, r)}
	rows[0].Metadata, rows[0].Killed = nil, true
	rows[2].Metadata = nil
	completeMetadata(rows)
	assert.Equal(t, rows[1].Metadata, rows[0].Metadata)
	assert.Equal(t, sizing.Metadata(nil), rows[2].Metadata, "no other row of the task has any")
}

func TestALearnedRunChangesTheShareOfExceededRequests(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 3))
	var rows []Row
	for i := range 40 {
		row := task(i, r)
		row.Requested.Memory = sizing.Bytes(row.Peak * 1.2)
		rows = append(rows, row)
	}
	m := Fit(rows)
	require.Zero(t, m.Exceeded)
	for i := range 4 {
		row := task(100+i, r)
		row.Requested.Memory = sizing.Bytes(row.Peak / 2)
		killed := row
		killed.Killed, killed.Peak = true, float64(row.Requested.Memory)
		m = m.Learn(&killed, math.NaN())
		m = m.Learn(&row, math.NaN())
	}
	assert.InDelta(t, 4.0/44, m.Exceeded, 1e-9)
}
