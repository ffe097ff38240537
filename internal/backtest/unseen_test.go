package backtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

func unseenQuestion(task, owner string) Question {
	key := sizing.TaskKey{Namespace: "default", DAG: "d", Task: task}
	return Question{Try: sizing.TryKey{TaskKey: key}, Metadata: sizing.Metadata{"owner": {owner}}, Static: 8e9, Cap: 128e9}
}

func TestTasksWithoutHistoryAreSizedByTheNamespace(t *testing.T) {
	for name, want := range map[string]map[string]sizing.Bytes{
		"namespace-p97": {"small": 99e9, "large": 99e9},
		"nearest-task":  {"small": 2e9, "large": 128e9},
	} {
		p, err := NewPolicy(name, Config{})
		require.NoError(t, err)
		assert.Equal(t, sizing.Bytes(8e9), p.Predict(unseenQuestion("first", "small")).Limit, "without any history, the static request is used")
		require.NoError(t, p.Learn(Outcome{Question: unseenQuestion("a", "small"), Peak: 1e9, Duration: time.Hour}))
		for range 11 {
			require.NoError(t, p.Learn(Outcome{Question: unseenQuestion("b", "large"), Peak: 99e9, Duration: time.Hour}))
		}
		require.NoError(t, p.Learn(Outcome{Question: unseenQuestion("b", "large"), Killed: true, Allocated: 120e9}))
		for owner, limit := range want {
			assert.Equal(t, limit, p.Predict(unseenQuestion("new", owner)).Limit, name)
		}
		assert.Equal(t, sizing.Bytes(1e9), p.Predict(unseenQuestion("a", "large")).Limit, "a task with history gets its largest peak")
		other := unseenQuestion("new", "small")
		other.Try.Namespace = "other"
		assert.Equal(t, other.Static, p.Predict(other).Limit, "another namespace has no history, so the static request is used")
	}
	r := &nearest{}
	for i := range maxNeighbours + 5 {
		r.learn(&Outcome{Question: unseenQuestion(fmt.Sprint("t", i), "o"), Peak: 1e9})
	}
	assert.Len(t, r.tasks, maxNeighbours)
	assert.Len(t, r.byKey, maxNeighbours)
}

func TestSkippedRowsTrainAndDoNotCount(t *testing.T) {
	rows := repeatRows(20, func(i int) extremeRow { return extremeRow{float64(i), sizing.Bytes(1e9), 3600, time.Hour} })
	trace := extremeTrace(rows)
	all, err := Run(t.Context(), trace, Config{Policies: []string{"max"}})
	require.NoError(t, err)
	later, err := Run(t.Context(), trace, Config{Policies: []string{"max"}, Skip: 0.1})
	require.NoError(t, err)
	assert.Equal(t, 20, all.Results[0].Rows)
	assert.Equal(t, 18, later.Results[0].Rows)
	assert.Zero(t, later.Results[0].Ages[0].Rows, "the first run was skipped")
	assert.Equal(t, 3, later.Results[0].Ages[1].Rows)
	assert.Greater(t, later.Results[0].Utilisation, all.Results[0].Utilisation)
	assert.InDelta(t, 100, later.Results[0].Utilisation, 1e-9)
}
