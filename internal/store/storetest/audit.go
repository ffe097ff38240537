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

func asActor(t *testing.T, name string) context.Context { return sizing.WithActor(t.Context(), name) }

// trail returns the audit entries as text, newest first.
func trail(t *testing.T, st store.Store, f store.AuditFilter, limit int) (lines []string) {
	t.Helper()
	entries, err := st.Audit(t.Context(), f, limit)
	require.NoError(t, err)
	for _, e := range entries {
		require.WithinDuration(t, time.Now(), e.At, time.Hour)
		line := fmt.Sprintf("%s: %s %s %s > %s", e.Who, e.Task.Task, e.Action, e.Before, e.After)
		if e.Reason != "" {
			line += " (" + e.Reason + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

func testAudit(t *testing.T, open func(*testing.T) store.Store) {
	st := open(t)
	m := model(t, st, "audited")
	filter := store.AuditFilter{Task: m.Task}

	require.Empty(t, trail(t, st, store.AuditFilter{}, 10), "observations must not be audited")
	for v := range 3 {
		_, err := st.Publish(asActor(t, store.Trainer), m, v)
		require.NoError(t, err)
	}
	require.NoError(t, st.Activate(asActor(t, "ada"), m.Task, 2))
	require.NoError(t, st.Unpin(asActor(t, "bob"), m.Task))
	require.NoError(t, st.RollBack(asActor(t, store.Watchdog), store.Rollback{Task: m.Task, From: 2, To: 1, Withdrawn: []int{2}, Reason: "kills"}))
	require.NoError(t, st.SetPolicy(t.Context(), m.Task, sizing.Policy{Mode: sizing.Shadow}))
	require.Equal(t, []string{
		`watchdog: audited model withdrawn {"version":2} >  (kills)`,
		`watchdog: audited model rolled back {"version":2} > {"version":1,"pinned_by":"watchdog"} (kills)`,
		`bob: audited model unpinned {"version":2,"pinned_by":"ada"} > {"version":2}`,
		`ada: audited model rolled back {"version":3} > {"version":2,"pinned_by":"ada"}`,
		`trainer: audited model activated {"version":2} > {"version":3}`,
		`trainer: audited model activated {"version":1} > {"version":2}`,
		`trainer: audited model activated  > {"version":1}`,
	}, trail(t, st, filter, 100)[1:])
	newest, err := st.Audit(t.Context(), filter, 1)
	require.NoError(t, err)
	require.Equal(t, []any{store.Anonymous, store.PolicyChanged, []byte(nil)}, []any{newest[0].Who, newest[0].Action, newest[0].Before})
	require.Contains(t, string(newest[0].After), "shadow")

	t.Run("failed changes are not audited", func(t *testing.T) {
		_, err := st.Publish(t.Context(), m, 7)
		require.Error(t, err)
		require.Error(t, st.Activate(t.Context(), m.Task, 7))
		require.Error(t, st.RollBack(t.Context(), store.Rollback{Task: m.Task, From: 1, To: 7}))
		require.Len(t, trail(t, st, filter, 100), 8)
	})

	t.Run("the trail is read in pages and by task", func(t *testing.T) {
		whole := trail(t, st, filter, 100)
		first, err := st.Audit(t.Context(), filter, 3)
		require.NoError(t, err)
		require.Len(t, first, 3)
		require.Equal(t, whole[3:], trail(t, st, store.AuditFilter{Task: m.Task, Before: first[2].ID}, 100))
		require.Empty(t, trail(t, st, store.AuditFilter{Task: task("other")}, 100))
		require.Len(t, trail(t, st, store.AuditFilter{Task: sizing.TaskKey{DAG: m.Task.DAG}}, 100), 8)
	})

	t.Run("the trail stays after a rename and a deletion of the task", func(t *testing.T) {
		require.NoError(t, st.Rename(asActor(t, "ada"), m.Task, task("renamed")))
		require.NoError(t, st.DeleteTask(asActor(t, "bob"), task("renamed")))
		require.Equal(t, `ada: audited task renamed {"dag_id":"dag","namespace":"default","task_id":"audited"} > {"dag_id":"dag","namespace":"default","task_id":"renamed"}`,
			trail(t, st, filter, 1)[0])
		require.Equal(t, []string{`bob: renamed task deleted  > `}, trail(t, st, store.AuditFilter{Task: task("renamed")}, 10))
	})

	t.Run("the newest publications by the trainer and all manual changes are kept", func(t *testing.T) {
		m := model(t, st, "busy")
		require.NoError(t, st.SetPolicy(asActor(t, "ada"), m.Task, sizing.Policy{}))
		for v := range store.KeepPublications + 5 {
			who := store.Trainer
			if v == 3 {
				who = "bob" // a manual training
			}
			_, err := st.Publish(asActor(t, who), m, v)
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
	from := time.Now().Add(time.Hour) // later than the activations below
	newReceipt := func(id, run string, number, version int, promised float64, at time.Time) sizing.Receipt {
		r := receipt(id, sizing.TryKey{TaskKey: m.Task, RunID: run, MapIndex: sizing.NoMap, Number: number}, promised, at)
		if version > 0 {
			r.Allocation.Model, r.Allocation.Guard.Version = &sizing.ModelRef{Version: version, TrainedAt: noon}, int64(100+version)
		}
		return r
	}
	mappedReceipt := newReceipt("mapped", "a", 1, 3, 0.5, from.Add(3*time.Second))
	mappedReceipt.Ask.Try.MapIndex = 2
	unpromised := newReceipt("unpromised", "f", 1, 1, 0, from)
	unpromised.Allocation.Risk.Promised = nil
	require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{
		newReceipt("early", "a", 1, 1, 0.125, from.Add(-3*time.Hour)),
		newReceipt("second", "a", 1, 2, 0.25, from), // the newest receipt before the end is used
		newReceipt("b", "b", 1, 1, 0.0625, from.Add(time.Second)),
		mappedReceipt,
		newReceipt("later try", "c", 2, 1, 0.5, from),
		newReceipt("unversioned", "d", 1, 0, 0.5, from),
		newReceipt("not ended", "e", 1, 1, 0.5, from),
		unpromised,
		newReceipt("failed otherwise", "g", 1, 1, 0.5, from),
		newReceipt("before", "h", 1, 1, 0.5, from.Add(-2*time.Hour)),
	}))
	try := func(run string, mapIndex, number int) sizing.TryKey {
		return sizing.TryKey{TaskKey: m.Task, RunID: run, MapIndex: mapIndex, Number: number}
	}
	recordNew(t, st, success(try("b", sizing.NoMap, 1), sizing.GiB, 1))
	recordNew(t, st, kill(try("a", 2, 1), 2*sizing.GiB))
	afterBoth := kill(try("a", sizing.NoMap, 1), 2*sizing.GiB)
	afterBoth.EndedAt = from.Add(time.Minute) // after both receipts
	recordNew(t, st, afterBoth, success(try("a", sizing.NoMap, 2), 3*sizing.GiB, 1))
	failed := success(try("g", sizing.NoMap, 1), 0, 1)
	failed.Outcome = sizing.Failed
	recordNew(t, st, success(try("c", sizing.NoMap, 2), 1, 1), success(try("d", sizing.NoMap, 1), 1, 1), success(try("f", sizing.NoMap, 1), 1, 1),
		failed, success(try("h", sizing.NoMap, 1), 1, 1))

	promise := func(version int, run string, mapIndex int, risk float64, killed bool) sizing.Promise {
		return sizing.Promise{Version: version, GuardVersion: int64(100 + version), RunID: run, MapIndex: mapIndex, Granted: 2 * sizing.GiB, Risk: risk, Killed: killed}
	}
	b, mapped, a := promise(1, "b", sizing.NoMap, 0.0625, false), promise(3, "a", 2, 0.5, true), promise(2, "a", sizing.NoMap, 0.25, true)
	h := promise(1, "h", sizing.NoMap, 0.5, false)
	require.Equal(t, []sizing.Promise{b, mapped, a, h}, promises(t, st, m.Task, 100), "the promises must be in the order of their reports")
	require.Equal(t, []sizing.Promise{b, mapped}, promises(t, st, m.Task, 2), "only the promises of the newest two receipts must be listed")
	require.Empty(t, promises(t, st, task("unknown"), 100))

	require.NoError(t, st.RollBack(t.Context(), store.Rollback{Task: m.Task, From: 3, To: 1, Withdrawn: []int{2}}))
	require.Equal(t, []sizing.Promise{b, mapped}, promises(t, st, m.Task, 100), "withdrawn versions and receipts from before the rollback must be omitted")
	require.NoError(t, st.Activate(t.Context(), m.Task, 2))
	require.Equal(t, []sizing.Promise{b, mapped, a}, promises(t, st, m.Task, 100), "a manual activation must end the withdrawal")
}

func promises(t *testing.T, st store.Store, key sizing.TaskKey, limit int) []sizing.Promise {
	t.Helper()
	got, err := st.Promises(t.Context(), key, limit)
	require.NoError(t, err)
	return got
}
