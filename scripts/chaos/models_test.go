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

// The trials of models are held to replicas with planted faults: doubles that answer by
// an old version, take what is damaged, or roll back what is good.

// double is a replica that answers what it is told to.
func double(t *testing.T, answers map[string]string) *testcluster.Replica {
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

const byOne = `{"source": "model", "memory": {"limit_bytes": 99000000000000}, "model": {"version": 1}}`

func TestAReplicaThatConcealsHowStaleItIsFails(t *testing.T) {
	for claim, c := range map[string]struct {
		stale  string
		faults int
	}{
		"conceals": {`{"stale_seconds": 0}`, 1},
		"says so":  {`{"stale_seconds": 5.5}`, 0},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			near, far := double(t, map[string]string{"/activate": `{}`}), double(t, map[string]string{"/predict": byOne, "/readyz": c.stale})
			var s sheet
			require.NoError(t, s.whileCut(t.Context(), &promoter{near: near, far: far, version: 1}, unnoticed+3*time.Second, 0, "both"))
			assert.Len(t, s.faults, c.faults)
		})
	}
}

func TestACutThatCutsNothingFails(t *testing.T) {
	two := strings.Replace(byOne, `"version": 1`, `"version": 2`, 1)
	both := double(t, map[string]string{"/activate": `{}`, "/predict": two, "/readyz": `{"stale_seconds": 0}`})
	var s sheet
	require.NoError(t, s.whileCut(t.Context(), &promoter{near: both, far: both, version: 1}, 100*time.Millisecond, 0, "none"))
	require.Len(t, s.faults, 1)
	assert.Contains(t, s.faults[0], "nothing was cut")
}

// day is one whose watchdog left an action in the audit trail, and whose replica
// answers by version 1.
func day(t *testing.T, action string) *workday {
	t.Helper()
	r := double(t, map[string]string{
		"/predict": byOne, "/observe": `{}`, "/audit": `{"entries": [{"who": "watchdog", "action": "` + action + `"}]}`,
	})
	return &workday{
		cluster: &testcluster.Cluster{Replicas: []*testcluster.Replica{r}}, random: rand.New(rand.NewPCG(1, 0)), factor: 1,
		watch: func(context.Context, bool) error { return nil },
	}
}

func TestARollbackOfWhatIsGoodFails(t *testing.T) {
	for action, faults := range map[string]int{"model rolled back": 1, "model withdrawn": 0} {
		var s sheet
		require.NoError(t, s.unharmed(t.Context(), day(t, action), "a double"))
		assert.Len(t, s.faults, faults, action)
	}
}

func TestABadModelThatStaysFails(t *testing.T) {
	for claim, c := range map[string]struct {
		action string
		bad    int
		faults int
	}{
		"rolled back":                        {"model rolled back", 2, 0},
		"healed, and not rolled back":        {"model withdrawn", 2, 1},
		"rolled back, and answering still":   {"model rolled back", 1, 1},
		"neither rolled back nor out of use": {"model withdrawn", 1, 2},
	} {
		var s sheet
		require.NoError(t, s.freed(t.Context(), day(t, c.action), c.bad, 0))
		assert.Len(t, s.faults, c.faults, claim)
	}
}
