package service_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

func at(o sizing.Observation, start time.Time) sizing.Observation {
	o.StartedAt, o.EndedAt, o.Duration = start, start.Add(5*time.Minute), 5*time.Minute
	return o
}

// All DAG runs of a task are deleted and created again, with the same run ids. The new runs need three times the memory.
func TestRunsThatAreCreatedAgainAreLearned(t *testing.T) {
	const n = 30
	r := newReplica(t)
	start := time.Now().Add(-100 * time.Hour)
	asks := make([]sizing.Ask, n)
	for i := range asks {
		asks[i] = steadyAsk(fmt.Sprint("run-", i))
		r.report(at(succeeded(asks[i], 2*gib+sizing.Bytes(i%7)*sizing.MiB), start.Add(time.Duration(i)*time.Hour)))
	}
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)

	kills := 0
	for i, a := range asks {
		peak, start := 6*gib+sizing.Bytes(i%7)*sizing.MiB, start.Add(time.Duration(n+i)*time.Hour)
		granted := r.predict(a).Memory.Limit
		if granted < peak {
			kills++
			killed := at(sizing.Observation{Try: a.Try, Outcome: sizing.OOMKilled, Features: a.Features, Allocated: sizing.Resources{Memory: granted}}, start)
			r.report(killed)
			lift := r.lift(a, granted)
			require.True(t, lift.Retry, lift.Reason)
			assert.Greater(t, lift.Memory.Limit, granted)
			a.Try.Number++
			start = start.Add(6 * time.Minute)
		}
		r.report(at(succeeded(a, peak), start))
	}
	assert.Less(t, kills, 8)
	assert.Greater(t, r.predict(steadyAsk("")).Memory.Limit, 6*gib)
	assert.Len(t, r.history("load").Rows, 2*n+kills)
}

// The request for a lift after a kill is the first report of the run that was created again.
func TestALiftOfARunThatWasCreatedAgainIsAnswered(t *testing.T) {
	r := newReplica(t).start()
	here, elsewhere := steadyAsk("here"), steadyAsk("elsewhere")
	for _, a := range []sizing.Ask{here, elsewhere} {
		r.report(at(succeeded(a, 2*gib), time.Now().Add(-2*time.Hour)))
	}
	granted := r.predict(here).Memory.Limit
	r.predict(elsewhere)
	r.stop() // stores the receipts
	other := joinReplica(t, r.dsn, service.Config{})
	for _, lift := range []sizing.Lift{r.lift(here, granted), other.lift(elsewhere, granted)} {
		require.True(t, lift.Retry, lift.Reason)
		assert.Greater(t, lift.Memory.Limit, granted)
	}
	runs := map[string]sizing.Outcome{}
	for _, row := range r.history("load").Rows {
		runs[row.RunID] = row.Outcome
	}
	assert.Equal(t, map[string]sizing.Outcome{
		"here (execution 1)": sizing.Success, "here": sizing.OOMKilled, "elsewhere (execution 1)": sizing.Success, "elsewhere": sizing.OOMKilled,
	}, runs)
}

// After a DAG run was deleted and created again, a late report of the deleted run must not end the new run in memory.
func TestALateReportOfAnEarlierExecutionDoesNotEndTheNewOne(t *testing.T) {
	r := newReplica(t)
	a := steadyAsk("again")
	r.report(at(succeeded(a, 3*gib), time.Now().Add(-time.Hour)))
	a.MaxMemory = 5 * gib
	r.predict(a)
	late := r.report(at(succeeded(a, 2*gib), time.Now().Add(-3*time.Hour)))[0]
	assert.True(t, late.Late)
	a.MaxMemory = 0
	lift := r.lift(a, 9*gib/2)
	require.True(t, lift.Retry, lift.Reason)
	assert.LessOrEqual(t, lift.Memory.Limit, 5*gib, "the cap of the prediction must apply to the lift")
}
