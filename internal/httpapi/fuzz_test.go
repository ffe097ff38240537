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
	s := &server{strict: strict()}
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
