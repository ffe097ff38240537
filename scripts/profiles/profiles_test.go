package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// teams contains the typical memory and run time of the tasks of each team.
var teams = []struct{ memory, seconds float64 }{{1e9, 60}, {20e9, 600}, {2e8, 5}, {60e9, 7200}, {5e9, 3000}}

// storedTries returns six runs of each of 300 tasks. The usage of a task depends on its team. The metadata of one task in
// ten name a random team. The other metadata are random, so that the most similar task often belongs to another team.
func storedTries() []sizing.ContextRow {
	r := rand.New(rand.NewPCG(1, 22))
	metadata, teamOf := make([]sizing.Metadata, 300), make([]int, 300)
	for i := range metadata {
		teamOf[i] = r.IntN(len(teams))
		metadata[i] = sizing.Metadata{"team": {fmt.Sprint(teamOf[i])}}
		if r.IntN(10) == 0 {
			metadata[i]["team"] = []string{fmt.Sprint(r.IntN(len(teams)))}
		}
		for name := range 6 {
			metadata[i][fmt.Sprint("other", name)] = []string{fmt.Sprint(r.IntN(4))}
		}
	}
	around := func(v float64) float64 { return v * math.Exp(0.1*r.NormFloat64()) }
	stored := make([]sizing.ContextRow, 1800)
	for i := range stored {
		task := i % len(metadata)
		team := teams[teamOf[task]]
		stored[i] = sizing.ContextRow{
			Task: sizing.TaskKey{Namespace: "n", DAG: "d", Task: fmt.Sprint("task", task)}, Metadata: metadata[task],
			HistoryRow: sizing.HistoryRow{Seq: int64(i + 1), Outcome: sizing.Success, MemoryMax: sizing.Bytes(around(team.memory)), Duration: time.Duration(around(team.seconds) * 1e9)},
		}
	}
	return stored
}

func TestProfilesArePredictedBeforeTheRun(t *testing.T) {
	h, err := newHistory(storedTries())
	require.NoError(t, err)
	require.Len(t, h.set.Profiles, len(teams))

	runs := h.evaluate(h.foldsOfRuns(1))
	assert.GreaterOrEqual(t, runs.predicted, 0.95, "if other runs of the task are known, almost every prediction must be right")
	tasks := h.evaluate(h.foldsOfTasks(1))
	assert.GreaterOrEqual(t, tasks.predicted, tasks.majority+0.1, "if no run of the task is known, the predictions must be better than the most frequent profile")
	assert.GreaterOrEqual(t, tasks.predicted, tasks.nearest+0.1)
	assert.InDelta(t, 0.92, tasks.predicted, 0.05, "the metadata of one task in ten name a random team")
	assert.Less(t, tasks.predicted, runs.predicted)
}

func TestATaskOfOutliersIsPredictedToBeAnOutlier(t *testing.T) {
	h, err := newHistory(storedTries())
	require.NoError(t, err)
	task := h.rows[0].Task
	for i := range h.rows {
		if h.rows[i].Task == task {
			h.labels[i] = 0
		}
	}
	p := h.learn(make([]int, len(h.rows)), 1)
	assert.Zero(t, p.predict(&h.rows[0].Facts))
}
