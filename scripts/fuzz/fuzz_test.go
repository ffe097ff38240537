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

// reject answers with a problem. The argument `fields` has further members of the problem, which may violate the contract.
func reject(w http.ResponseWriter, status int, fields string) {
	w.Header().Set("X-Request-Id", "id")
	w.Header().Set("Allow", "GET")
	w.Header().Set("WWW-Authenticate", "Bearer")
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type": "urn:loadaware:problem:x", "title": "t", "status": %d, "detail": "d", "request_id": "id"%s}`, status, fields)
}

// sendToFaulty sends requests to a server that correctly rejects 99 in 100 of them and answers the others with the fault.
func sendToFaulty(t *testing.T, fault func(http.ResponseWriter, *http.Request)) *results {
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%100 == 0 {
			fault(w, r)
			return
		}
		reject(w, http.StatusNotFound, "")
	}))
	defer server.Close()
	m, err := newGenerator(1, "t", "")
	require.NoError(t, err)
	var counted results
	require.NoError(t, sendAll(context.Background(), m, strings.TrimPrefix(server.URL, "http://"), options{requests: 3000, callers: 4}, &counted))
	require.Equal(t, 3000, counted.sent)
	return &counted
}

func TestFaultsOfTheServerAreFound(t *testing.T) {
	invalid := func(fields string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { reject(w, http.StatusUnprocessableEntity, fields) }
	}
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request){
		"a server error":                  func(w http.ResponseWriter, _ *http.Request) { reject(w, http.StatusInternalServerError, "") },
		"an undefined status":             func(w http.ResponseWriter, _ *http.Request) { reject(w, 999, "") },
		"a rejection without a field":     invalid(""),
		"a rejection with an empty field": invalid(`, "errors": [{"field": "", "detail": "is bad"}]`),
		"an unknown member":               invalid(`, "errors": [{"field": "f", "detail": "is bad"}], "stack": "main.go:1"`),
		"a rejection in plain text":       func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadRequest) },
		"a success with another schema": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Request-Id", "id")
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"ok": true}`)
		},
		"a closed connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		found := sendToFaulty(t, fault)
		assert.Positive(t, found.faults, name)
		assert.NotEmpty(t, found.examples, name)
	}
}

func TestNoFaultIsFoundInACorrectServer(t *testing.T) {
	found := sendToFaulty(t, func(w http.ResponseWriter, _ *http.Request) {
		reject(w, http.StatusUnprocessableEntity, `, "errors": [{"field": "f", "detail": "is bad"}]`)
	})
	assert.Zero(t, found.faults, "%v", found.examples)
}

func TestAcceptedInvalidBodyIsAFault(t *testing.T) {
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
			assert.NoError(t, op.checkAccepted(text), op.name)
		}
		assert.Error(t, op.checkAccepted([]byte(`{"no such field": 1}`)), op.name)
		assert.Error(t, op.checkAccepted([]byte(`null`)), op.name)
		assert.Error(t, op.checkAccepted([]byte(`{`)), op.name)
	}
}

func TestSeedDeterminesRequests(t *testing.T) {
	m, err := newGenerator(7, "t", "")
	require.NoError(t, err)
	again, err := newGenerator(7, "t", "")
	require.NoError(t, err)
	drawn := map[string]bool{}
	for n := range uint64(5000) {
		r := m.request(n)
		require.Equal(t, string(r.encoded), string(again.request(n).encoded))
		drawn[r.op.name] = true
		target, _, _ := strings.Cut(string(r.encoded), "\r\n")
		for _, name := range r.op.pathParameters() {
			require.NotContains(t, target, "{"+name+"}", "every path parameter must have a value")
		}
	}
	assert.Len(t, drawn, len(m.operations), "every operation must occur")
}

func TestToolchainDeadlineIsNoFault(t *testing.T) {
	assert.True(t, stoppedAtDeadline([]byte("--- FAIL: FuzzOpen (2.09s)\n    context deadline exceeded\nFAIL\n")))
	assert.False(t, stoppedAtDeadline([]byte("--- FAIL: FuzzOpen (1.09s)\n    Failing input written to testdata/fuzz/FuzzOpen/1\nFAIL\n")))
	assert.False(t, stoppedAtDeadline([]byte("panic: no\n    context deadline exceeded\n")))
	assert.False(t, stoppedAtDeadline([]byte("# build failed\n")))
}

func TestFindingsStartAtTheFirstFailureOrError(t *testing.T) {
	head, failed, broken := "Operations: 24\n", "=== FAILURES ===\n\n- Server error\n", "=== ERRORS ===\nNetwork Error\n"
	assert.Equal(t, "  = FAILURES ===\n  - Server error", findings(head+failed))
	assert.Equal(t, "  = ERRORS ===\n  Network Error", findings(head+broken))
	assert.Equal(t, "  = ERRORS ===\n  Network Error\n  === FAILURES ===\n  - Server error", findings(head+broken+failed))
	assert.Equal(t, "  Operations: 24", findings(head), "a report without findings is quoted from its beginning")
	assert.Len(t, strings.Split(findings(head+failed+strings.Repeat("a line\n", 100)), "\n"), 20)
}
