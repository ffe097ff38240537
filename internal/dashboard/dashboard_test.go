package dashboard_test

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/dashboard"
	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/testwait"
	"github.com/loadaware/loadaware/internal/trainer"
)

type env struct {
	t       *testing.T
	svc     *service.Service
	st      *postgres.Store
	handler http.Handler
	cookie  string // sent with every request
}

// withoutTokens configures a server without tokens on a loopback address: each caller whose Host and origin are accepted is
// an admin.
var withoutTokens = dashboard.Config{Auth: auth.Config{Disabled: true, CheckOrigin: true}}

func newEnv(t *testing.T, cfg dashboard.Config) *env {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	st, err := postgres.Open(ctx, pgtest.Migrated(t), postgres.Config{})
	require.NoError(t, err)
	quiet := slog.New(slog.DiscardHandler)
	// Long timeouts, so that a slow machine does not change the pages.
	timeouts := service.Config{ReadTimeout: testwait.Limit, DecodeWait: testwait.Limit, PingTimeout: testwait.Limit}
	// A training starts only when a test requests it, so that none falls between two requests of a test.
	svc := service.New(st, trainer.New(st, trainer.Config{OnlyRequested: true}, quiet), timeouts, quiet)
	ended := make(chan error, 1)
	go func() { ended <- svc.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended; st.Close() })
	require.Eventually(t, func() bool { return svc.Readiness().Ready }, testwait.Limit, 10*time.Millisecond)
	e := &env{t: t, svc: svc, st: st}
	e.serve(cfg)
	return e
}

func (e *env) serve(cfg dashboard.Config) {
	cfg.Log = slog.New(slog.NewTextHandler(e.t.Output(), nil))
	e.handler = httpapi.New(e.svc, httpapi.Config{Auth: cfg.Auth, Pages: dashboard.New(e.svc, cfg), Log: cfg.Log})
}

type header map[string]string

// get requests a page as a browser does when a person enters its address.
func (e *env) get(target string, headers ...header) *httptest.ResponseRecorder {
	e.t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Sec-Fetch-Site", "none")
	return e.send(r, headers...)
}

func (e *env) post(target string, form url.Values, headers ...header) *httptest.ResponseRecorder {
	e.t.Helper()
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return e.send(r, headers...)
}

func (e *env) send(r *http.Request, headers ...header) *httptest.ResponseRecorder {
	r.Host = "localhost:8080"
	if e.cookie != "" {
		r.Header.Set("Cookie", e.cookie)
	}
	for _, h := range headers {
		for name, value := range h {
			r.Header.Set(name, value)
		}
	}
	rec := httptest.NewRecorder()
	e.handler.ServeHTTP(rec, r)
	return rec
}

func (e *env) page(target string) string {
	e.t.Helper()
	rec := e.get(target)
	require.Equal(e.t, http.StatusOK, rec.Code, "%s: %s", target, rec.Body)
	assert.Equal(e.t, "text/html; charset=utf-8", rec.Header().Get("Content-Type"), target)
	return rec.Body.String()
}

var key = sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "etl", Task: "load"}

// observe reports runs of a task that requests 8 GiB. Each run succeeds with an allocation of 4 GiB; every
// 20th run is first OOM-killed with an allocation of 2 GiB.
func (e *env) observe(task sizing.TaskKey, runs int, features func(run int) sizing.Features) {
	e.t.Helper()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var reports []sizing.Observation
	for run := range runs {
		o := sizing.Observation{
			Try:       sizing.TryKey{TaskKey: task, RunID: fmt.Sprintf("run_%d", run), MapIndex: sizing.NoMap, Number: 1},
			Outcome:   sizing.Success,
			MemoryMax: sizing.GiB + sizing.Bytes(run%10)*200*sizing.MiB, Duration: time.Hour, EndedAt: start.Add(time.Duration(run) * 24 * time.Hour),
			Allocated: sizing.Resources{Memory: 4 * sizing.GiB}, Requested: sizing.Resources{Memory: 8 * sizing.GiB}, Features: features(run),
		}
		if run%20 == 19 {
			o.Outcome, o.MemoryMax, o.Allocated.Memory = sizing.OOMKilled, 0, 2*sizing.GiB
			reports = append(reports, o)
			o.Outcome, o.MemoryMax, o.Allocated.Memory, o.Try.Number, o.EndedAt = sizing.Success, 3*sizing.GiB, 4*sizing.GiB, 2, o.EndedAt.Add(time.Hour)
		}
		reports = append(reports, o)
	}
	results, err := e.svc.Observe(e.t.Context(), reports)
	require.NoError(e.t, err)
	for _, r := range results {
		require.NoError(e.t, r.Err)
	}
}

func rows(run int) sizing.Features {
	return sizing.Features{"rows": sizing.NumberValue(float64(run % 10)), "region": sizing.TextValue([]string{"eu", "us"}[run%2])}
}

// addresses returns the addresses of pages that must work after observe has reported at least 20 runs of the task.
func addresses(task sizing.TaskKey) []string {
	q := "?" + url.Values{"namespace": {task.Namespace}, "dag_id": {task.DAG}, "task_id": {task.Task}}.Encode()
	return []string{"/ui/", "/ui/tasks", "/ui/task" + q, "/ui/policy" + q, "/ui/policy" + q + "&mode=shadow&risk_percent=0.5", "/ui/try" + q + "&run_id=run_0",
		"/ui/try" + q + "&run_id=run_19", "/ui/whatif", "/ui/whatif" + q, "/ui/savings", "/ui/savings?by=task", "/ui/savings?by=owner", "/ui/audit", "/ui/start",
		"/ui/runtime" + q, "/ui/runtime" + q + "&risk_percent=2&timeout=9000", "/ui/ask" + q, "/ui/ask" + q + "&memory=8Gi&f.rows=3&f.region=eu", "/ui/forecast", "/ui/forecast" + q + "&features=rows%3D3", "/ui/campaigns", "/ui/profiles", "/ui/phases", "/ui/phases" + q}
}

func TestEmptyPagesSayWhatToDo(t *testing.T) {
	e := newEnv(t, withoutTokens)
	for path, text := range map[string]string{
		"/ui/": "No task is known yet", "/ui/tasks": "No task is known yet", "/ui/savings": "No try in this window", "/ui/whatif": "No task is known yet",
		"/ui/audit": "No change", "/ui/start": "curl", "/ui/forecast": "No task is known yet", "/ui/campaigns": "No campaign", "/ui/profiles": "There are no profiles yet", "/ui/phases": "No run was learned yet",
	} {
		page := e.page(path)
		assert.Contains(t, page, text, path)
		if path != "/ui/start" && path != "/ui/audit" && path != "/ui/campaigns" {
			assert.Contains(t, page, `href="/ui/start"`, path)
		}
	}
}

func TestPagesOfATaskWithAndWithoutAModel(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 3, rows)
	untrained := e.page("/ui/task?dag_id=etl&task_id=load")
	assert.Contains(t, untrained, "There is no model yet: 3 runs so far")
	assert.Contains(t, untrained, "needs 66 measured runs; 3 so far", "a static request for a risk of 1.5 %")
	e.observe(key, 60, rows)
	report, err := e.svc.Train(t.Context(), key)
	require.NoError(t, err)
	require.True(t, report.Published, report.Reason)
	for _, target := range addresses(key) {
		page := e.page(target)
		assert.Less(t, len(page), 200_000, target)
		assert.NotContains(t, page, "%!", target)
	}
	page := e.page("/ui/task?dag_id=etl&task_id=load")
	for _, text := range []string{"Granted and used memory", "What drives the grant", "Pin version", "Newest tries", "SizedKubernetesPodOperator", "from kubernetes.client import models as k8s", "To paste into a manifest", ">bins</li>", "bin up to",
		"3 <small>4.8\u00a0% of successes and kills</small>", "of 63 tries in all"} {
		assert.True(t, strings.Contains(page, text), text)
	}
	killed := e.page("/ui/try?dag_id=etl&task_id=load&run_id=run_19&try_number=1")
	assert.Contains(t, killed, "Why it was killed")
	assert.Contains(t, killed, "All tries of this run")
}

func TestTaskPageSaysWhyThereIsNoStaticRequest(t *testing.T) {
	e := newEnv(t, withoutTokens)
	reports := make([]sizing.Observation, 66)
	for run := range reports {
		reports[run] = sizing.Observation{Try: sizing.TryKey{TaskKey: key, RunID: fmt.Sprint("run_", run), MapIndex: sizing.NoMap, Number: 1},
			Outcome: sizing.Success, MemoryMax: sizing.GiB, Duration: time.Hour, Allocated: sizing.Resources{Memory: 2 * sizing.GiB}}
	}
	reports[7].Outcome = sizing.OOMKilled
	_, err := e.svc.Observe(t.Context(), reports)
	require.NoError(t, err)
	page := e.page("/ui/task?dag_id=etl&task_id=load")
	assert.Contains(t, page, "There is no static request for a risk of 1.5\u00a0%: 1 of 66 runs were OOM-killed and never succeeded.")
	assert.Contains(t, page, "Histogram of the peaks of 65 runs")
}

func TestPagesAreAlsoJSONAndCSV(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 40, rows)
	for _, target := range addresses(key) {
		rec := e.get(target + separator(target) + "format=json")
		require.Equal(t, http.StatusOK, rec.Code, "%s: %s", target, rec.Body)
		var page map[string]any
		require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &page), target)
		rec = e.get(target + separator(target) + "format=csv")
		require.Equal(t, http.StatusOK, rec.Code, target)
		table, err := csv.NewReader(rec.Body).ReadAll()
		require.NoError(t, err, target)
		assert.NotEmpty(t, table, target)
	}
	var list struct {
		Tasks []struct {
			TaskID string  `json:"task_id"`
			Saved  float64 `json:"saved_gbh"`
		}
	}
	require.NoError(t, json.Unmarshal(e.get("/ui/tasks?format=json").Body.Bytes(), &list))
	require.Len(t, list.Tasks, 1)
	// 40 successes of an hour at 4 of 8 GiB, and 2 kills of an hour at 2 GiB.
	assert.InDelta(t, (40*4-2*2)*1.073741824, list.Tasks[0].Saved, 1e-6)
}

func TestTasksAreSortedAndFiltered(t *testing.T) {
	e := newEnv(t, withoutTokens)
	for i, name := range []string{"a", "b", "c"} {
		e.observe(sizing.TaskKey{Namespace: "default", DAG: "dag_" + name, Task: "t"}, 1+i, rows)
	}
	order := func(query string) string {
		names := ""
		for _, m := range regexp.MustCompile(`<th scope="row"><a [^>]*>dag_(.)/t`).FindAllStringSubmatch(e.page("/ui/tasks?"+query), -1) {
			names += m[1]
		}
		return names
	}
	for query, want := range map[string]string{
		"": "cba", "sort=tries": "abc", "sort=-tries": "cba", "sort=task": "abc", "sort=-task": "cba",
		"q=AG_B": "b", "dag_id=dag_a": "a", "q=x": "", "mode=shadow": "", "mode=enforce&sort=task": "abc", "sort=task&offset=1": "bc", "offset=99": "",
	} {
		assert.Equal(t, want, order(query), query)
	}
	assert.Contains(t, e.page("/ui/tasks?severity=warning&sort=-severity"), "/ui/tasks?severity=warning&amp;sort=severity\"", "the link that sorts by severity keeps the filter by severity")
}

func TestUnknownValuesOfParametersAreErrors(t *testing.T) {
	e := newEnv(t, withoutTokens)
	for target, detail := range map[string]string{
		"/ui/tasks?sort=foo":                             "sort must be one of task, owner,",
		"/ui/tasks?offset=x":                             "offset must be 0 or a positive integer",
		"/ui/savings?by=week":                            "by must be dag, task, owner or dag_owner",
		"/ui/savings?by=week&format=json":                "by must be dag, task, owner or dag_owner",
		"/ui/tasks?format=xml":                           "format must be html, json or csv",
		"/ui/audit?task_id=%00&dag_id=%00&namespace=%00": "namespace must",
		"/ui/try?dag_id=d&task_id=t&run_id=r&try_number=one&map_index=none": "map_index must",
	} {
		rec := e.get(target)
		assert.Equal(t, http.StatusUnprocessableEntity, rec.Code, target)
		assert.Contains(t, rec.Body.String(), detail, target)
	}
	for _, target := range []string{"/ui/tasks?sort=&offset=&format=", "/ui/savings?by=&format=html"} {
		assert.Equal(t, http.StatusOK, e.get(target).Code, target)
	}
}

// secret returns the secret of the token with a name. It is long, so that no random text contains it.
func secret(name string) string { return name + "-secret-of-the-test" }

func sha(name string) [32]byte { return sha256.Sum256([]byte(secret(name))) }

// withTokens has tokens of several roles and scopes.
var withTokens = dashboard.Config{Auth: auth.Config{Tokens: []auth.Token{
	{Name: "admin", Role: auth.RoleAdmin, Hash: sha("admin")}, {Name: "predict", Role: auth.RolePredict, Hash: sha("predict")},
	{Name: "observe", Role: auth.RoleObserve, Hash: sha("observe")}, {Name: "blue", Role: auth.RoleAdmin, Namespace: "blue", Hash: sha("blue")},
	{Name: "etl", Role: auth.RolePredict, DAGPrefix: "etl", Hash: sha("etl")}, {Name: "ml", Role: auth.RolePredict, DAGPrefix: "ml_", Hash: sha("ml")},
}}}

func (e *env) signIn(token string) {
	e.t.Helper()
	e.cookie = ""
	rec := e.post("/ui/signin", url.Values{"token": {secret(token)}, "next": {"/ui/tasks"}})
	require.Equal(e.t, http.StatusSeeOther, rec.Code, rec.Body)
	assert.Equal(e.t, "/ui/tasks", rec.Header().Get("Location"))
	cookie := rec.Result().Cookies()[0]
	assert.True(e.t, cookie.HttpOnly)
	assert.Equal(e.t, http.SameSiteStrictMode, cookie.SameSite)
	assert.NotContains(e.t, cookie.Value, secret(token))
	e.cookie = cookie.Name + "=" + cookie.Value
}

func TestTokensLimitPagesAndChanges(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 25, rows)
	e.serve(withTokens)
	pages := addresses(key)
	csrfToken := regexp.MustCompile(`name="form_key" value="([^"]+)"`)
	for token, c := range map[string]struct{ page, audit, change, seen int }{
		"admin": {200, 200, 303, 1}, "predict": {200, 403, 403, 1}, "observe": {200, 403, 403, 1}, "etl": {200, 403, 403, 1},
		"blue": {403, 200, 403, 0}, "ml": {403, 403, 403, 0},
	} {
		e.signIn(token)
		for _, target := range pages {
			isTaskPage := strings.Contains(target, "dag_id=")
			want := 200
			if isTaskPage {
				want = c.page
			} else if target == "/ui/audit" {
				want = c.audit
			}
			assert.Equal(t, want, e.get(target).Code, "%s as %s", target, token)
			bearer := header{"Cookie": "", "Authorization": "Bearer " + secret(token)}
			assert.Equal(t, want, e.get(target, bearer).Code, "%s with the bearer token %s", target, token)
		}
		assert.Equal(t, c.seen == 1, strings.Contains(e.page("/ui/tasks"), "etl/load"), token)
		form := url.Values{"dag_id": {"etl"}, "task_id": {"load"}, "mode": {"shadow"}, "version": {"1"}, "form_key": {html.UnescapeString(csrfToken.FindStringSubmatch(e.page("/ui/"))[1])}}
		assert.Equal(t, c.change, e.post("/ui/policy", form).Code, token)
		for _, path := range []string{"/ui/activate", "/ui/unpin", "/ui/train"} {
			if token != "admin" {
				assert.Equal(t, 403, e.post(path, form).Code, "%s as %s", path, token)
			}
		}
	}
	e.cookie = ""
	for _, target := range pages {
		rec := e.get(target)
		assert.Equal(t, http.StatusSeeOther, rec.Code, target)
		assert.Contains(t, rec.Header().Get("Location"), "/ui/signin?next=", target)
	}
	for _, cookie := range []string{"loadaware_session=x", "loadaware_session=", "other=1"} {
		assert.Equal(t, http.StatusSeeOther, e.get("/ui/", header{"Cookie": cookie}).Code, cookie)
	}
	assert.Equal(t, http.StatusUnauthorized, e.get("/ui/?format=json").Code)
	assert.Equal(t, http.StatusUnauthorized, e.post("/ui/signin", url.Values{"token": {"wrong"}}).Code)
	policy, err := e.svc.Policy(t.Context(), key)
	require.NoError(t, err)
	assert.Equal(t, sizing.Shadow, policy.Mode, "the admin changed it")
	entries, err := e.svc.Audit(t.Context(), filterAll, 100)
	require.NoError(t, err)
	var changers []string
	for i := range entries {
		if entries[i].Action == store.PolicyChanged {
			changers = append(changers, entries[i].Who)
		}
	}
	assert.Equal(t, []string{"admin"}, changers)
}

func TestRequestsOfOtherPagesAreRejected(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 3, rows)
	valid := regexp.MustCompile(`name="form_key" value="([^"]+)"`).FindStringSubmatch(e.page("/ui/task?dag_id=etl&task_id=load"))[1]
	form := func(csrfToken string) url.Values {
		return url.Values{"dag_id": {"etl"}, "task_id": {"load"}, "mode": {"off"}, "form_key": {html.UnescapeString(csrfToken)}}
	}
	for name, rec := range map[string]*httptest.ResponseRecorder{
		"no CSRF token":              e.post("/ui/policy", form("")),
		"another CSRF token":         e.post("/ui/policy", form("x"+valid)),
		"a page of another site":     e.post("/ui/policy", form(valid), header{"Sec-Fetch-Site": "cross-site"}),
		"a page of another port":     e.post("/ui/policy", form(valid), header{"Sec-Fetch-Site": "same-site"}),
		"an older browser":           e.post("/ui/policy", form(valid), header{"Sec-Fetch-Site": "", "Origin": "http://evil.example"}),
		"another site loads a frame": e.get("/ui/", header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}),
		"another site reads":         e.get("/ui/?format=json", header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}),
	} {
		assert.Equal(t, http.StatusForbidden, rec.Code, name)
	}
	policy, err := e.svc.Policy(t.Context(), key)
	require.NoError(t, err)
	assert.True(t, policy.IsZero())
	assert.Equal(t, http.StatusSeeOther, e.post("/ui/policy", form(valid)).Code)
	rebound := httptest.NewRequest(http.MethodGet, "/ui/", nil)
	rebound.Host = "evil.example"
	rec := httptest.NewRecorder()
	e.handler.ServeHTTP(rec, rebound)
	assert.Equal(t, http.StatusForbidden, rec.Code, "DNS rebinding")
}

func TestSignInRedirectsToOwnPagesOnly(t *testing.T) {
	e := newEnv(t, withTokens)
	for next, want := range map[string]string{
		"/ui/whatif?dag_id=a": "/ui/whatif?dag_id=a", "https://evil.example/": "/ui/", "//evil.example/ui/": "/ui/", "/\\evil.example": "/ui/", "": "/ui/",
		"/metrics": "/ui/", "javascript:alert(1)": "/ui/", "/ui/\\..\\x": "/ui/", "/ui": "/ui/",
		"///ui/x": "/ui/", "ui/x": "/ui/",
	} {
		rec := e.post("/ui/signin", url.Values{"token": {secret("admin")}, "next": {next}})
		assert.Equal(t, want, rec.Header().Get("Location"), next)
	}
	rec := e.post("/ui/signin", url.Values{"token": {secret("admin")}}, header{"Sec-Fetch-Site": "cross-site"})
	assert.Equal(t, http.StatusForbidden, rec.Code, "sign-in by another page")
	rec = e.post("/ui/signin", url.Values{"token": {secret("admin")}}, header{"X-Forwarded-Proto": "https"})
	assert.True(t, rec.Result().Cookies()[0].Secure)
	// When a browser follows a link of another site, it does not send cookies with SameSite=Strict. The page reloads
	// itself, and the second request has the cookie.
	rec = e.get("/ui/tasks?q=a", header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
	assert.Equal(t, http.StatusOK, rec.Code)
	assert.Contains(t, rec.Body.String(), `http-equiv="refresh"`)
}

func TestPagesBehindAPrefix(t *testing.T) {
	cfg := withoutTokens
	cfg.Prefix, cfg.FrameAncestors = "/sizing", "https://airflow.example.org"
	e := newEnv(t, cfg)
	e.observe(key, 2, rows)
	for _, path := range []string{"/ui/", "/sizing/ui/", "/ui/start", "/sizing/ui/tasks"} { // some proxies remove the prefix
		page := e.page(path)
		for _, link := range regexp.MustCompile(`(?:href|src|action)="([^"]+)"`).FindAllStringSubmatch(page, -1) {
			if !strings.HasPrefix(link[1], "#") && link[1] != "/sizing/docs" && link[1] != "/sizing/openapi.yaml" {
				assert.True(t, strings.HasPrefix(link[1], "/sizing/ui/"), link[1])
			}
		}
	}
	start := e.get("/ui/start", header{"X-Forwarded-Proto": "https"}).Body.String()
	assert.Contains(t, start, "https://localhost:8080/sizing/predict?")
	assert.Contains(t, start, "--url https://localhost:8080/sizing<")
	rec := e.get("/")
	assert.Equal(t, "/sizing/ui/", rec.Header().Get("Location"))
	rec = e.get("/sizing/ui/", header{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"})
	assert.Equal(t, http.StatusOK, rec.Code, "a frame of a permitted page")
	assert.Contains(t, rec.Header().Get("Content-Security-Policy"), "frame-ancestors https://airflow.example.org")
}

// Ids of tasks and categories may begin and end with a space.
func TestFormsKeepTheSpacesOfIDs(t *testing.T) {
	e := newEnv(t, withoutTokens)
	spaced := sizing.TaskKey{Namespace: " prod ", DAG: " etl ", Task: " load "}
	report := sizing.Observation{Try: sizing.TryKey{TaskKey: spaced, RunID: " run ", MapIndex: sizing.NoMap, Number: 1},
		Outcome: sizing.Success, MemoryMax: sizing.GiB, Features: sizing.Features{"region": sizing.TextValue("emea ")}}
	_, err := e.svc.Observe(t.Context(), []sizing.Observation{report})
	require.NoError(t, err)
	query := "?namespace=%20prod%20&dag_id=%20etl%20&task_id=%20load%20"
	for _, page := range []string{"task", "try", "ask", "runtime", "phases", "whatif"} {
		e.page("/ui/" + page + query + "&run_id=%20run%20")
	}
	e.page("/ui/forecast" + query)
	e.page("/ui/whatif" + query + "&risk_percent=2")
	assert.Contains(t, e.page("/ui/ask"+query+"&memory=4Gi&f.region=emea%20"), `value="emea "`)
	assert.Contains(t, e.page("/ui/ask"+query+"&memory=4Gi&f.region=%20apac%20"), `value="apac"`)
}

// Airflow writes ids into the address of a frame without encoding, and adds no try number.
func TestFrameInAirflowShowsTheLastTryOfARun(t *testing.T) {
	e := newEnv(t, withoutTokens)
	var reports []sizing.Observation
	for _, run := range []string{"manual__2026-01-01T00:00:00+00:00", "with a space"} {
		for number := 1; number <= 2; number++ {
			reports = append(reports, sizing.Observation{Try: sizing.TryKey{TaskKey: key, RunID: run, MapIndex: sizing.NoMap, Number: number},
				Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: sizing.Bytes(number) * sizing.GiB}, Features: sizing.Features{}})
		}
	}
	_, err := e.svc.Observe(t.Context(), reports)
	require.NoError(t, err)
	for _, target := range []string{
		"/ui/try?dag_id=etl&task_id=load&run_id=manual__2026-01-01T00:00:00+00:00&map_index={MAP_INDEX}&frame=1",
		"/ui/try?dag_id=etl&task_id=load&run_id=manual__2026-01-01T00%3A00%3A00%2B00%3A00&map_index=-1&frame=1",
		"/ui/try?dag_id=etl&task_id=load&run_id=with%20a%20space",
	} {
		assert.Contains(t, e.page(target), ", try 2</h1>", target)
	}
	tries := regexp.MustCompile(`href="(/ui/try[^"]+)"`).FindAllStringSubmatch(e.page("/ui/task?dag_id=etl&task_id=load"), -1)
	require.NotEmpty(t, tries)
	for _, link := range tries {
		e.page(html.UnescapeString(link[1]))
	}
}
