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

// Many callers predict, report, lift, train, change policies and look at profiles
// while models are swapped under them. Every acknowledged try is stored once and
// learned once, whichever of swap and learning came first. Run it with -race.
func TestManyCallersAtOnceLoseAndDoubleNothing(t *testing.T) {
	r := newReplica(t)
	busy := join(t, r.dsn, service.Config{Poll: time.Millisecond}).start()
	const callers, each = 6, 12
	names := []string{"one", "two"}
	var working, meddling sync.WaitGroup
	for c := range callers {
		working.Go(func() {
			for i := range each {
				for _, name := range names {
					run := fmt.Sprintf("%d-%d", c, i)
					question := ask(name, run)
					granted := busy.answer(question)
					kill := success(name, i, each)
					if kill.Try.RunID = run; i%6 == 5 {
						lift := busy.lift(question, granted.Memory.Limit)
						assert.True(t, lift.Retry, lift.Reason)
						assert.Equal(t, 2, lift.Attempt)
						kill.Try.Number = 2
					}
					busy.tell(kill)
					assert.True(t, busy.tell(kill)[0].Duplicate)
				}
			}
		})
	}
	done := make(chan struct{})
	for _, name := range names {
		for _, meddle := range []func() error{
			func() error { _, err := busy.Train(t.Context(), task(name)); return err },
			func() error { return busy.SetPolicy(t.Context(), task(name), sizing.Policy{Floor: gib / 8}) },
			func() error { _, err := busy.Task(t.Context(), task(name)); busy.Readiness(); return err },
		} {
			meddling.Go(func() {
				for {
					select {
					case <-done:
						return
					case <-time.After(3 * time.Millisecond):
						if err := meddle(); err != nil && sizing.KindOf(err) != sizing.NotFound {
							assert.NoError(t, err)
						}
					}
				}
			})
		}
	}
	working.Wait()
	close(done)
	meddling.Wait()

	const tries = callers * (each + each/6)
	for _, name := range names {
		assert.Len(t, busy.history(name).Rows, tries, "stored")
		assert.Equal(t, tries, busy.told(name), "learned here")
	}
	follower := join(t, r.dsn, service.Config{}).start()
	for _, name := range names {
		assert.Equal(t, tries, follower.told(name), "learned by who starts now")
		_, err := busy.Train(t.Context(), task(name))
		require.NoError(t, err)
		assert.Equal(t, tries, busy.told(name), "trained")
	}
}

// A model that was loaded after the commit of a row, and before this process learned
// it, knows the row already.
func TestARowThatCameWithALoadedModelIsNotLearnedAgain(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 30)
	r.store.recorded.next(func() {
		_, err := r.Train(t.Context(), task("load"))
		assert.NoError(t, err)
	})
	late := success("load", 30, 30)
	r.tell(late)
	assert.Equal(t, 2, r.version("load"))
	assert.Equal(t, 31, r.told("load"))
}

// A row that arrives while a model is being loaded is learned by the old one, and
// again by the one that takes its place.
func TestARowThatComesWhileAModelIsLoadedIsNotLost(t *testing.T) {
	r := newReplica(t)
	r.taught("load", 30)
	r.store.read.next(func() { r.tell(success("load", 30, 30)) })
	_, err := r.Train(t.Context(), task("load"))
	require.NoError(t, err)
	assert.Equal(t, 2, r.version("load"))
	assert.Equal(t, 31, r.told("load"))
}

// A look at what is stored takes a while; what is published meanwhile is news to it.
func TestALookNeverForgetsWhatWasJustPublished(t *testing.T) {
	r := join(t, newReplica(t).dsn, service.Config{Poll: 300 * time.Millisecond}).start()
	looked := make(chan struct{})
	r.store.listed.next(func() {
		r.taught("load", 10)
		time.Sleep(100 * time.Millisecond) // its announcement is over, and heals nothing
		close(looked)
	})
	<-looked
	assert.Never(t, func() bool { return r.version("load") != 1 }, 100*time.Millisecond, time.Millisecond)
}

// What Run has started ends before it returns: nothing uses a store that is closed
// next.
func TestRunEndsWithAllThatItStarted(t *testing.T) {
	r := join(t, newReplica(t).dsn, service.Config{Poll: time.Millisecond}).start()
	looking := make(chan struct{})
	var underWay atomic.Bool
	r.store.listed.next(func() {
		underWay.Store(true)
		close(looking)
		time.Sleep(50 * time.Millisecond)
		underWay.Store(false)
	})
	<-looking
	r.stop()
	assert.False(t, underWay.Load())
}
