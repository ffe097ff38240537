package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// anybody is a call by everybody's admin.
func anybody() context.Context {
	return context.WithValue(context.Background(), callKey{}, &call{held: []*Token{{Role: RoleAdmin}}})
}

func post(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r.WithContext(anybody())
}

// blamesTheCaller holds an error to a 4xx that says something.
func blamesTheCaller(t *testing.T, err error) {
	t.Helper()
	f := failureOf(err)
	require.GreaterOrEqual(t, f.status, 400, "%v", err)
	require.Less(t, f.status, 500, "%v", err)
	require.NotEmpty(t, f.detail)
}

// What passes the edge is valid in the middle, and what does not is the caller's
// fault.
func FuzzObservation(f *testing.F) {
	for _, seed := range []string{
		`{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "success", "memory_max": "1Gi", "features": {"a": 1, "b": "2020-01-03", "c": null}}`,
		`{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "oom_killed", "allocated": {"memory_bytes": 1e9, "cpu": "250m"}}`,
		`{"dag_id": "d", "started_at": "2020-01-03T00:00:00Z", "duration_seconds": 1e308}`,
		`{"features": {"a": [[[]]]}}`, `{}`, `null`, `[`, "\xff", `{"a":1,"a":2}`,
	} {
		f.Add(seed)
	}
	s := &server{strict: api.Strict()}
	f.Fuzz(func(t *testing.T, text string) {
		var body api.Observation
		if err := s.decode(post(text), &body); err != nil {
			blamesTheCaller(t, err)
			return
		}
		o, err := s.observation(anybody(), &body)
		if err != nil {
			blamesTheCaller(t, err)
			return
		}
		require.LessOrEqual(t, o.MemoryMax, sizing.Bytes(sizing.MaxBytes))
		require.GreaterOrEqual(t, o.Duration, time.Duration(0))
	})
}

func FuzzQueryFeatures(f *testing.F) {
	for _, seed := range []string{"a=1&b=true&c=2020-01-03&d=%22x%22&e=", "a=1e999", "a=%zz", "a;b", "=&=", `a="`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		query, err := parseQuery(raw)
		if err != nil {
			blamesTheCaller(t, err)
			return
		}
		var got form
		features := got.queryFeatures(query)
		for name := range query {
			require.True(t, reserved[name] || has(features, name), "%q is neither reserved nor a feature", name)
		}
	})
}

func has(features sizing.Features, name string) bool {
	_, ok := features[name]
	return ok
}

// Every body of the contract is read or is the caller's fault.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{
		`{"dag_id": "d", "task_id": "t", "run_id": "r", "requested": {"memory": "1Gi", "cpu_cores": 0.5}, "max_memory_bytes": 1e9, "features": {"a": true}}`,
		`{"dag_id": "d", "task_id": "t", "run_id": "r", "reason": "oom_killed", "failed": {"memory": "10Gi"}}`,
		`{"mode": "shadow", "cap": "384Gi", "risk_target": 0.01, "max_lifts": 3, "bin_edges_bytes": [1, 2, 3], "grid": "bins"}`,
		`{"tasks": [{"dag_id": "d"}, null, 7]}`, `{"observations": [{"outcome": "success"}]}`,
		`{"namespace": null, "dag_id": "d", "task_id": "t", "run_id": "r", "map_index": -1, "try_number": 32767}`,
		`null`, `{}`, `[]`, "{\"mode\": \"\xff\"}",
	} {
		f.Add(seed)
	}
	s := &server{strict: api.Strict()}
	f.Fuzz(func(t *testing.T, text string) {
		bodies := []any{
			&api.PredictRequest{}, &api.PredictBatchRequest{}, &api.ObserveBatchRequest{}, &api.Try{}, &api.LiftRequest{}, &api.TaskKey{}, &api.PolicyRequest{},
		}
		for _, body := range bodies {
			if err := s.decode(post(text), body); err != nil {
				blamesTheCaller(t, err)
				continue
			}
			if b, ok := body.(*api.PolicyRequest); ok {
				p, err := policy(b)
				if err == nil && len(p.Validate()) == 0 {
					policyAnswer(p)
				}
			}
		}
	})
}

// A cursor that is taken is one that a page would have.
func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(cursor(sizing.TaskKey{Namespace: "default", DAG: "pricing", Task: "é"}))
	f.Add("Ly8")
	f.Fuzz(func(t *testing.T, text string) {
		k, ok := parseCursor(text)
		if !ok || text == "" {
			return
		}
		again, ok := parseCursor(cursor(k))
		require.True(t, ok)
		require.Equal(t, k, again)
	})
}

// A grant is taken or refused, and a refusal does not repeat it: it may be a secret.
func FuzzParseToken(f *testing.F) {
	hash := strings.Repeat("a1", 32)
	for _, seed := range []string{"admin:" + hash, "me=predict@ns/dag_:" + hash, "observe@:" + hash, "admin:secret-secret", ":", "@/:", "a=b=c:d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := ParseToken(text)
		if err == nil {
			require.Contains(t, []Role{RolePredict, RoleObserve, RoleAdmin}, token.Role)
			return
		}
		if _, hash, ok := strings.Cut(text, ":"); ok && len(hash) > 20 {
			require.NotContains(t, err.Error(), hash)
		}
	})
}
