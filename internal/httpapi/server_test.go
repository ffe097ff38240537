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
	"sync/atomic"
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
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/testwait"
	"github.com/loadaware/loadaware/internal/trainer"
)

// testEnv is a complete service with its own database. Its method do validates answers and accepted
// requests against openapi.yaml.
type testEnv struct {
	t          *testing.T
	handler    http.Handler
	spec       *openapi3.T
	router     routers.Router
	metrics    *httpapi.Metrics
	log        *bytes.Buffer
	closeStore func() // disconnects the database
	trainer    *trainer.Trainer
	now        atomic.Pointer[time.Time] // set by setTime
}

func (e *testEnv) setTime(now time.Time) { e.now.Store(&now) }

func (e *testEnv) time() time.Time {
	if now := e.now.Load(); now != nil {
		return *now
	}
	return time.Now()
}

var noAuth = httpapi.Config{Auth: auth.Config{Disabled: true}}

// newTestEnv starts the service of `loadaware serve` in this process. Its trainer trains only on request. Nothing
// reconciles reports or deletes old rows, and the replica does not poll the store for changes.
func newTestEnv(t *testing.T, cfg httpapi.Config) *testEnv {
	t.Helper()
	return newPollingTestEnv(t, cfg, time.Hour)
}

// newPollingTestEnv is newTestEnv with an interval at which the replica polls the store.
func newPollingTestEnv(t *testing.T, cfg httpapi.Config, interval time.Duration) *testEnv {
	t.Helper()
	e := &testEnv{t: t, log: &bytes.Buffer{}, metrics: httpapi.NewMetrics()}
	ctx, cancel := context.WithCancel(context.Background())
	dsn := pgtest.Migrated(t)
	st, err := postgres.Open(ctx, dsn, postgres.Config{})
	require.NoError(t, err)
	quiet := slog.New(slog.DiscardHandler)
	// Long timeouts, so that a slow machine does not change the answers.
	timeouts := service.Config{ReadTimeout: testwait.Limit, DecodeWait: testwait.Limit, PingTimeout: testwait.Limit, PollInterval: interval, Now: e.time}
	// A training starts only when a test requests it, so that none falls between two requests of a test.
	tr := trainer.New(st, trainer.Config{OnlyRequested: true}, quiet)
	svc := service.New(st, tr, timeouts, quiet)
	ended := make(chan error, 1)
	go func() { ended <- svc.Run(ctx) }()
	closeStore := sync.OnceFunc(st.Close)
	t.Cleanup(func() { cancel(); <-ended; closeStore() })
	require.Eventually(t, func() bool { return svc.Readiness().Ready }, testwait.Limit, 10*time.Millisecond)

	e.closeStore, e.trainer = closeStore, tr
	cfg.Metrics, cfg.Log = e.metrics, slog.New(slog.NewTextHandler(e.log, nil))
	e.handler = httpapi.New(svc, cfg)
	e.spec, e.router = loadOpenAPI(t)
	return e
}

// loadOpenAPI returns the validated openapi.yaml and a router of its paths. All tests share them
// and must not change them.
func loadOpenAPI(t testing.TB) (*openapi3.T, routers.Router) {
	t.Helper()
	parsed, err := parseOpenAPI()
	require.NoError(t, err)
	return parsed.spec, parsed.router
}

type parsedOpenAPI struct {
	spec   *openapi3.T
	router routers.Router
}

// parseOpenAPI parses and validates openapi.yaml once, because this takes longer than most tests. Properties that
// x-always-present lists become required, so that the tests find answers without them.
var parseOpenAPI = sync.OnceValues(func() (*parsedOpenAPI, error) {
	spec, err := openapi3.NewLoader().LoadFromData(loadaware.OpenAPI)
	if err != nil {
		return nil, err
	}
	for _, schema := range spec.Components.Schemas {
		always, _ := schema.Value.Extensions["x-always-present"].([]any)
		for _, property := range always {
			schema.Value.Required = append(schema.Value.Required, property.(string))
		}
	}
	if err := spec.Validate(context.Background(), openapi3.EnableExamplesValidation()); err != nil {
		return nil, err
	}
	router, err := gorillamux.NewRouter(spec)
	return &parsedOpenAPI{spec, router}, err
})

type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

func (a answer) into(v any) {
	a.t.Helper()
	require.NoError(a.t, json.Unmarshal(a.body, v), string(a.body))
}

func (a answer) json() map[string]any {
	a.t.Helper()
	var m map[string]any
	a.into(&m)
	return m
}

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

type option func(*http.Request)

func bearer(token string) option {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func header(name, value string) option {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// do sends one request. It requires that openapi.yaml describes the answer, and the request if the
// server accepts it.
func (e *testEnv) do(method, target, body string, options ...option) answer {
	e.t.Helper()
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
	e.handler.ServeHTTP(rec, r)
	a := answer{e.t, rec.Code, rec.Header(), rec.Body.Bytes()}
	e.validate(sent, a)
	return a
}

// validate compares a request and its answer with openapi.yaml, except for HEAD. It does not check the request if the
// answer rejects it or an item of its batch. A path that is not in openapi.yaml must get a problem with status 4xx.
func (e *testEnv) validate(r *http.Request, a answer) {
	e.t.Helper()
	if r.Method == http.MethodHead {
		return // openapi.yaml does not list HEAD
	}
	route, params, err := e.router.FindRoute(r)
	if err != nil {
		assert.GreaterOrEqual(e.t, a.status, 400, "%s %s is not in openapi.yaml", r.Method, r.URL)
		assert.Less(e.t, a.status, 500)
		assert.Equal(e.t, "application/problem+json", a.header.Get("Content-Type"))
		return
	}
	in := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true},
	}
	itemFailed := strings.HasSuffix(route.Path, "/batch") && bytes.Contains(a.body, []byte(`"error":`))
	if a.status < 300 && !itemFailed {
		assert.NoError(e.t, openapi3filter.ValidateRequest(context.Background(), in), "the server must not accept a request that openapi.yaml rejects")
	}
	media := strings.SplitN(a.header.Get("Content-Type"), ";", 2)[0]
	in.Options.ExcludeResponseBody = media == "text/html" || media == "application/yaml" // bodies without a schema
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: a.status, Header: a.header, Options: in.Options}
	out.SetBodyBytes(a.body)
	assert.NoError(e.t, openapi3filter.ValidateResponse(context.Background(), out), "%s %s → %d %s", r.Method, r.URL, a.status, a.body)
	assert.NotEmpty(e.t, a.header.Get("X-Request-Id"))
}

// post sends a body that must be accepted.
func (e *testEnv) post(target, body string, options ...option) answer {
	e.t.Helper()
	a := e.do(http.MethodPost, target, body, options...)
	require.Equal(e.t, http.StatusOK, a.status, "%s %s → %s", target, body, a.body)
	return a
}

func TestOpenAPIAndItsExamplesAreValid(t *testing.T) {
	spec, _ := loadOpenAPI(t)
	assert.Greater(t, spec.Paths.Len(), 15)
}
