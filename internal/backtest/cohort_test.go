package backtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// As in the service, the cohort no longer sizes a task after a run of this task was killed with the cohort's amount, or with
// slightly less. Too few tasks of the cohort needed that much more than predicted.
func TestTheCohortDoesNotRepeatAKill(t *testing.T) {
	p := newLoadawarePolicy(Config{}.withDefaults())
	question := func(task, run string) Question {
		try := sizing.TryKey{TaskKey: sizing.TaskKey{DAG: "d", Task: task}, RunID: run, MapIndex: sizing.NoMap, Number: 1}
		return Question{Try: try, StartedAt: time.Unix(0, 0), Static: 64e9, Cap: 128e9}
	}
	for i := range 30 {
		q := question(fmt.Sprint("task", i), "run")
		require.NoError(t, p.Learn(Outcome{Question: q, Allocated: 64e9, Peak: 1e9 + sizing.Bytes(i)*1e7, Duration: time.Minute}))
	}
	first := p.Predict(question("new", "1"))
	require.Less(t, first.Limit, sizing.Bytes(8e9), "the cohort answers")
	require.NoError(t, p.Learn(Outcome{Question: question("new", "1"), Killed: true, Allocated: first.Limit, Duration: time.Minute}))
	assert.EqualValues(t, 64e9, p.Predict(question("new", "2")).Limit, "after the kill, a run gets the static request")

	require.NoError(t, p.Learn(Outcome{Question: question("other", "1"), Killed: true, Allocated: first.Limit * 9 / 10, Duration: time.Minute}))
	assert.EqualValues(t, 64e9, p.Predict(question("other", "2")).Limit, "after a kill just below the answer, a run gets the static request, too")
}

// A first run that requests more than any known task gets a share of its request. The cohort predicts this share
// from the shares that the other tasks used of their requests, and predicts more than all of these. After a kill, the
// retry gets the whole request, and the next run gets a larger share.
func TestALargerRequestIsSizedByItsShare(t *testing.T) {
	p := newLoadawarePolicy(Config{}.withDefaults())
	questionOf := func(task, run string, requested sizing.Bytes) Question {
		try := sizing.TryKey{TaskKey: sizing.TaskKey{DAG: "d", Task: task}, RunID: run, MapIndex: sizing.NoMap, Number: 1}
		return Question{Try: try, StartedAt: time.Unix(0, 0), Static: requested, Cap: 512e9}
	}
	for i := range 30 {
		q := questionOf(fmt.Sprint("task", i), "run", 6e9)
		require.NoError(t, p.Learn(Outcome{Question: q, Allocated: 6e9, Peak: 0.3e9 + sizing.Bytes(i)*1e7, Duration: time.Minute}))
	}
	first := p.Predict(questionOf("new", "1", 400e9))
	require.NotNil(t, first.Promised)
	require.Less(t, first.Limit, sizing.Bytes(200e9))
	require.Greater(t, first.Limit, sizing.Bytes(40e9), "the grant exceeds a tenth of the request, the largest known share")
	killed := questionOf("new", "1", 400e9)
	require.NoError(t, p.Learn(Outcome{Question: killed, Killed: true, Allocated: first.Limit, Duration: time.Minute}))
	killed.Above, killed.Try.Number = first.Limit, 2
	assert.EqualValues(t, 400e9, p.Predict(killed).Limit, "the retry gets the static request")
	next := p.Predict(questionOf("new", "2", 400e9))
	assert.Greater(t, next.Limit, first.Limit+first.Limit/2)
	assert.Less(t, next.Limit, sizing.Bytes(300e9))
}
