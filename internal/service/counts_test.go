package service_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// ended is a first try that had 4 GiB of the 64 requested and took ten seconds.
func ended(run string, outcome sizing.Outcome, peak sizing.Bytes) sizing.Observation {
	return sizing.Observation{
		Try: try("counted", run, 1), Outcome: outcome, MemoryMax: peak, Duration: 10 * time.Second,
		Allocated: sizing.Resources{Memory: 4 * gib}, Requested: sizing.Resources{Memory: 64 * gib}, Features: rows(4),
	}
}

func TestWhatIsSavedIsCountedInByteSecondsAfterAllKills(t *testing.T) {
	r := newReplica(t)
	r.tell(ended("a", sizing.Success, gib), ended("b", sizing.OOMKilled, 0), ended("c", sizing.Failed, 2*gib))
	silent := ended("d", sizing.Success, 0) // its peak is not known
	r.tell(silent)
	r.tell(ended("a", sizing.Success, gib)) // said again
	timed := ended("e", sizing.Success, gib)
	timed.Duration, timed.StartedAt = 0, time.Unix(1000, 0)
	timed.EndedAt = timed.StartedAt.Add(10 * time.Second)
	r.tell(timed)

	spent := r.Counts().Spent
	const oneFor10s = float64(10 * gib)
	assert.InDelta(t, 2*64*oneFor10s, spent.Requested, 1, "two successes")
	assert.InDelta(t, 3*4*oneFor10s, spent.Allocated, 1, "and a kill")
	assert.InDelta(t, 2*1*oneFor10s, spent.Used, 1)
}

func TestAKillIsCountedOnceHoweverOftenItIsTold(t *testing.T) {
	r := newReplica(t)
	r.lift(ask("counted", "a"), 4*gib)
	r.tell(ended("a", sizing.OOMKilled, 0))
	r.tell(ended("a", sizing.OOMKilled, 0), ended("b", sizing.AppOOM, 0), ended("c", sizing.Success, gib))
	assert.Equal(t, map[sizing.Outcome]int{sizing.OOMKilled: 1, sizing.AppOOM: 1}, r.Counts().Kills)
}

func TestPromisesAreHeldAgainstWhatHappenedToFirstTriesThatWereAnsweredHere(t *testing.T) {
	r := newReplica(t)
	r.taught("counted", 60)
	assert.Zero(t, r.Counts().Held, "nobody was promised anything")
	promised := 0.0
	for _, run := range []string{"a", "b", "c"} {
		risk := r.answer(ask("counted", run)).Risk.Promised
		require.NotNil(t, risk)
		promised += *risk
	}
	r.tell(ended("a", sizing.Success, gib/2), ended("b", sizing.OOMKilled, 0), ended("elsewhere", sizing.Success, gib/2))
	risk := r.answer(later(ask("counted", "b"), 2)).Risk.Promised
	second := ended("b", sizing.Success, gib/2)
	second.Try.Number = 2
	r.tell(second)
	require.NotNil(t, risk)

	held := r.Counts().Held
	assert.Equal(t, 2, held.Tries)
	assert.Equal(t, 1, held.Killed)
	assert.InDelta(t, promised*2/3, held.Promised, 1e-12, "the same question, the same promise")
}

func TestWhatWaitsIsCounted(t *testing.T) {
	r := newReplica(t)
	assert.Nil(t, r.Counts().Backlog, "nobody looked yet")
	r.answer(ask("counted", "a"))
	assert.Equal(t, 1, r.Counts().Queued, "a receipt")
	r.taught("old", 60)
	r.taught("new", 60)
	counts := r.Counts()
	assert.Equal(t, 2, counts.Models)
	assert.True(t, counts.OldestModel.Before(counts.NewestModel))
	r.start()
	r.until(func() bool { return r.Counts().Queued == 0 && r.Counts().Backlog != nil }, "stored, and looked at")
	assert.Zero(t, r.Counts().Backlog.Waiting, "the debounce of these tests is an hour")
}

func TestTriesThatNobodyReportedAreCountedADayLater(t *testing.T) {
	first := newReplica(t).start()
	for _, run := range []string{"a", "b", "c", "d"} {
		first.answer(ask("counted", run))
	}
	first.tell(ended("a", sizing.Success, gib))
	first.stop() // the receipts are stored
	first.until(func() bool { return first.Counts().Queued == 0 }, "stored")
	assert.Nil(t, first.Counts().Unheard, "they may still run")

	second := join(t, first.dsn, service.Config{})
	second.ahead = 25 * time.Hour
	second.start()
	second.until(func() bool { return second.Counts().Unheard != nil }, "looked at")
	assert.Equal(t, service.UnreportedTries{Tries: 4, Unreported: 3}, *second.Counts().Unheard)
}
