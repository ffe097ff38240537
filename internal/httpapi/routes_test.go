package httpapi

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware"
	"github.com/loadaware/loadaware/internal/httpapi/admission"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/sizing"
)

func TestRouteTableMatchesOpenAPI(t *testing.T) {
	spec, err := openapi3.NewLoader().LoadFromData(loadaware.OpenAPI)
	require.NoError(t, err)
	routes := newRoutes(admission.Limits{})
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			rule, ok := routes[method+" "+path]
			if !assert.True(t, ok, "%s %s is not in the route table", method, path) {
				continue
			}
			delete(routes, method+" "+path)
			var listed []auth.Role
			if x, ok := op.Extensions["x-roles"].([]any); ok && x[0] != "admin" {
				for _, role := range x {
					listed = append(listed, auth.Role(role.(string)))
				}
			}
			assert.Equal(t, listed, rule.roles, "%s %s", method, path)
			assert.Equal(t, op.RequestBody != nil, rule.maxBody > 0, "%s %s: a route must limit the size of the body if and only if it has a body", method, path)
			assert.Equal(t, op.Security != nil, rule.public, "%s %s", method, path)
			assert.Positive(t, rule.timeout)
		}
	}
	assert.Empty(t, routes, "routes that openapi.yaml does not contain")
}

func TestInternalErrorsHideTheirCause(t *testing.T) {
	hidden := sizing.Errorf(sizing.Internal, "relation %q does not exist", "observation")
	assert.NotContains(t, failureOf(hidden).detail, "observation")
	unreachable := sizing.Errorf(sizing.Unavailable, "dial unix /data/.s.PGSQL.5432: %w", context.DeadlineExceeded)
	assert.Equal(t, http.StatusServiceUnavailable, failureOf(unreachable).status)
	assert.NotContains(t, failureOf(unreachable).detail, "PGSQL")
	assert.Contains(t, failureOf(sizing.Errorf(sizing.Unavailable, "check DATABASE_URL: %w", io.EOF)).detail, "the database is unreachable")
	notReady := sizing.Errorf(sizing.Unavailable, "predict task d/t: its model is not loaded yet; repeat the request")
	assert.Equal(t, "predict task d/t: its model is not loaded yet; repeat the request", failureOf(notReady).detail, "the detail must not blame the database")
	assert.Equal(t, http.StatusForbidden, failureOf(sizing.Errorf(sizing.Refused, "refused")).status)
}

func TestPanicReturnsAProblem(t *testing.T) {
	s := New(nil, Config{Auth: auth.Config{Disabled: true}}) // without a service /readyz panics
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	assert.Equal(t, http.StatusInternalServerError, rec.Code)
	assert.Equal(t, "application/problem+json", rec.Header().Get("Content-Type"))
	assert.Contains(t, rec.Body.String(), "request_id")
	assert.NotContains(t, rec.Body.String(), "nil pointer")
}
