package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// These tests run the checks of the model trials against fake replicas, whose answers are fixed.

// fakeReplica starts a fake replica with fixed answers by the end of the path. Paths without an answer get 409.
func fakeReplica(t *testing.T, answers map[string]string) *testcluster.Replica {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for path, body := range answers {
			if strings.HasSuffix(r.URL.Path, path) {
				fmt.Fprint(w, body)
				return
			}
		}
		w.WriteHeader(http.StatusConflict)
	}))
	t.Cleanup(server.Close)
	return &testcluster.Replica{URL: server.URL}
}

// fromVersion1 is an answer of version 1 that grants more memory than any run needs.
const fromVersion1 = `{"source": "model", "memory": {"limit_bytes": 99000000000000}, "model": {"version": 1}}`

func TestTrialFailsOnUnreportedStaleness(t *testing.T) {
	for name, c := range map[string]struct {
		readyz   string // body of the answer of /readyz
		failures int
	}{
		"the staleness is hidden":   {`{"stale_seconds": 0}`, 1},
		"the staleness is reported": {`{"stale_seconds": 5.5}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			near, far := fakeReplica(t, map[string]string{"/activate": `{}`}), fakeReplica(t, map[string]string{"/predict": fromVersion1, "/readyz": c.readyz})
			var tr trialRun
			require.NoError(t, tr.runCut(t.Context(), &promoter{direct: near, viaProxy: far, version: 1}, maxStalenessError+3*time.Second, 0, "both"))
			assert.Len(t, tr.failures, c.failures)
		})
	}
}

func TestOnlyAReportedStalenessBelowTwoSecondsIsFresh(t *testing.T) {
	const timeout = 50 * time.Millisecond
	for name, c := range map[string]struct {
		answers map[string]string
		isFresh bool
	}{
		"no answer":                   {nil, false},
		"an answer without staleness": {map[string]string{"/readyz": `{"status": "starting"}`}, false},
		"2.5 s":                       {map[string]string{"/readyz": `{"stale_seconds": 2.5}`}, false},
		"0.4 s":                       {map[string]string{"/readyz": `{"stale_seconds": 0.4}`}, true},
	} {
		p := &promoter{viaProxy: fakeReplica(t, c.answers)}
		if took := p.waitFresh(t.Context(), timeout); c.isFresh {
			assert.Less(t, took, timeout, name)
		} else {
			assert.GreaterOrEqual(t, took, timeout, name)
		}
	}
}

func TestTrialFailsIfTheCutHasNoEffect(t *testing.T) {
	fromVersion2 := strings.Replace(fromVersion1, `"version": 1`, `"version": 2`, 1)
	both := fakeReplica(t, map[string]string{"/activate": `{}`, "/predict": fromVersion2, "/readyz": `{"stale_seconds": 0}`})
	var tr trialRun
	require.NoError(t, tr.runCut(t.Context(), &promoter{direct: both, viaProxy: both, version: 1}, 100*time.Millisecond, 0, "none"))
	require.Len(t, tr.failures, 1)
	assert.Contains(t, tr.failures[0], "the network was not cut")
}

// workloadWith returns a workload whose replica answers from version 1. The argument `action` is the action of the watchdog in
// the audit trail.
func workloadWith(t *testing.T, action string) *workload {
	t.Helper()
	r := fakeReplica(t, map[string]string{
		"/predict": fromVersion1, "/observe": `{}`, "/audit": `{"entries": [{"who": "watchdog", "action": "` + action + `"}]}`,
	})
	return &workload{
		cluster: &testcluster.Cluster{Replicas: []*testcluster.Replica{r}}, random: rand.New(rand.NewPCG(1, 0)), factor: 1,
		awaitWatchdog: func(context.Context, bool) error { return nil },
	}
}

func TestTrialFailsIfAGoodModelIsRolledBack(t *testing.T) {
	for action, failures := range map[string]int{"model rolled back": 1, "model withdrawn": 0} {
		var tr trialRun
		require.NoError(t, tr.checkNoRollback(t.Context(), workloadWith(t, action), "a fake replica"))
		assert.Len(t, tr.failures, failures, action)
	}
}

func TestTrialFailsIfABadModelStays(t *testing.T) {
	for name, c := range map[string]struct {
		action   string
		bad      int
		failures int
	}{
		"the model is rolled back":                      {"model rolled back", 2, 0},
		"the model is replaced but not rolled back":     {"model withdrawn", 2, 1},
		"the model is rolled back but still answers":    {"model rolled back", 1, 1},
		"the model is neither rolled back nor replaced": {"model withdrawn", 1, 2},
	} {
		var tr trialRun
		require.NoError(t, tr.checkRollback(t.Context(), workloadWith(t, c.action), c.bad, 0))
		assert.Len(t, tr.failures, c.failures, name)
	}
}
