package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// refuse answers as the contract wants it of a refusal.
func refuse(w http.ResponseWriter, status int, fields string) {
	w.Header().Set("X-Request-Id", "id")
	w.Header().Set("Allow", "GET")
	w.Header().Set("WWW-Authenticate", "Bearer")
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type": "urn:loadaware:problem:x", "title": "t", "status": %d, "detail": "d", "request_id": "id"%s}`, status, fields)
}

// planted shoots at a server that refuses everything well, but for one fault in
// every hundred requests.
func planted(t *testing.T, fault func(http.ResponseWriter, *http.Request)) *tally {
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%100 == 0 {
			fault(w, r)
			return
		}
		refuse(w, http.StatusNotFound, "")
	}))
	defer server.Close()
	m, err := newMaker(1, "t", "")
	require.NoError(t, err)
	var counted tally
	require.NoError(t, shoot(context.Background(), m, strings.TrimPrefix(server.URL, "http://"), plan{requests: 3000, callers: 4}, &counted))
	require.Equal(t, 3000, counted.sent)
	return &counted
}

func TestAPlantedFaultIsFound(t *testing.T) {
	invalid := func(fields string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusUnprocessableEntity, fields) }
	}
	for claim, fault := range map[string]func(http.ResponseWriter, *http.Request){
		"an error of the server":       func(w http.ResponseWriter, _ *http.Request) { refuse(w, http.StatusInternalServerError, "") },
		"a refusal that names nothing": invalid(""),
		"a refusal of an empty field":  invalid(`, "errors": [{"field": "", "detail": "is bad"}]`),
		"a member of no schema":        invalid(`, "errors": [{"field": "f", "detail": "is bad"}], "stack": "main.go:1"`),
		"a refusal as text":            func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadRequest) },
		"a success of another form": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-Id", "id")
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"ok": true}`)
		},
		"a connection that ends": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		found := planted(t, fault)
		assert.Positive(t, found.faults, claim)
		assert.NotEmpty(t, found.told, claim)
	}
}

func TestAGoodServerHasNoFaults(t *testing.T) {
	found := planted(t, func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusUnprocessableEntity, `, "errors": [{"field": "f", "detail": "is bad"}]`)
	})
	assert.Zero(t, found.faults, "%v", found.told)
}

func TestABodyThatTheContractRefusesMustNotBeAccepted(t *testing.T) {
	all, err := operations()
	require.NoError(t, err)
	for i := range all {
		op := &all[i]
		if op.body == nil {
			continue
		}
		for _, example := range op.valid {
			text, err := json.Marshal(example)
			require.NoError(t, err)
			assert.NoError(t, op.mayAccept(text), op.name)
		}
		assert.Error(t, op.mayAccept([]byte(`{"no such field": 1}`)), op.name)
		assert.Error(t, op.mayAccept([]byte(`null`)), op.name)
		assert.Error(t, op.mayAccept([]byte(`{`)), op.name)
	}
}

func TestTheSameSeedDrawsTheSameRequests(t *testing.T) {
	m, err := newMaker(7, "t", "")
	require.NoError(t, err)
	again, err := newMaker(7, "t", "")
	require.NoError(t, err)
	drawn := map[string]bool{}
	for n := range uint64(5000) {
		r := m.request(n)
		require.Equal(t, string(r.wire), string(again.request(n).wire))
		drawn[r.op.name] = true
	}
	assert.Len(t, drawn, len(m.operations), "every operation is drawn")
}

func TestTheEndOfTheTimeIsNoFinding(t *testing.T) {
	assert.True(t, stoppedAtDeadline([]byte("--- FAIL: FuzzOpen (2.09s)\n    context deadline exceeded\nFAIL\n")))
	assert.False(t, stoppedAtDeadline([]byte("--- FAIL: FuzzOpen (1.09s)\n    Failing input written to testdata/fuzz/FuzzOpen/1\nFAIL\n")))
	assert.False(t, stoppedAtDeadline([]byte("panic: no\n    context deadline exceeded\n")))
	assert.False(t, stoppedAtDeadline([]byte("# build failed\n")))
}

func TestFindingsBeginWhereTheReportTellsThem(t *testing.T) {
	head, failed, broken := "Operations: 24\n", "=== FAILURES ===\n\n- Server error\n", "=== ERRORS ===\nNetwork Error\n"
	assert.Equal(t, "  = FAILURES ===\n  - Server error", findings(head+failed))
	assert.Equal(t, "  = ERRORS ===\n  Network Error", findings(head+broken))
	assert.Equal(t, "  = ERRORS ===\n  Network Error\n  === FAILURES ===\n  - Server error", findings(head+broken+failed))
	assert.Equal(t, "  Operations: 24", findings(head), "one that tells none is told from its beginning")
	assert.Len(t, strings.Split(findings(head+failed+strings.Repeat("a line\n", 100)), "\n"), 20)
}
