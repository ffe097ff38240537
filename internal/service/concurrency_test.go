package service_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Callers predict, report, lift, train, change policies and read tasks while models are replaced. The store and each
// replica must contain each reported try once. Run this test with -race, too.
func TestEachReportOfConcurrentCallersIsLearnedOnce(t *testing.T) {
	r := newReplica(t)
	busy := joinReplica(t, r.dsn, service.Config{PollInterval: time.Millisecond}).start()
	const callers, runsEach = 6, 12
	names := []string{"one", "two"}
	var callersDone, othersDone sync.WaitGroup
	for c := range callers {
		callersDone.Go(func() {
			for i := range runsEach {
				for _, name := range names {
					run := fmt.Sprintf("%d-%d", c, i)
					question := ask(name, run)
					granted := busy.predict(question)
					report := success(name, i, runsEach)
					if report.Try.RunID = run; i%6 == 5 {
						lift := busy.lift(question, granted.Memory.Limit)
						assert.True(t, lift.Retry, lift.Reason)
						assert.Equal(t, 2, lift.Attempt)
						report.Try.Number = 2
					}
					busy.report(report)
					assert.True(t, busy.report(report)[0].Duplicate)
				}
			}
		})
	}
	done := make(chan struct{})
	for _, name := range names {
		for _, act := range []func() error{
			func() error { _, err := busy.Train(t.Context(), task(name)); return err },
			func() error { return busy.SetPolicy(t.Context(), task(name), sizing.Policy{Floor: gib / 8}) },
			func() error { _, err := busy.Task(t.Context(), task(name)); busy.Readiness(); return err },
		} {
			othersDone.Go(func() {
				for {
					select {
					case <-done:
						return
					case <-time.After(3 * time.Millisecond):
						if err := act(); err != nil && sizing.KindOf(err) != sizing.NotFound {
							assert.NoError(t, err)
						}
					}
				}
			})
		}
	}
	callersDone.Wait()
	close(done)
	othersDone.Wait()

	const tries = callers * (runsEach + runsEach/6)
	for _, name := range names {
		assert.Len(t, busy.history(name).Rows, tries, "all tries must be stored")
		assert.Equal(t, tries, busy.learnedRows(name), "this replica must learn each try once")
	}
	started := joinReplica(t, r.dsn, service.Config{}).start()
	for _, name := range names {
		assert.Equal(t, tries, started.learnedRows(name), "a replica that starts later must learn each try once")
		_, err := busy.Train(t.Context(), task(name))
		require.NoError(t, err)
		assert.Equal(t, tries, busy.learnedRows(name), "a model that is trained again must contain each try once")
	}
}

// If a model is loaded after a row is committed and before the replica learns the row, the model already contains the
// row.
func TestARowOfALoadedModelIsNotLearnedAgain(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 30)
	r.store.afterRecord.setNext(func() {
		_, err := r.Train(t.Context(), task("load"))
		assert.NoError(t, err)
	})
	newReport := success("load", 30, 30)
	r.report(newReport)
	assert.Equal(t, 2, r.modelVersion("load"))
	assert.Equal(t, 31, r.learnedRows("load"))
}

// Both the old and the new model learn a row that arrives while the new one is loaded.
func TestARowThatArrivesDuringALoadIsNotLost(t *testing.T) {
	r := newReplica(t)
	r.trainTask("load", 30)
	r.store.afterSince.setNext(func() { r.report(success("load", 30, 30)) })
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, 2, r.modelVersion("load"))
	assert.Equal(t, 31, r.learnedRows("load"))
}

// A try is predicted and reported while the new model is loaded. Its receipt is still in the outbox. The load finds the
// newest row, flushes the outbox, and reads the rows up to this row. If the report arrives before the load finds the newest
// row, the flush stores its receipt. If it arrives after the flush, the load must not read its row, because the model would
// learn it without the promise in the receipt.
func TestARowThatArrivesDuringALoadKeepsItsPromise(t *testing.T) {
	for _, isAfterFlush := range []bool{false, true} {
		r := newReplica(t)
		r.trainTask("load", 30)
		tryOnce := func() {
			a := ask("load", "run-30")
			r.predict(a)
			r.report(succeeded(a, gib))
		}
		r.store.beforeNewestSince.setNext(func() {
			if !isAfterFlush {
				tryOnce()
				return
			}
			r.store.beforeNewestSince.setNext(tryOnce)
		})
		_, err := r.Train(t.Context(), task("load"))
		require.NoError(t, err)
		assert.Equal(t, 31, r.learnedRows("load"), "the report arrives after the flush: %t", isAfterFlush)
		learned := r.PoolShare(task("load")).Promised
		r.start().stop() // stores the receipts
		restarted := joinReplica(t, r.dsn, service.Config{}).start()
		restarted.predict(ask("load", "run-31"))
		assert.NotZero(t, learned, "the report arrives after the flush: %t", isAfterFlush)
		assert.Equal(t, restarted.PoolShare(task("load")).Promised, learned, "the report arrives after the flush: %t", isAfterFlush)
	}
}

// A resync or a poll that listed the models before a training stored a new model must not remove this model.
func TestAListingKeepsAModelThatIsStoredMeanwhile(t *testing.T) {
	for _, isResync := range []bool{true, false} {
		r := joinReplica(t, newReplica(t).dsn, service.Config{PollInterval: 300 * time.Millisecond})
		if !isResync {
			r.start()
		}
		listed := make(chan struct{})
		r.store.afterListing.setNext(func() {
			r.trainTask("load", 10)
			time.Sleep(100 * time.Millisecond) // time to handle the notification of the new model, so that it cannot correct the effect of the outdated listing afterwards
			close(listed)
		})
		if isResync {
			r.start()
		}
		inTime(t, func() { <-listed })
		assert.Never(t, func() bool { return r.modelVersion("load") != 1 }, 100*time.Millisecond, time.Millisecond)
	}
}

// Run returns after all its loops have ended, so that the store can be closed.
func TestRunWaitsForItsLoops(t *testing.T) {
	r := joinReplica(t, newReplica(t).dsn, service.Config{PollInterval: time.Millisecond}).start()
	listing := make(chan struct{})
	var isListing atomic.Bool
	r.store.afterListing.setNext(func() {
		isListing.Store(true)
		close(listing)
		time.Sleep(50 * time.Millisecond)
		isListing.Store(false)
	})
	inTime(t, func() { <-listing })
	r.stop()
	assert.False(t, isListing.Load())
}
