package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// patience bounds every wait: far longer than a debounce or a lease of the exam.
const patience, interval = 30 * time.Second, 10 * time.Millisecond

func requireNoneDue(t *testing.T, st store.Store) {
	t.Helper()
	c, err := st.Claim(t.Context(), "nobody", time.Hour)
	requireKind(t, sizing.NotFound, err)
	require.Empty(t, c.Task)
}

func claim(t *testing.T, st store.Store, want sizing.TaskKey) store.Claim {
	t.Helper()
	c, err := st.Claim(t.Context(), "me", time.Hour)
	require.NoError(t, err)
	require.Equal(t, want, c.Task)
	require.Equal(t, "me", c.Owner)
	return c
}

// claimLater waits until a task is due.
func claimLater(t *testing.T, st store.Store, want sizing.TaskKey) store.Claim {
	t.Helper()
	var c store.Claim
	require.Eventually(t, func() bool {
		var err error
		c, err = st.Claim(t.Context(), "me", time.Hour)
		return err == nil
	}, patience, interval)
	require.Equal(t, want, c.Task)
	return c
}

func finish(t *testing.T, st store.Store, c store.Claim) {
	t.Helper()
	require.NoError(t, st.Finish(t.Context(), c, time.Time{}))
}

func examineDue(t *testing.T, open func(*testing.T) store.Store) {
	key := task("due")
	long := time.Now().Add(-time.Hour)

	t.Run("a run makes its task due after the debounce, a kill at once", func(t *testing.T) {
		st := open(t)
		obs := runs(key, 3)
		recordNew(t, st, obs[0])
		requireNoneDue(t, st)
		finish(t, st, claimLater(t, st, key))
		requireNoneDue(t, st)

		record(t, st, obs[0])
		_, err := st.Record(t.Context(), []sizing.Observation{kill(obs[0].Try, sizing.GiB)})
		require.NoError(t, err)
		require.Never(t, func() bool { _, err := st.Claim(t.Context(), "me", time.Hour); return err == nil }, 3*time.Second, 100*time.Millisecond,
			"a duplicate and a contradiction are no news")

		recordNew(t, st, kill(firstTry(key, "killed"), sizing.GiB))
		finish(t, st, claim(t, st, key))

		obs[0].Duration = time.Minute
		require.Equal(t, amended, verdict(record(t, st, obs[0])[0]))
		finish(t, st, claimLater(t, st, key))
	})

	t.Run("the earliest time counts, and the longest due comes first", func(t *testing.T) {
		st := open(t)
		keys := []sizing.TaskKey{task("a"), task("b"), task("c")}
		for i, key := range keys {
			require.NoError(t, st.SetPolicy(t.Context(), key, sizing.Policy{}))
			require.NoError(t, st.MarkDue(t.Context(), key, long.Add(-time.Duration(i)*time.Minute)))
			require.NoError(t, st.MarkDue(t.Context(), key, long), "later than before: no change")
		}
		for i := range keys {
			claim(t, st, keys[2-i])
		}
		requireNoneDue(t, st)
		require.NoError(t, st.SetPolicy(t.Context(), key, sizing.Policy{}))
		require.NoError(t, st.MarkDue(t.Context(), key, time.Now().Add(time.Hour)))
		requireNoneDue(t, st)
		requireKind(t, sizing.NotFound, st.MarkDue(t.Context(), task("unknown"), long))
	})

	t.Run("news during a claim keep the task due, but for one claimer at a time", func(t *testing.T) {
		st := open(t)
		recordNew(t, st, kill(firstTry(key, "1"), sizing.GiB))
		c := claim(t, st, key)
		recordNew(t, st, kill(firstTry(key, "2"), sizing.GiB))
		requireNoneDue(t, st)
		finish(t, st, c)
		finish(t, st, claim(t, st, key))
		requireNoneDue(t, st)
	})

	t.Run("a failure is tried again at its time", func(t *testing.T) {
		st := open(t)
		recordNew(t, st, kill(firstTry(key, "1"), sizing.GiB))
		require.NoError(t, st.Finish(t.Context(), claim(t, st, key), time.Now().Add(time.Hour)))
		requireNoneDue(t, st)
		require.NoError(t, st.MarkDue(t.Context(), key, long))
		require.NoError(t, st.Finish(t.Context(), claim(t, st, key), long))
		claim(t, st, key)
	})

	t.Run("what is taken back is to be learned anew", func(t *testing.T) {
		st := open(t)
		o := kill(firstTry(key, "1"), sizing.GiB)
		recordNew(t, st, o)
		finish(t, st, claim(t, st, key))
		require.NoError(t, st.Void(t.Context(), o.Try))
		finish(t, st, claimLater(t, st, key))
	})

	t.Run("the backlog is what is due and not claimed", func(t *testing.T) {
		st := open(t)
		backlog := func() store.Backlog {
			b, err := st.Backlog(t.Context())
			require.NoError(t, err)
			return b
		}
		require.Zero(t, backlog())
		require.NoError(t, st.SetPolicy(t.Context(), key, sizing.Policy{}))
		require.NoError(t, st.MarkDue(t.Context(), key, time.Now().Add(time.Hour)))
		require.Zero(t, backlog(), "due later")
		require.NoError(t, st.MarkDue(t.Context(), key, long))
		recordNew(t, st, kill(firstTry(task("other"), "1"), sizing.GiB))
		require.Equal(t, 2, backlog().Waiting)
		require.InDelta(t, time.Hour, backlog().Oldest, float64(10*time.Minute))
		claim(t, st, key)
		require.Equal(t, 1, backlog().Waiting)
		require.Less(t, backlog().Oldest, 10*time.Minute)
	})

	examineLease(t, open)
}

func examineLease(t *testing.T, open func(*testing.T) store.Store) {
	key := task("lease")
	const short = 200 * time.Millisecond

	t.Run("a lease that was not renewed is another's", func(t *testing.T) {
		st := open(t)
		recordNew(t, st, kill(firstTry(key, "1"), sizing.GiB))
		lost, err := st.Claim(t.Context(), "slow", 3*time.Second) // until we have looked
		require.NoError(t, err)
		requireNoneDue(t, st)
		c := claimLater(t, st, key)
		require.NotEqual(t, lost.Token, c.Token)
		requireKind(t, sizing.Conflict, st.Renew(t.Context(), lost, time.Hour))
		requireKind(t, sizing.Conflict, st.Finish(t.Context(), lost, time.Time{}))
		finish(t, st, c)
		requireKind(t, sizing.Conflict, st.Finish(t.Context(), c, time.Time{}))
		requireNoneDue(t, st)
	})

	t.Run("a lease that was renewed is kept", func(t *testing.T) {
		st := open(t)
		recordNew(t, st, kill(firstTry(key, "1"), sizing.GiB))
		c, err := st.Claim(t.Context(), "me", short)
		require.NoError(t, err)
		require.NoError(t, st.Renew(t.Context(), c, time.Hour))
		require.Never(t, func() bool { _, err := st.Claim(t.Context(), "other", time.Hour); return err == nil }, 3*short, interval)
		finish(t, st, c)
	})

	t.Run("the lease of a task that is gone is lost", func(t *testing.T) {
		st := open(t)
		recordNew(t, st, kill(firstTry(key, "1"), sizing.GiB))
		c := claim(t, st, key)
		require.NoError(t, st.DeleteTask(t.Context(), key))
		requireKind(t, sizing.Conflict, st.Renew(t.Context(), c, time.Hour))
		requireKind(t, sizing.Conflict, st.Finish(t.Context(), c, time.Now()))
	})
}

func examineClaimers(t *testing.T, open func(*testing.T) store.Store) {
	const tasks, kills = 10, 12

	t.Run("claimers never hold one task together, and learn all that writers tell", func(t *testing.T) {
		st := open(t)
		key := func(i int) sizing.TaskKey { return task(fmt.Sprint("task ", i)) }
		var mu sync.Mutex
		held, learned := map[sizing.TaskKey]string{}, map[sizing.TaskKey]int{}
		hold := func(c store.Claim) error {
			mu.Lock()
			defer mu.Unlock()
			if other, taken := held[c.Task]; taken {
				return fmt.Errorf("%s holds %s, which %s holds", c.Owner, c.Task, other)
			}
			held[c.Task] = c.Owner
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
		// work is what a trainer does: claim, read all, finish.
		work := func(ctx context.Context, owner string) error {
			c, err := st.Claim(ctx, owner, time.Hour)
			if err != nil {
				return err
			}
			if err := hold(c); err != nil {
				return err
			}
			h, err := st.History(ctx, c.Task, store.Keep{})
			if err != nil {
				return err
			}
			mu.Lock()
			delete(held, c.Task)
			learned[c.Task] = h.Total
			mu.Unlock()
			return st.Finish(ctx, c, time.Time{})
		}
		deadline := time.Now().Add(patience)
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
			// A task told of between a claim and its reading is due once more, though all of
			// it was read: claimers go on until nothing is due.
			for {
				err := work(ctx, fmt.Sprint("claimer ", worker))
				switch {
				case sizing.KindOf(err) == sizing.NotFound && done():
					return nil
				case except(sizing.NotFound, err) != nil:
					return err
				case time.Now().After(deadline):
					return fmt.Errorf("not all was learned within %v", patience)
				}
			}
		})
		requireNoneDue(t, st)
	})

	t.Run("each due task is given out once, however soon it is finished", func(t *testing.T) {
		st := open(t)
		for i := range tasks * kills {
			recordNew(t, st, kill(firstTry(task(fmt.Sprint(i)), "r"), sizing.GiB))
		}
		var mu sync.Mutex
		given := map[sizing.TaskKey]int{}
		inParallel(t, 8, func(ctx context.Context, worker int) error {
			for {
				c, err := st.Claim(ctx, fmt.Sprint(worker), time.Hour)
				if err != nil {
					return except(sizing.NotFound, err) // none is due any more
				}
				mu.Lock()
				given[c.Task]++
				mu.Unlock()
				if err := st.Finish(ctx, c, time.Time{}); err != nil {
					return err
				}
			}
		})
		require.Len(t, given, tasks*kills)
		for key, times := range given {
			require.Equal(t, 1, times, "%s", key)
		}
	})
}

// except is err, or nil if it is of the kind that was expected.
func except(kind sizing.Kind, err error) error {
	if sizing.KindOf(err) == kind {
		return nil
	}
	return err
}
