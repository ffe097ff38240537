package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// as returns a context with an actor.
func as(t *testing.T, name string) context.Context { return sizing.WithActor(t.Context(), name) }

// trail returns the audit entries as text, newest first, without ids and times.
func trail(t *testing.T, st store.Store, f store.AuditFilter, limit int) (lines []string) {
	t.Helper()
	entries, err := st.Audit(t.Context(), f, limit)
	require.NoError(t, err)
	for _, e := range entries {
		require.WithinDuration(t, time.Now(), e.At, time.Hour)
		line := fmt.Sprintf("%s: %s %s %s > %s", e.Who, e.Task.Task, e.Action, e.Before, e.After)
		if e.Reason != "" {
			line += " since " + e.Reason
		}
		lines = append(lines, line)
	}
	return lines
}

func testAudit(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	m := model(t, st, "audited")
	of := store.AuditFilter{Task: m.Task}

	require.Empty(t, trail(t, st, store.AuditFilter{}, 10), "observations are not audited")
	for v := range 3 {
		_, err := st.Publish(as(t, store.Trainer), m, v)
		require.NoError(t, err)
	}
	require.NoError(t, st.Activate(as(t, "ada"), m.Task, 2))
	require.NoError(t, st.Unpin(as(t, "bob"), m.Task))
	require.NoError(t, st.RollBack(as(t, store.Watchdog), store.Rollback{Task: m.Task, From: 2, To: 1, Withdrawn: []int{2}, Reason: "kills"}))
	require.NoError(t, st.SetPolicy(t.Context(), m.Task, sizing.Policy{Mode: sizing.Shadow}))
	require.Equal(t, []string{
		`watchdog: audited model withdrawn {"version":2} >  since kills`,
		`watchdog: audited model rolled back {"version":2} > {"version":1,"pinned_by":"watchdog"} since kills`,
		`bob: audited model unpinned {"version":2,"pinned_by":"ada"} > {"version":2}`,
		`ada: audited model rolled back {"version":3} > {"version":2,"pinned_by":"ada"}`,
		`trainer: audited model activated {"version":2} > {"version":3}`,
		`trainer: audited model activated {"version":1} > {"version":2}`,
		`trainer: audited model activated  > {"version":1}`,
	}, trail(t, st, of, 100)[1:])
	set, err := st.Audit(t.Context(), of, 1)
	require.NoError(t, err)
	require.Equal(t, []any{store.Anonymous, store.PolicyChanged, []byte(nil)}, []any{set[0].Who, set[0].Action, set[0].Before})
	require.Contains(t, string(set[0].After), "shadow")

	t.Run("failed changes are not audited", func(t *testing.T) {
		_, err := st.Publish(t.Context(), m, 7)
		require.Error(t, err)
		require.Error(t, st.Activate(t.Context(), m.Task, 7))
		require.Error(t, st.RollBack(t.Context(), store.Rollback{Task: m.Task, From: 1, To: 7}))
		require.Len(t, trail(t, st, of, 100), 8)
	})

	t.Run("the trail is read in pages and by task", func(t *testing.T) {
		whole := trail(t, st, of, 100)
		first, err := st.Audit(t.Context(), of, 3)
		require.NoError(t, err)
		require.Len(t, first, 3)
		require.Equal(t, whole[3:], trail(t, st, store.AuditFilter{Task: m.Task, Before: first[2].ID}, 100))
		require.Empty(t, trail(t, st, store.AuditFilter{Task: task("other")}, 100))
		require.Len(t, trail(t, st, store.AuditFilter{Task: sizing.TaskKey{DAG: m.Task.DAG}}, 100), 8)
	})

	t.Run("the trail outlives the task", func(t *testing.T) {
		require.NoError(t, st.Rename(as(t, "ada"), m.Task, task("moved")))
		require.NoError(t, st.DeleteTask(as(t, "bob"), task("moved")))
		require.Equal(t, `ada: audited task renamed {"dag_id":"dag","namespace":"default","task_id":"audited"} > {"dag_id":"dag","namespace":"default","task_id":"moved"}`,
			trail(t, st, of, 1)[0])
		require.Equal(t, []string{`bob: moved task deleted  > `}, trail(t, st, store.AuditFilter{Task: task("moved")}, 10))
	})

	t.Run("the newest publications by the trainer and all manual changes are kept", func(t *testing.T) {
		m := model(t, st, "busy")
		require.NoError(t, st.SetPolicy(as(t, "ada"), m.Task, sizing.Policy{}))
		for v := range store.KeepPublications + 5 {
			who := store.Trainer
			if v == 3 {
				who = "bob" // a manual training
			}
			_, err := st.Publish(as(t, who), m, v)
			require.NoError(t, err)
		}
		lines := trail(t, st, store.AuditFilter{Task: m.Task}, 1000)
		require.Len(t, lines, store.KeepPublications+2)
		require.Contains(t, lines[store.KeepPublications+1], "ada: busy policy changed")
		require.Contains(t, lines[store.KeepPublications], "bob: busy model activated")
	})
}

func testPromises(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	m := model(t, st, "promises")
	for v := range 3 {
		publish(t, st, m, v)
	}
	from := time.Now().Add(time.Second) // after the activations below
	answered := func(id, run string, number, version int, promised float64, at time.Time) sizing.Receipt {
		r := receipt(id, sizing.TryKey{TaskKey: m.Task, RunID: run, MapIndex: sizing.NoMap, Number: number}, promised, at)
		if version > 0 {
			r.Allocation.Model, r.Allocation.Guard.Version = &sizing.ModelRef{Version: version, TrainedAt: noon}, int64(100+version)
		}
		return r
	}
	third := answered("mapped", "a", 1, 3, 0.5, from.Add(3*time.Second))
	third.Ask.Try.MapIndex = 2
	unpromised := answered("unpromised", "f", 1, 1, 0, from)
	unpromised.Allocation.Risk.Promised = nil
	require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{
		answered("early", "a", 1, 1, 0.125, from.Add(-time.Hour)),
		answered("again", "a", 1, 2, 0.25, from), // the newest receipt before the end counts
		answered("b", "b", 1, 1, 0.0625, from.Add(time.Second)),
		third,
		answered("later try", "c", 2, 1, 0.5, from),
		answered("unversioned", "d", 1, 0, 0.5, from),
		answered("not ended", "e", 1, 1, 0.5, from),
		unpromised,
		answered("failed otherwise", "g", 1, 1, 0.5, from),
		answered("before", "h", 1, 1, 0.5, from.Add(-2*time.Second)),
	}))
	try := func(run string, mapIndex, number int) sizing.TryKey {
		return sizing.TryKey{TaskKey: m.Task, RunID: run, MapIndex: mapIndex, Number: number}
	}
	recordNew(t, st, success(try("b", sizing.NoMap, 1), sizing.GiB, 1))
	recordNew(t, st, kill(try("a", 2, 1), 2*sizing.GiB))
	twice := kill(try("a", sizing.NoMap, 1), 2*sizing.GiB)
	twice.EndedAt = from.Add(time.Minute) // after both receipts
	recordNew(t, st, twice, success(try("a", sizing.NoMap, 2), 3*sizing.GiB, 1))
	failed := success(try("g", sizing.NoMap, 1), 0, 1)
	failed.Outcome = sizing.Failed
	recordNew(t, st, success(try("c", sizing.NoMap, 2), 1, 1), success(try("d", sizing.NoMap, 1), 1, 1), success(try("f", sizing.NoMap, 1), 1, 1),
		failed, success(try("h", sizing.NoMap, 1), 1, 1))

	promise := func(version int, run string, mapIndex int, risk float64, killed bool) sizing.Promise {
		return sizing.Promise{Version: version, GuardVersion: int64(100 + version), RunID: run, MapIndex: mapIndex, Granted: 2 * sizing.GiB, Risk: risk, Killed: killed}
	}
	b, mapped, a := promise(1, "b", sizing.NoMap, 0.0625, false), promise(3, "a", 2, 0.5, true), promise(2, "a", sizing.NoMap, 0.25, true)
	h := promise(1, "h", sizing.NoMap, 0.5, false)
	require.Equal(t, []sizing.Promise{b, mapped, a, h}, promises(t, st, m.Task, 100), "in the order of their reports")
	require.Equal(t, []sizing.Promise{b, mapped}, promises(t, st, m.Task, 2), "only the newest receipts")
	require.Empty(t, promises(t, st, task("unknown"), 100))

	require.NoError(t, st.RollBack(t.Context(), store.Rollback{Task: m.Task, From: 3, To: 1, Withdrawn: []int{2}}))
	require.Equal(t, []sizing.Promise{b, mapped}, promises(t, st, m.Task, 100), "without withdrawn versions and earlier receipts")
	require.NoError(t, st.Activate(t.Context(), m.Task, 2))
	require.Equal(t, []sizing.Promise{b, mapped, a}, promises(t, st, m.Task, 100), "manual activation ends the withdrawal")
}

func promises(t *testing.T, st store.Store, key sizing.TaskKey, limit int) []sizing.Promise {
	t.Helper()
	got, err := st.Promises(t.Context(), key, limit)
	require.NoError(t, err)
	return got
}
