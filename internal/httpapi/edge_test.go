package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware"
	"github.com/loadaware/loadaware/internal/sizing"
)

func TestTheTableOfRoutesIsTheContracts(t *testing.T) {
	spec, err := openapi3.NewLoader().LoadFromData(loadaware.OpenAPI)
	require.NoError(t, err)
	routes := newRoutes(Limits{})
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			rule, ok := routes[method+" "+path]
			if !assert.True(t, ok, "%s %s has no line", method, path) {
				continue
			}
			delete(routes, method+" "+path)
			var listed []Role
			if x, ok := op.Extensions["x-roles"].([]any); ok && x[0] != "admin" {
				for _, role := range x {
					listed = append(listed, Role(role.(string)))
				}
			}
			assert.Equal(t, listed, rule.roles, "%s %s", method, path)
			assert.Equal(t, op.RequestBody != nil, rule.body > 0, "%s %s: a body, and room for it", method, path)
			assert.Equal(t, op.Security != nil, rule.public, "%s %s", method, path)
			assert.Positive(t, rule.timeout)
		}
	}
	assert.Empty(t, routes, "lines without a path")
}

func TestErrorsOfOursAreToldVaguely(t *testing.T) {
	secret := sizing.Errorf(sizing.Internal, "relation %q does not exist", "observation")
	assert.NotContains(t, failureOf(secret).detail, "observation")
	away := sizing.Errorf(sizing.Unavailable, "dial unix /data/.s.PGSQL.5432: %w", context.DeadlineExceeded)
	assert.Equal(t, http.StatusServiceUnavailable, failureOf(away).status)
	assert.NotContains(t, failureOf(away).detail, "PGSQL")
	assert.Equal(t, http.StatusForbidden, failureOf(sizing.Errorf(sizing.Refused, "not now")).status)
}

func TestPanicsAreAnsweredAndLogged(t *testing.T) {
	s := New(nil, Config{Auth: Auth{Off: true}}) // without a service every use case panics
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	assert.Equal(t, http.StatusInternalServerError, rec.Code)
	assert.Equal(t, "application/problem+json", rec.Header().Get("Content-Type"))
	assert.Contains(t, rec.Body.String(), "request_id")
	assert.NotContains(t, rec.Body.String(), "nil pointer")
}
