package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware"
	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/trainer"
	"github.com/loadaware/loadaware/migrations"
)

// world is a whole service on a database of its own, and the contract that every
// request and answer is held to.
type world struct {
	t       *testing.T
	handler http.Handler
	spec    *openapi3.T
	router  routers.Router
	metrics *httpapi.Metrics
	log     *bytes.Buffer
	lose    func() // takes the database away
}

// everybody admits all.
var everybody = httpapi.Config{Auth: httpapi.Auth{Off: true}}

// newWorld starts a service as `serve` does.
func newWorld(t *testing.T, cfg httpapi.Config) *world {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	dsn := pgtest.DSN(t)
	require.NoError(t, migrations.Up(ctx, dsn))
	st, err := postgres.Open(ctx, dsn, postgres.Config{})
	require.NoError(t, err)
	quiet := slog.New(slog.DiscardHandler)
	// A busy machine must not change what is answered.
	patient := service.Config{LaterTryRead: time.Minute, OpenWait: time.Minute}
	svc := service.New(st, trainer.New(st, trainer.Config{}, quiet), patient, quiet)
	ended := make(chan error, 1)
	go func() { ended <- svc.Run(ctx) }()
	lose := sync.OnceFunc(st.Close)
	t.Cleanup(func() { cancel(); <-ended; lose() })
	require.Eventually(t, func() bool { return svc.Readiness().Ready }, 30*time.Second, 10*time.Millisecond)

	w := &world{t: t, log: &bytes.Buffer{}, metrics: httpapi.NewMetrics(), lose: lose}
	cfg.Metrics, cfg.Log = w.metrics, slog.New(slog.NewTextHandler(w.log, nil))
	w.handler = httpapi.New(svc, cfg)
	w.spec, w.router = contract(t)
	return w
}

// contract reads openapi.yaml, which must be valid, its examples included.
func contract(t testing.TB) (*openapi3.T, routers.Router) {
	t.Helper()
	spec, err := openapi3.NewLoader().LoadFromData(loadaware.OpenAPI)
	require.NoError(t, err)
	for _, schema := range spec.Components.Schemas {
		always, _ := schema.Value.Extensions["x-always-present"].([]any)
		for _, property := range always {
			schema.Value.Required = append(schema.Value.Required, property.(string))
		}
	}
	require.NoError(t, spec.Validate(context.Background(), openapi3.EnableExamplesValidation()))
	router, err := gorillamux.NewRouter(spec)
	require.NoError(t, err)
	return spec, router
}

// answer is what came back.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

// into decodes the body.
func (a answer) into(v any) {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.body, v), string(a.body))
}

// json is the body as a map.
func (a answer) json() map[string]any {
	a.t.Helper()
	var m map[string]any
	a.into(&m)
	return m
}

// fields are the names of the bad fields of a problem.
func (a answer) fields() []string {
	a.t.Helper()
	var p struct{ Errors []struct{ Field string } }
	a.into(&p)
	names := []string{}
	for _, e := range p.Errors {
		names = append(names, e.Field)
	}
	return names
}

// option changes a request before it is sent.
type option func(*http.Request)

func bearer(token string) option {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func header(name, value string) option {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// do sends one request and holds it and its answer to the contract: an answer is
// always one that the contract knows, and what it accepts the contract accepts.
func (w *world) do(method, target, body string, options ...option) answer {
	w.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, change := range options {
		change(r)
	}
	sent := r.Clone(r.Context()) // the handler reads r's body
	sent.Body = io.NopCloser(strings.NewReader(body))

	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	a := answer{w.t, rec.Code, rec.Header(), rec.Body.Bytes()}
	w.conforms(sent, a)
	return a
}

func (w *world) conforms(r *http.Request, a answer) {
	w.t.Helper()
	if r.Method == http.MethodHead {
		return // the contract leaves unsaid that a GET may be asked for its head
	}
	route, params, err := w.router.FindRoute(r)
	if err != nil {
		assert.GreaterOrEqual(w.t, a.status, 400, "%s %s is not in the contract", r.Method, r.URL)
		assert.Less(w.t, a.status, 500)
		assert.Equal(w.t, "application/problem+json", a.header.Get("Content-Type"))
		return
	}
	in := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	itemFailed := strings.HasSuffix(route.Path, "/batch") && bytes.Contains(a.body, []byte(`"error":`))
	if a.status < 300 && !itemFailed {
		assert.NoError(w.t, openapi3filter.ValidateRequest(context.Background(), in), "accepted, but the contract does not")
	}
	media := strings.SplitN(a.header.Get("Content-Type"), ";", 2)[0]
	in.Options.ExcludeResponseBody = media == "text/html" || media == "application/yaml" // texts without a schema
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: a.status, Header: a.header, Options: in.Options}
	out.SetBodyBytes(a.body)
	assert.NoError(w.t, openapi3filter.ValidateResponse(context.Background(), out), "%s %s → %d %s", r.Method, r.URL, a.status, a.body)
	assert.NotEmpty(w.t, a.header.Get("X-Request-Id"))
}

// post sends a body that must be taken.
func (w *world) post(target, body string, options ...option) answer {
	w.t.Helper()
	a := w.do(http.MethodPost, target, body, options...)
	require.Equal(w.t, http.StatusOK, a.status, "%s %s → %s", target, body, a.body)
	return a
}

func TestTheContractIsValidAndItsExamplesAreToo(t *testing.T) {
	spec, _ := contract(t)
	assert.Greater(t, spec.Paths.Len(), 15)
}
