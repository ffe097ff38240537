package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/sizing"
)

func adminContext() context.Context {
	return context.WithValue(context.Background(), requestInfoKey{}, &requestInfo{grants: auth.Grants{{Role: auth.RoleAdmin}}})
}

func post(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return r.WithContext(adminContext())
}

func requireClientError(t *testing.T, err error) {
	t.Helper()
	f := failureOf(err)
	require.GreaterOrEqual(t, f.status, 400, "%v", err)
	require.Less(t, f.status, 500, "%v", err)
	require.NotEmpty(t, f.detail)
}

// FuzzObservation requires that every body is a client error, or an observation whose peak is at most
// sizing.MaxBytes and whose duration is not negative.
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
			requireClientError(t, err)
			return
		}
		o, err := readObservation(adminContext(), &body)
		if err != nil {
			requireClientError(t, err)
			return
		}
		require.LessOrEqual(t, o.MemoryMax, sizing.Bytes(sizing.MaxBytes))
		require.GreaterOrEqual(t, o.Duration, time.Duration(0))
	})
}

// FuzzQueryFeatures requires that every parameter of a well-formed query is listed in openapi.yaml or becomes
// a feature.
func FuzzQueryFeatures(f *testing.F) {
	for _, seed := range []string{"a=1&b=true&c=2020-01-03&d=%22x%22&e=", "a=1e999", "a=%zz", "a;b", "=&=", `a="`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		const operation = "GET /predict"
		ctx := context.WithValue(t.Context(), requestInfoKey{}, &requestInfo{route: operation, query: raw})
		var f fieldReader
		features, err := f.queryFeatures(ctx)
		if err != nil {
			requireClientError(t, err)
			return
		}
		query, err := parseQuery(raw)
		require.NoError(t, err)
		for name := range query {
			require.True(t, slices.Contains(api.QueryParams[operation], name) || has(features, name), "%q is neither listed nor a feature", name)
		}
	})
}

func has(features sizing.Features, name string) bool {
	_, ok := features[name]
	return ok
}

// FuzzBodies requires that decoding a text as one of the listed request types succeeds or is a client error.
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
				requireClientError(t, err)
				continue
			}
			if b, ok := body.(*api.PolicyRequest); ok {
				p, err := readPolicy(b)
				if err == nil && len(p.Validate()) == 0 {
					policyAnswer(p)
				}
			}
		}
	})
}

// FuzzCursor requires that formatCursor and parseCursor reproduce the key of each cursor that parseCursor
// accepts.
func FuzzCursor(f *testing.F) {
	f.Add("")
	f.Add(formatCursor(sizing.TaskKey{Namespace: "default", DAG: "pricing", Task: "é"}))
	f.Add("Ly8")
	f.Fuzz(func(t *testing.T, text string) {
		k, ok := parseCursor(text)
		if !ok || text == "" {
			return
		}
		again, ok := parseCursor(formatCursor(k))
		require.True(t, ok)
		require.Equal(t, k, again)
	})
}
