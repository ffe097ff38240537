package service_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// runBoth predicts and reports runs of a DAG with two tasks: extract, then load. A hidden factor multiplies both peaks of a
// run.
func (r *replica) runBoth(first, last int) {
	r.t.Helper()
	rng := rand.New(rand.NewPCG(uint64(first), 1))
	for i := first; i < last; i++ {
		factor := math.Exp(0.3 * rng.NormFloat64())
		for _, name := range []string{"extract", "load"} {
			a := ask(name, fmt.Sprint("run-", i))
			granted := r.predict(a).Memory.Limit
			o := succeeded(a, gib.Times(2*factor*math.Exp(0.05*rng.NormFloat64())))
			o.Allocated.Memory = max(granted, o.MemoryMax)
			r.report(o)
		}
	}
}

func (r *replica) trainBoth() {
	r.t.Helper()
	for _, name := range []string{"extract", "load"} {
		_, err := r.Train(r.t.Context(), task(name))
		require.NoError(r.t, err)
	}
}

func (r *replica) runScores(name string) map[string]float64 {
	scores := map[string]float64{}
	for _, row := range r.history(name).Rows {
		scores[row.RunID] = row.RunScore
	}
	return scores
}

func TestEarlierTasksOfARunChangeTheGrants(t *testing.T) {
	r := newReplica(t).start()
	r.runBoth(0, 24)
	r.trainBoth()
	next := ask("load", "next")
	before := r.predict(next)
	r.report(succeeded(ask("extract", "next"), 5*gib)) // 2 GiB are usual
	after := r.predict(next)
	assert.Greater(t, after.Memory.Limit, before.Memory.Limit+before.Memory.Limit/10, after.Reason)
	assert.Contains(t, after.Reason, "because earlier tasks of the run needed more than predicted")
	assert.NotContains(t, before.Reason, "earlier tasks")
	assert.Equal(t, before.Memory, r.predict(ask("load", "another")).Memory, "the report belongs to another run")
	assert.Equal(t, before.Memory, r.predict(ask("load", "")).Memory, "the question belongs to no run")
	assert.Equal(t, after.Memory, r.explain(next).Allocation.Memory)

	require.NoError(t, r.Void(t.Context(), try("extract", "next", 1)))
	assert.Equal(t, before.Memory, r.predict(ask("load", "next")).Memory, "the report was voided")
}

// A restarted replica does not know the errors of earlier tasks, but it knows the run scores of the tries in flight from
// their receipts.
func TestRunScoresAfterARestart(t *testing.T) {
	r := newReplica(t).start()
	r.runBoth(0, 24)
	r.trainBoth()
	for name, score := range r.runScores("extract") {
		require.Zero(t, score, "no task runs before extract: %s", name)
	}
	stored := r.runScores("load")
	assert.NotZero(t, stored["run-20"])
	r.runBoth(24, 30)
	learned := r.PoolShare(task("load")).ScoreProducts

	next := ask("load", "next")
	base := r.predict(ask("load", "other"))
	r.report(succeeded(ask("extract", "next"), 5*gib))
	shifted := r.predict(next)
	require.Greater(t, shifted.Memory.Limit, base.Memory.Limit)
	explained := r.explainPrediction(shifted.PredictionID)
	assert.Empty(t, explained.Note)
	r.stop()

	restarted := joinReplica(t, r.dsn, service.Config{}).start()
	assert.Equal(t, base.Memory, restarted.predict(ask("load", "next 2")).Memory)
	assert.InDelta(t, learned, restarted.PoolShare(task("load")).ScoreProducts, 1e-12, "both models learned the same scores")
	again := restarted.explainPrediction(shifted.PredictionID)
	assert.Equal(t, explained.Factors, again.Factors, "the explanation does not depend on the errors in memory")

	o := succeeded(next, 4*gib)
	o.Allocated.Memory = shifted.Memory.Limit
	restarted.report(o)
	assert.Greater(t, restarted.runScores("load")["next"], 0.5)
}

// The report of a retry has the score of the lift. A report that replaces a kill known only from the request for a lift keeps
// the score of the kill.
func TestRunScoresOfAKilledRun(t *testing.T) {
	r := newReplica(t).start()
	r.runBoth(0, 24)
	r.trainBoth()
	killedIn := func(run string) (first sizing.Ask, lift sizing.Lift, granted sizing.Bytes) {
		r.report(succeeded(ask("extract", run), 5*gib))
		first = ask("load", run)
		granted = r.predict(first).Memory.Limit
		return first, r.lift(first, granted), granted
	}
	first, lift, _ := killedIn("lifted")
	o := succeeded(nthTry(first, 2), lift.Memory.Limit-sizing.MiB)
	o.Allocated.Memory = lift.Memory.Limit
	r.report(o)
	r.runBoth(24, 26) // the same large peak in successive runs would count as a change of the task
	first, _, granted := killedIn("replaced")
	kill := sizing.Observation{Try: first.Try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: granted - sizing.MiB}}
	require.NotNil(t, r.report(kill)[0].Replaced)
	scores := map[string]float64{}
	for _, row := range r.history("load").Rows {
		scores[fmt.Sprint(row.RunID, " ", row.Try)] = row.RunScore
	}
	assert.Greater(t, scores["lifted 1"], 0.5)
	assert.InDelta(t, scores["lifted 1"], scores["lifted 2"], 1e-12)
	assert.Greater(t, scores["replaced 1"], 0.5)
}
