// Package storetest is the exam of package store: every promise of the contract,
// asked of a real implementation. It knows the contract and nothing of SQL; a
// second store would differ from the first only in open.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Run examines the stores that open gives: each is to be empty, and closed by
// open's own cleanup.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for name, examine := range map[string]func(*testing.T, func(*testing.T) store.Store){
		"Record":     examineRecord,
		"Amend":      examineAmend,
		"Writers":    examineWriters,
		"Void":       examineVoid,
		"History":    examineHistory,
		"Since":      examineSince,
		"Kills":      examineKills,
		"Receipts":   examineReceipts,
		"Realised":   examineRealised,
		"Launched":   examineLaunched,
		"Unreported": examineUnreported,
		"Models":     examineModels,
		"Promises":   examinePromises,
		"Audit":      examineAudit,
		"Inquiries":  examineInquiries,
		"Publishers": examinePublishers,
		"Changes":    examineChanges,
		"Tasks":      examineTasks,
		"Rename":     examineRename,
		"Delete":     examineDelete,
		"Due":        examineDue,
		"Claimers":   examineClaimers,
		"Runs":       examineRuns,
		"Retention":  examineRetention,
		"Weeks":      examineWeeks,
		"Series":     examineSeries,
		"OpenTries":  examineOpenTries,
	} {
		t.Run(name, func(t *testing.T) { examine(t, open) })
	}
}

// noon is when the exam's runs end, unless it says otherwise.
var noon = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func task(name string) sizing.TaskKey {
	return sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "dag", Task: name}
}

// firstTry is the first try of a run that is not mapped.
func firstTry(task sizing.TaskKey, run string) sizing.TryKey {
	return sizing.TryKey{TaskKey: task, RunID: run, MapIndex: sizing.NoMap, Number: 1}
}

// success is a run that peaked at peak with n input rows, and ended at noon.
func success(try sizing.TryKey, peak sizing.Bytes, n float64) sizing.Observation {
	return sizing.Observation{Try: try, Outcome: sizing.Success, MemoryMax: peak, EndedAt: noon,
		Features: sizing.Features{"n": sizing.NumberValue(n)}}
}

// kill is an OOM kill of a try that had allocated, at noon.
func kill(try sizing.TryKey, allocated sizing.Bytes) sizing.Observation {
	return sizing.Observation{Try: try, Outcome: sizing.OOMKilled, EndedAt: noon, Allocated: sizing.Resources{Memory: allocated}}
}

// runs are n successes of a task, a minute apart, with peaks of 1, 2, …, n MiB.
func runs(task sizing.TaskKey, n int) []sizing.Observation {
	obs := make([]sizing.Observation, n)
	for i := range obs {
		obs[i] = success(firstTry(task, fmt.Sprintf("run%05d", i)), sizing.Bytes(i+1)*sizing.MiB, float64(i))
		obs[i].EndedAt = noon.Add(time.Duration(i) * time.Minute)
	}
	return obs
}

// record demands that the call succeeds; items may still have failed.
func record(t *testing.T, st store.Store, obs ...sizing.Observation) []sizing.RecordResult {
	t.Helper()
	recorded, err := st.Record(t.Context(), obs)
	require.NoError(t, err)
	require.Len(t, recorded, len(obs))
	return recorded
}

// What can become of an observation, but for a refusal.
const fresh, duplicate, amended = "new", "duplicate", "amended"

func verdict(r sizing.RecordResult) string {
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case r.Duplicate:
		return duplicate
	case r.Amended:
		return amended
	}
	return fresh
}

// recordNew demands that every observation is new.
func recordNew(t *testing.T, st store.Store, obs ...sizing.Observation) {
	t.Helper()
	for i, r := range record(t, st, obs...) {
		require.Equal(t, fresh, verdict(r), "observation %d: %v", i, r.Err)
	}
}

func history(t *testing.T, st store.Store, task sizing.TaskKey) sizing.History {
	t.Helper()
	h, err := st.History(t.Context(), task, store.Keep{})
	require.NoError(t, err)
	return h
}

// features decodes what is stored of the only run.
func features(t *testing.T, st store.Store, task sizing.TaskKey) sizing.Features {
	t.Helper()
	h := history(t, st, task)
	require.Len(t, h.Rows, 1)
	return h.Schema.Features(h.Rows[0].Features)
}

func requireKind(t *testing.T, want sizing.Kind, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, sizing.KindOf(err), "%v", err)
}

// requireConflict demands a contradiction that names a field.
func requireConflict(t *testing.T, field string, r sizing.RecordResult) {
	t.Helper()
	requireKind(t, sizing.Conflict, r.Err)
	var e *sizing.Error
	require.True(t, errors.As(r.Err, &e))
	require.Len(t, e.Fields, 1)
	require.Equal(t, field, e.Fields[0].Field)
	require.False(t, r.Duplicate || r.Amended)
}

// inParallel runs do n times at once, and waits.
func inParallel(t *testing.T, n int, do func(ctx context.Context, worker int) error) {
	t.Helper()
	var wg sync.WaitGroup
	for worker := range n {
		wg.Go(func() { assert.NoError(t, do(t.Context(), worker)) })
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}
