package service_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

func TestALargeBatchIsLearnedAfterItIsAcknowledged(t *testing.T) {
	r := newReplica(t)
	r.reportRuns("load", 250)
	require.Len(t, r.history("load").Rows, 250, "acknowledged reports are stored")
	r.waitFor(func() bool { return r.learnedRows("load") == 250 }, "the batch must be learned")
	r.reportRuns("load", 250)
	assert.Equal(t, 250, r.learnedRows("load"), "duplicates are not learned")
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	r.waitFor(func() bool { return r.learnedRows("load") == 250 }, "a training learns no row twice")
}

// A model replaces a high level of the peaks by a low one only after days, so it must know when each reported try ended.
func TestALastingFallOfPeaksIsLearnedFromReports(t *testing.T) {
	r := newReplica(t).start()
	begin := time.Now().AddDate(0, 0, -30)
	report := func(from, to int, level sizing.Bytes) {
		for i := from; i < to; i++ {
			o := succeeded(ask("load", fmt.Sprint("run-", i)), level.Times(1+float64(i%10)/50))
			o.EndedAt = begin.Add(time.Duration(i) * 4 * time.Hour)
			r.report(o)
		}
	}
	report(0, 100, 8*gib)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	report(100, 140, gib) // the last 40 of 140 runs, almost a week
	next := ask("load", "next")
	live := r.predict(next)
	assert.Less(t, live.Memory.Limit, 4*gib, live.Reason)
	r.stop()
	restarted := joinReplica(t, r.dsn, service.Config{}).start().predict(next)
	assert.Equal(t, restarted.Memory, live.Memory)
}

// A task reports 60 runs of 8 GiB. Then its older history of 400 runs of 2 GiB is imported.
func TestAnOlderHistoryImportedLaterDoesNotCountAsNew(t *testing.T) {
	r := newReplica(t).start()
	begin := time.Now().AddDate(0, 0, -10)
	report := func(from, to int, level sizing.Bytes) {
		var runs []sizing.Observation
		for i := from; i < to; i++ {
			o := succeeded(ask("load", fmt.Sprint("run", i)), level.Times(1+float64(i&7)/50))
			o.EndedAt, o.Allocated.Memory = begin.Add(time.Duration(i)*4*time.Hour), 64*gib
			runs = append(runs, o)
		}
		r.report(runs...)
	}
	report(0, 60, 8*gib)
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	next := ask("load", "next")
	before := r.predict(next)
	assert.Greater(t, before.Memory.Limit, 8*gib, before.Reason)

	report(-400, 0, 2*gib)
	r.waitFor(func() bool { return r.learnedRows("load") == 460 }, "the imported runs must be learned")
	assert.Equal(t, before.Memory, r.predict(next).Memory, "the imported runs ended before those that were learned first")

	trained, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	require.True(t, trained.Published, trained.Reason)
	after := r.predict(next)
	assert.Greater(t, after.Memory.Limit, 8*gib, after.Reason)
	assert.Less(t, after.Memory.Limit, 14*gib, after.Reason)
	assert.Equal(t, 460, r.learnedRows("load"))

	report(60, 70, 8*gib)
	assert.Equal(t, 470, r.learnedRows("load"), "later runs are learned as usual")
	assert.Greater(t, r.predict(next).Memory.Limit, 8*gib)
}

func TestConcurrentReportsAreAllLearned(t *testing.T) {
	r := newReplica(t)
	for n := range 5 {
		r.report(success("load", n, 165))
		assert.Equal(t, n+1, r.learnedRows("load"))
	}
	var callers sync.WaitGroup
	for caller := range 16 {
		callers.Go(func() {
			for n := range 10 {
				r.report(success("load", 5+10*caller+n, 165))
			}
		})
	}
	callers.Wait()
	r.waitFor(func() bool { return r.learnedRows("load") == 165 }, "all reports must be learned")
}

// A training compares promises with outcomes. A requested training first stores the queued receipts of its replica, so
// that it knows the promise of every reported try, and the model does not depend on the speed of the outbox.
func TestATrainingKnowsThePromisesOfReportedTries(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 60)
	promised := map[string]float64{}
	for i := range 40 {
		run := fmt.Sprint("predicted-", i)
		answer := r.predict(ask("load", run))
		require.NotNil(t, answer.Risk.Promised)
		promised[run] = *answer.Risk.Promised
		o := success("load", i, 60)
		o.Try = try("load", run, 1)
		r.report(o)
	}
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	known := map[string]float64{}
	for _, row := range r.history("load").Rows {
		if row.Promised != nil {
			known[row.RunID] = *row.Promised
		}
	}
	assert.Equal(t, promised, known)
}
