// Package storetest is the conformance suite of package store: it tests whether an
// implementation obeys the contract. The tests use only the interfaces of package store, and no SQL.
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

type test = func(t *testing.T, open func(t *testing.T) store.Store)

var receiptTests = map[string]test{
	"Record":           testRecord,
	"Receipts":         testReceipts,
	"Realised":         testRealised,
	"PromisedAtLaunch": testPromisedAtLaunch,
	"CountUnreported":  testCountUnreported,
	"Promises":         testPromises,
	"Reconciliation":   testReconciliation,
	"Rename":           testRename,
	"Delete":           testDelete,
	"Retention":        testRetention,
	"Partitions":       testPartitions,
	"GrantedTries":     testGrantedTries,
	"Savings":          testSavings,
	"RecentTasks":      testRecentTasks,
	"Reproductions":    testReproductions,
}

var otherTests = map[string]test{
	"Amend":             testAmend,
	"Executions":        testExecutions,
	"Audit":             testAudit,
	"Tasks":             testTasks,
	"Campaigns":         testCampaigns,
	"ConcurrentWriters": testConcurrentWriters,
	"Void":              testVoid,
	"History":           testHistory,
	"Since":             testSince,
	"Tries":             testTries,
	"NewestRuns":        testNewestRuns,
	"Kills":             testKills,
	"Models":            testModels,
	"ConcurrentPublish": testConcurrentPublish,
	"Changes":           testChanges,
	"TrainingQueue":     testTrainingQueue,
	"ConcurrentClaims":  testConcurrentClaims,
	"Runs":              testRuns,
	"Series":            testSeries,
	"Context":           testContext,
	"Cohorts":           testCohorts,
	"CampaignClaims":    testCampaignClaims,
	"Shapes":            testShapes,
	"UsageProfiles":     testUsageProfiles,
	"Structure":         testStructure,
	"Plans":             testPlans,
}

// Run tests the stores that open returns. Each store must be empty. The function open must
// register a cleanup that closes the store.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	RunReceipts(t, open)
	run(t, otherTests, open)
}

// RunReceipts is Run with only the receiptTests.
func RunReceipts(t *testing.T, open func(t *testing.T) store.Store) {
	run(t, receiptTests, open)
}

func run(t *testing.T, tests map[string]test, open func(t *testing.T) store.Store) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// noon is the default end of runs in the tests.
var noon = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func task(name string) sizing.TaskKey {
	return sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "dag", Task: name}
}

func firstTry(task sizing.TaskKey, run string) sizing.TryKey {
	return sizing.TryKey{TaskKey: task, RunID: run, MapIndex: sizing.NoMap, Number: 1}
}

func success(try sizing.TryKey, peak sizing.Bytes, n float64) sizing.Observation {
	return sizing.Observation{Try: try, Outcome: sizing.Success, MemoryMax: peak, EndedAt: noon,
		Features: sizing.Features{"n": sizing.NumberValue(n)}}
}

func kill(try sizing.TryKey, allocated sizing.Bytes) sizing.Observation {
	return sizing.Observation{Try: try, Outcome: sizing.OOMKilled, EndedAt: noon, Allocated: sizing.Resources{Memory: allocated}}
}

// runs returns n successes of a task, a minute apart, with peaks of 1, 2, …, n MiB.
func runs(task sizing.TaskKey, n int) []sizing.Observation {
	obs := make([]sizing.Observation, n)
	for i := range obs {
		obs[i] = success(firstTry(task, fmt.Sprintf("run%05d", i)), sizing.Bytes(i+1)*sizing.MiB, float64(i))
		obs[i].EndedAt = noon.Add(time.Duration(i) * time.Minute)
	}
	return obs
}

// record records observations. Single results may have errors.
func record(t *testing.T, st store.Store, obs ...sizing.Observation) []sizing.RecordResult {
	t.Helper()
	recorded, err := st.Record(t.Context(), obs)
	require.NoError(t, err)
	require.Len(t, recorded, len(obs))
	return recorded
}

const created, duplicate, amended = "new", "duplicate", "amended"

func statusOf(r sizing.RecordResult) string {
	switch {
	case r.Err != nil:
		return r.Err.Error()
	case r.Duplicate:
		return duplicate
	case r.Amended:
		return amended
	}
	return created
}

func recordNew(t *testing.T, st store.Store, obs ...sizing.Observation) {
	t.Helper()
	for i, r := range record(t, st, obs...) {
		require.Equal(t, created, statusOf(r), "observation %d: %v", i, r.Err)
	}
}

func history(t *testing.T, st store.Store, task sizing.TaskKey) sizing.History {
	t.Helper()
	h, err := st.History(t.Context(), task, store.HistoryLimits{})
	require.NoError(t, err)
	return h
}

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

func requireConflict(t *testing.T, field string, r sizing.RecordResult) {
	t.Helper()
	requireKind(t, sizing.Conflict, r.Err)
	var e *sizing.Error
	require.True(t, errors.As(r.Err, &e))
	require.Len(t, e.Fields, 1)
	require.Equal(t, field, e.Fields[0].Field)
	require.False(t, r.Duplicate || r.Amended)
}

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
