package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/testwait"
)

const waitTimeout, pollInterval = testwait.Limit, 10 * time.Millisecond

// debounce is the time from a report until its task is due, unless a configuration says otherwise.
const debounce = 2 * time.Second

func requireNoneDue(t *testing.T, st store.Store) {
	t.Helper()
	c, err := st.Claim(t.Context(), "none", time.Hour)
	requireKind(t, sizing.NotFound, err)
	require.Empty(t, c.Task)
}

// requireNoneDueWithin polls in the goroutine of the test: the last poll of require.Never may still run when require.Never
// returns, and would claim the next task of the test.
func requireNoneDueWithin(t *testing.T, st store.Store, limit time.Duration) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < limit; time.Sleep(pollInterval) {
		requireNoneDue(t, st)
	}
}

// requireNoneDueFor checks that no task can be claimed before begun + delay. On a slow machine the check may come
// later. Then a task may be claimed, and requireNoneDueFor makes it due again.
func requireNoneDueFor(t *testing.T, st store.Store, begun time.Time, delay time.Duration) {
	t.Helper()
	c, err := st.Claim(t.Context(), "none", time.Hour)
	if err == nil && time.Since(begun) >= delay {
		require.NoError(t, st.Finish(t.Context(), c, time.Now()))
		return
	}
	requireKind(t, sizing.NotFound, err)
}

func claim(t *testing.T, st store.Store, want sizing.TaskKey) store.Claim {
	t.Helper()
	c, err := st.Claim(t.Context(), "me", time.Hour)
	require.NoError(t, err)
	require.Equal(t, want, c.Task)
	require.Equal(t, "me", c.Owner)
	return c
}

func claimLater(t *testing.T, st store.Store, want sizing.TaskKey) store.Claim {
	t.Helper()
	var c store.Claim
	require.Eventually(t, func() bool {
		var err error
		c, err = st.Claim(t.Context(), "me", time.Hour)
		return err == nil
	}, waitTimeout, pollInterval)
	require.Equal(t, want, c.Task)
	return c
}

func finish(t *testing.T, st store.Store, c store.Claim) {
	t.Helper()
	require.NoError(t, st.Finish(t.Context(), c, time.Time{}))
}

func testTrainingQueue(t *testing.T, open func(*testing.T) store.Store) {
	key := task("due")
	hourAgo := time.Now().Add(-time.Hour)

	t.Run("a success makes its task due after the debounce, a kill at once", func(t *testing.T) {
		st := open(t)
		obs := runs(key, 3)
		begun := time.Now()
		recordNew(t, st, obs[0])
		requireNoneDueFor(t, st, begun, debounce)
		finish(t, st, claimLater(t, st, key))
		requireNoneDue(t, st)

		record(t, st, obs[0])
		_, err := st.Record(t.Context(), []sizing.Observation{kill(obs[0].Try, sizing.GiB)})
		require.NoError(t, err)
		requireNoneDueWithin(t, st, 3*time.Second) // duplicates and contradictions do not make the task due

		recordNew(t, st, kill(firstTry(key, "killed"), sizing.GiB))
		finish(t, st, claim(t, st, key))

		obs[0].Duration = time.Minute
		require.Equal(t, amended, statusOf(record(t, st, obs[0])[0]))
		finish(t, st, claimLater(t, st, key))
	})

	t.Run("a kill of a reproduced run makes its task due after the debounce", func(t *testing.T) {
		st := open(t)
		o := kill(firstTry(key, campaign.RunID(7, "0123456789abcdef", noon, 1)), sizing.GiB)
		o.Provisional = true
		begun := time.Now()
		recordNew(t, st, o)
		requireNoneDueFor(t, st, begun, debounce)
		finish(t, st, claimLater(t, st, key))

		o.Provisional = false
		begun = time.Now()
		require.Equal(t, amended, statusOf(record(t, st, o)[0]))
		requireNoneDueFor(t, st, begun, debounce)
		finish(t, st, claimLater(t, st, key))
	})

	t.Run("a task is due at the earliest of its times, and the task due longest is claimed first", func(t *testing.T) {
		st := open(t)
		keys := []sizing.TaskKey{task("a"), task("b"), task("c")}
		for i, key := range keys {
			require.NoError(t, st.SetPolicy(t.Context(), key, sizing.Policy{}))
			require.NoError(t, st.MarkDue(t.Context(), key, hourAgo.Add(-time.Duration(i)*time.Minute)))
			require.NoError(t, st.MarkDue(t.Context(), key, hourAgo), "a later time must change nothing")
		}
		for i := range keys {
			claim(t, st, keys[2-i])
		}
		requireNoneDue(t, st)
		require.NoError(t, st.SetPolicy(t.Context(), key, sizing.Policy{}))
		require.NoError(t, st.MarkDue(t.Context(), key, time.Now().Add(time.Hour)))
		requireNoneDue(t, st)
		requireKind(t, sizing.NotFound, st.MarkDue(t.Context(), task("unknown"), hourAgo))
	})

	t.Run("observations during a claim keep the task due for the next claim", func(t *testing.T) {
		st := open(t)
		recordNew(t, st, kill(firstTry(key, "1"), sizing.GiB))
		c := claim(t, st, key)
		recordNew(t, st, kill(firstTry(key, "2"), sizing.GiB))
		requireNoneDue(t, st)
		finish(t, st, c)
		finish(t, st, claim(t, st, key))
		requireNoneDue(t, st)
	})

	t.Run("Finish with a retry time makes the task due then", func(t *testing.T) {
		st := open(t)
		recordNew(t, st, kill(firstTry(key, "1"), sizing.GiB))
		require.NoError(t, st.Finish(t.Context(), claim(t, st, key), time.Now().Add(time.Hour)))
		requireNoneDue(t, st)
		require.NoError(t, st.MarkDue(t.Context(), key, hourAgo))
		require.NoError(t, st.Finish(t.Context(), claim(t, st, key), hourAgo))
		claim(t, st, key)
	})

	t.Run("Void makes the task due", func(t *testing.T) {
		st := open(t)
		o := kill(firstTry(key, "1"), sizing.GiB)
		recordNew(t, st, o)
		finish(t, st, claim(t, st, key))
		require.NoError(t, st.Void(t.Context(), o.Try))
		finish(t, st, claimLater(t, st, key))
	})

	t.Run("the backlog counts the due tasks", func(t *testing.T) {
		st := open(t)
		backlog := func() store.Backlog {
			b, err := st.Backlog(t.Context())
			require.NoError(t, err)
			return b
		}
		require.Zero(t, backlog())
		require.NoError(t, st.SetPolicy(t.Context(), key, sizing.Policy{}))
		require.NoError(t, st.MarkDue(t.Context(), key, time.Now().Add(time.Hour)))
		require.Zero(t, backlog(), "a task that is due later must not count")
		require.NoError(t, st.MarkDue(t.Context(), key, hourAgo))
		recordNew(t, st, kill(firstTry(task("other"), "1"), sizing.GiB))
		require.Equal(t, 2, backlog().Waiting)
		require.InDelta(t, time.Hour, backlog().Oldest, float64(10*time.Minute))
		claim(t, st, key)
		require.Equal(t, 1, backlog().Waiting)
		require.Less(t, backlog().Oldest, 10*time.Minute)
	})

	testLease(t, open)
}

func testLease(t *testing.T, open func(*testing.T) store.Store) {
	key := task("lease")
	const short = 200 * time.Millisecond

	t.Run("others may claim after a lease expires", func(t *testing.T) {
		st := open(t)
		recordNew(t, st, kill(firstTry(key, "1"), sizing.GiB))
		const lease = 3 * time.Second // long enough for the next check, unless the machine is very slow
		begun := time.Now()
		lost, err := st.Claim(t.Context(), "slow", lease)
		require.NoError(t, err)
		requireNoneDueFor(t, st, begun, lease)
		c := claimLater(t, st, key)
		require.NotEqual(t, lost.Token, c.Token)
		requireKind(t, sizing.Conflict, st.Renew(t.Context(), lost, time.Hour))
		requireKind(t, sizing.Conflict, st.Finish(t.Context(), lost, time.Time{}))
		finish(t, st, c)
		requireKind(t, sizing.Conflict, st.Finish(t.Context(), c, time.Time{}))
		requireNoneDue(t, st)
	})

	t.Run("a renewed lease is kept", func(t *testing.T) {
		st := open(t)
		recordNew(t, st, kill(firstTry(key, "1"), sizing.GiB))
		c, err := st.Claim(t.Context(), "me", short)
		require.NoError(t, err)
		require.NoError(t, st.Renew(t.Context(), c, time.Hour))
		requireNoneDueWithin(t, st, 3*short)
		finish(t, st, c)
	})

	t.Run("the lease of a deleted task is lost", func(t *testing.T) {
		st := open(t)
		recordNew(t, st, kill(firstTry(key, "1"), sizing.GiB))
		c := claim(t, st, key)
		require.NoError(t, st.DeleteTask(t.Context(), key))
		requireKind(t, sizing.Conflict, st.Renew(t.Context(), c, time.Hour))
		requireKind(t, sizing.Conflict, st.Finish(t.Context(), c, time.Now()))
	})
}

func testConcurrentClaims(t *testing.T, open func(*testing.T) store.Store) {
	const tasks, kills = 10, 12

	t.Run("a task has one claimer at a time, and claimers read all observations", func(t *testing.T) {
		st := open(t)
		key := func(i int) sizing.TaskKey { return task(fmt.Sprint("task ", i)) }
		var mu sync.Mutex
		owners, learned := map[sizing.TaskKey]string{}, map[sizing.TaskKey]int{}
		setOwner := func(c store.Claim) error {
			mu.Lock()
			defer mu.Unlock()
			if other, isOwned := owners[c.Task]; isOwned {
				return fmt.Errorf("%s claimed %s, which %s has claimed", c.Owner, c.Task, other)
			}
			owners[c.Task] = c.Owner
			return nil
		}
		done := func() bool {
			mu.Lock()
			defer mu.Unlock()
			for i := range tasks {
				if learned[key(i)] < kills {
					return false
				}
			}
			return true
		}
		work := func(ctx context.Context, owner string) error {
			c, err := st.Claim(ctx, owner, time.Hour)
			if err != nil {
				return err
			}
			if err := setOwner(c); err != nil {
				return err
			}
			h, err := st.History(ctx, c.Task, store.HistoryLimits{})
			if err != nil {
				return err
			}
			mu.Lock()
			delete(owners, c.Task)
			learned[c.Task] = h.Total
			mu.Unlock()
			return st.Finish(ctx, c, time.Time{})
		}
		deadline := time.Now().Add(waitTimeout)
		inParallel(t, 8, func(ctx context.Context, worker int) error {
			if worker < 2 { // two writers
				for i := range tasks * kills / 2 {
					o := kill(firstTry(key(i%tasks), fmt.Sprint(worker, "/", i)), sizing.GiB)
					if _, err := st.Record(ctx, []sizing.Observation{o}); err != nil {
						return err
					}
				}
				return nil
			}
			// An observation that arrives between a claim and the read of the history makes the
			// task due again although it was read. So claimers continue until nothing is due.
			for {
				err := work(ctx, fmt.Sprint("claimer ", worker))
				switch {
				case sizing.KindOf(err) == sizing.NotFound && done():
					return nil
				case except(sizing.NotFound, err) != nil:
					return err
				case time.Now().After(deadline):
					return fmt.Errorf("not all observations were read within %v", waitTimeout)
				}
			}
		})
		requireNoneDue(t, st)
	})

	t.Run("each due task is claimed once", func(t *testing.T) {
		st := open(t)
		for i := range tasks * kills {
			recordNew(t, st, kill(firstTry(task(fmt.Sprint(i)), "r"), sizing.GiB))
		}
		var mu sync.Mutex
		claims := map[sizing.TaskKey]int{}
		inParallel(t, 8, func(ctx context.Context, worker int) error {
			for {
				c, err := st.Claim(ctx, fmt.Sprint(worker), time.Hour)
				if err != nil {
					return except(sizing.NotFound, err) // none is due
				}
				mu.Lock()
				claims[c.Task]++
				mu.Unlock()
				if err := st.Finish(ctx, c, time.Time{}); err != nil {
					return err
				}
			}
		})
		require.Len(t, claims, tasks*kills)
		for key, times := range claims {
			require.Equal(t, 1, times, "%s", key)
		}
	})
}

func except(kind sizing.Kind, err error) error {
	if sizing.KindOf(err) == kind {
		return nil
	}
	return err
}
