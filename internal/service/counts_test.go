package service_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

func endedTry(run string, outcome sizing.Outcome, peak sizing.Bytes) sizing.Observation {
	return sizing.Observation{
		Try: try("counted", run, 1), Outcome: outcome, MemoryMax: peak, Duration: 10 * time.Second,
		Allocated: sizing.Resources{Memory: 4 * gib}, Requested: sizing.Resources{Memory: 64 * gib}, Features: rows(4),
	}
}

func TestUsageCountsSuccessesAndKills(t *testing.T) {
	r := newReplica(t)
	r.report(endedTry("a", sizing.Success, gib), endedTry("b", sizing.OOMKilled, 0), endedTry("c", sizing.Failed, 2*gib))
	unmeasured := endedTry("d", sizing.Success, 0) // the peak is unknown
	r.report(unmeasured)
	r.report(endedTry("a", sizing.Success, gib)) // a duplicate
	timed := endedTry("e", sizing.Success, gib)
	timed.Duration, timed.StartedAt = 0, time.Unix(1000, 0)
	timed.EndedAt = timed.StartedAt.Add(10 * time.Second)
	r.report(timed)

	usage := r.Counts().Usage
	const gibFor10s = float64(10 * gib)
	assert.InDelta(t, 2*64*gibFor10s, usage.Requested, 1, "the requests of the two successes with a known peak")
	assert.InDelta(t, 3*4*gibFor10s, usage.Allocated, 1, "the allocations of these successes and the kill")
	assert.InDelta(t, 2*1*gibFor10s, usage.Used, 1)
}

func TestADurationIsDerivedFromTheTimes(t *testing.T) {
	r := newReplica(t)
	end := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	timed := endedTry("a", sizing.Success, gib)
	timed.Duration, timed.StartedAt, timed.EndedAt = 0, end.Add(-time.Hour), end
	r.report(timed)
	wrongStart := endedTry("b", sizing.Success, gib) // a start at Unix time 0 is wrong
	wrongStart.Duration, wrongStart.StartedAt, wrongStart.EndedAt = 0, time.Unix(0, 0), end
	r.report(wrongStart)
	short := endedTry("c", sizing.Success, gib)
	short.Duration = sizing.BelowResolution
	r.report(short)
	short.Try.RunID, short.StartedAt, short.EndedAt = "d", end.Add(-time.Second/4), end
	r.report(short)
	var derived []time.Duration
	for _, row := range r.history("counted").Rows {
		derived = append(derived, row.Duration)
	}
	assert.Equal(t, []time.Duration{time.Hour, 0, time.Second / 4, time.Second / 2}, derived, "a reported duration of 0 s must count as a short one, not as an unknown one")
}

func TestAKillIsCountedOnce(t *testing.T) {
	r := newReplica(t)
	r.lift(ask("counted", "a"), 4*gib)
	r.report(endedTry("a", sizing.OOMKilled, 0))
	r.report(endedTry("a", sizing.OOMKilled, 0), endedTry("b", sizing.AppOOM, 0), endedTry("c", sizing.Success, gib))
	assert.Equal(t, map[sizing.Outcome]int{sizing.OOMKilled: 1, sizing.AppOOM: 1}, r.Counts().Kills)
}

// A lift request reports a provisional kill, which the report of the try replaces if it states another outcome or
// another amount.
func TestAReplacedProvisionalKillIsCountedOnce(t *testing.T) {
	for _, outcome := range []sizing.Outcome{sizing.OOMKilled, sizing.AppOOM} {
		r := newReplica(t)
		r.lift(ask("counted", "a"), 3*gib)
		r.report(endedTry("a", outcome, 0)) // 4 GiB were allocated
		profile, err := r.Task(t.Context(), task("counted"))
		require.NoError(t, err)
		assert.Equal(t, 1, profile.Kills)
		assert.Equal(t, map[sizing.Outcome]int{sizing.OOMKilled: profile.Kills, sizing.AppOOM: 0}, r.Counts().Kills, outcome)
		assert.InDelta(t, float64(10*4*gib), r.Counts().Usage.Allocated, 1, "only the report must count, because the provisional kill has no duration")
	}
}

// The pod of a try shows that the try was OOM-killed, before its reporter states a failure without a cause.
func TestAFailureThatThePodExplainsIsAKill(t *testing.T) {
	r := newReplica(t)
	pod := endedTry("a", sizing.OOMKilled, 0)
	pod.Provisional, pod.MemorySampled, pod.EndedAt = true, 2*gib, time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	r.report(pod)
	late := endedTry("a", sizing.Failed, 0)
	late.EndedAt = pod.EndedAt.Add(time.Second)
	recorded := r.report(late)
	require.NotNil(t, recorded[0].Replaced)
	profile, err := r.Task(t.Context(), task("counted"))
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1}, []int{profile.Observations, profile.Kills})
	assert.Equal(t, 1, r.Counts().Kills[sizing.OOMKilled])
	assert.InDelta(t, float64(10*4*gib), r.Counts().Usage.Allocated, 1, "the try must count once")
}

func TestPromisesAreComparedWithOutcomesOfFirstTries(t *testing.T) {
	r := newReplica(t)
	r.trainTask("counted", 60)
	assert.Zero(t, r.Counts().Promises, "no promise must be compared before a try is predicted")
	promised := 0.0
	for _, run := range []string{"a", "b", "c"} {
		risk := r.predict(ask("counted", run)).Risk.Promised
		require.NotNil(t, risk)
		promised += *risk
	}
	r.report(endedTry("a", sizing.Success, gib/2), endedTry("b", sizing.OOMKilled, 0), endedTry("not predicted", sizing.Success, gib/2))
	risk := r.predict(nthTry(ask("counted", "b"), 2)).Risk.Promised
	second := endedTry("b", sizing.Success, gib/2)
	second.Try.Number = 2
	r.report(second)
	require.NotNil(t, risk)

	check := r.Counts().Promises
	assert.Equal(t, 2, check.Tries)
	assert.Equal(t, 1, check.Killed)
	assert.InDelta(t, promised*2/3, check.Promised, 1e-12, "equal asks have equal promises")
}

func TestQueuesAndModelsAreCounted(t *testing.T) {
	r := newReplica(t)
	assert.Nil(t, r.Counts().Backlog, "the backlog is unknown before the first poll")
	r.predict(ask("counted", "a"))
	assert.Equal(t, 1, r.Counts().Queued, "the receipt of the prediction must be queued")
	r.trainTask("old", 60)
	r.trainTask("new", 60)
	counts := r.Counts()
	assert.Equal(t, 2, counts.Models)
	assert.True(t, counts.OldestModel.Before(counts.NewestModel))
	r.start()
	r.waitFor(func() bool { return r.Counts().Queued == 0 && r.Counts().Backlog != nil }, "the receipts must be stored and the backlog polled")
	assert.Zero(t, r.Counts().Backlog.Waiting, "no task is due, because the debounce of these tests is an hour")
}

func TestUnreportedTriesAreCountedAfterADay(t *testing.T) {
	first := newReplica(t).start()
	for _, run := range []string{"a", "b", "c", "d"} {
		first.predict(ask("counted", run))
	}
	first.report(endedTry("a", sizing.Success, gib))
	first.stop() // writes the receipts
	first.waitFor(func() bool { return first.Counts().Queued == 0 }, "the receipts must be stored")
	assert.Nil(t, first.Counts().Unreported, "the tries must not count on the first day, because they may still run")

	second := joinReplica(t, first.dsn, service.Config{})
	second.clockOffset = 25 * time.Hour
	second.start()
	second.waitFor(func() bool { return second.Counts().Unreported != nil }, "the unreported tries must be counted")
	assert.Equal(t, service.UnreportedTries{Tries: 4, Unreported: 3}, *second.Counts().Unreported)
}
