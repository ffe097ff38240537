package dashboard_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

type peer string

func (e *env) sendFrom(from peer, user string, r *http.Request, headers ...header) *httptest.ResponseRecorder {
	e.t.Helper()
	r.RemoteAddr = string(from)
	r.Header.Set("Accept", "text/html")
	if user != "" {
		r.Header.Set("X-Forwarded-User", user)
	}
	return e.send(r, headers...)
}

func newForm(target string, form url.Values) *http.Request {
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return r
}

const (
	theProxy  peer = "10.1.2.3:4711"
	otherPeer peer = "10.2.2.3:4711" // outside the networks of the proxy
)

var formKey = regexp.MustCompile(`name="form_key" value="([^"]+)"`)

func TestUsersOfAProxyReadAndAdminsChange(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 25, rows)
	cfg := withTokens
	cfg.Proxy = auth.Proxy{Header: "X-Forwarded-User", Networks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, Admins: []string{"ann"}}
	e.serve(cfg)
	form := func(from peer, user string) url.Values {
		v := url.Values{"dag_id": {"etl"}, "task_id": {"load"}, "mode": {"shadow"}, "version": {"1"}}
		page := e.sendFrom(from, user, httptest.NewRequest(http.MethodGet, "/ui/task?dag_id=etl&task_id=load", nil)).Body.String()
		if found := formKey.FindStringSubmatch(page); found != nil {
			v.Set("form_key", html.UnescapeString(found[1]))
		}
		return v
	}
	for _, c := range []struct {
		from                peer
		user                string
		page, audit, change int
	}{
		{theProxy, "ann", 200, 200, 303}, {theProxy, "bob", 200, 403, 403}, {theProxy, "", 303, 303, 403}, {theProxy, "ann bob", 303, 303, 403},
		{otherPeer, "ann", 303, 303, 403}, {otherPeer, "bob", 303, 303, 403}, {otherPeer, "", 303, 303, 403},
	} {
		name := string(c.from) + " " + c.user
		for _, target := range addresses(key) {
			want := c.page
			if target == "/ui/audit" {
				want = c.audit
			}
			assert.Equal(t, want, e.sendFrom(c.from, c.user, httptest.NewRequest(http.MethodGet, target, nil)).Code, "%s as %s", target, name)
			if want != http.StatusOK {
				rec := e.sendFrom(c.from, c.user, httptest.NewRequest(http.MethodGet, target+separator(target)+"format=json", nil))
				assert.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, rec.Code, "%s as %s", target, name)
			}
		}
		assert.Equal(t, c.change, e.sendFrom(c.from, c.user, newForm("/ui/policy", form(c.from, c.user))).Code, name)
		for _, target := range []string{"/ui/activate", "/ui/unpin", "/ui/train", "/ui/campaign/pause"} {
			if c.change != http.StatusSeeOther {
				assert.Equal(t, http.StatusForbidden, e.sendFrom(c.from, c.user, newForm(target, form(c.from, c.user))).Code, "%s as %s", target, name)
			}
		}
	}
	assert.Equal(t, http.StatusUnauthorized, e.sendFrom(theProxy, "ann", httptest.NewRequest(http.MethodGet, "/tasks", nil)).Code, "the API ignores the header")
	entries, err := e.svc.Audit(t.Context(), filterAll, 100)
	require.NoError(t, err)
	for i := range entries {
		if entries[i].Action == store.PolicyChanged {
			assert.Equal(t, "user ann", entries[i].Who)
		}
	}
	policy, err := e.svc.Policy(t.Context(), key)
	require.NoError(t, err)
	assert.Equal(t, sizing.Shadow, policy.Mode)

	withoutHeader := cfg
	withoutHeader.Proxy = auth.Proxy{}
	adminForm := form(theProxy, "ann")
	e.serve(withoutHeader)
	assert.Equal(t, http.StatusSeeOther, e.sendFrom(theProxy, "ann", httptest.NewRequest(http.MethodGet, "/ui/", nil)).Code, "no proxy is configured")
	assert.Equal(t, http.StatusForbidden, e.sendFrom(theProxy, "ann", newForm("/ui/policy", adminForm)).Code)
}

// A proxy adds its header to every request, so pages of other origins could use the rights of its user.
func TestOtherPagesCannotUseTheUserOfAProxy(t *testing.T) {
	cfg := withTokens
	cfg.SessionKey = []byte(strings.Repeat("k", 32))
	cfg.Proxy = auth.Proxy{Header: "X-Forwarded-User", Networks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, Admins: []string{"ann", "eve"}}
	e := newEnv(t, cfg)
	page := func(user string, h header) *httptest.ResponseRecorder {
		return e.sendFrom(theProxy, user, httptest.NewRequest(http.MethodGet, "/ui/task?dag_id=etl&task_id=load", nil), h)
	}
	e.observe(key, 3, rows)
	formOf := func(user string) url.Values {
		csrfToken := html.UnescapeString(formKey.FindStringSubmatch(page(user, header{"Sec-Fetch-Site": "none"}).Body.String())[1])
		return url.Values{"dag_id": {"etl"}, "task_id": {"load"}, "mode": {"off"}, "form_key": {csrfToken}}
	}
	for name, rec := range map[string]*httptest.ResponseRecorder{
		"an image":                 page("ann", header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}),
		"a frame":                  page("ann", header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}),
		"a page of another origin": page("ann", header{"Origin": "http://evil.example"}),
		"a form of another site":   e.sendFrom(theProxy, "ann", newForm("/ui/policy", formOf("ann")), header{"Sec-Fetch-Site": "cross-site"}),
		"another user's form":      e.sendFrom(theProxy, "ann", newForm("/ui/policy", formOf("eve"))),
		"a form without a user":    e.sendFrom(theProxy, "", newForm("/ui/policy", formOf("ann"))),
	} {
		assert.Equal(t, http.StatusForbidden, rec.Code, name)
	}
	link := header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
	assert.Equal(t, http.StatusOK, page("ann", link).Code, "a person follows a link")
	assert.Equal(t, http.StatusSeeOther, e.sendFrom(theProxy, "ann", newForm("/ui/policy", formOf("ann"))).Code)
}

// A user who may only read can sign in with the token of an admin.
func TestASessionPrecedesTheUserOfAProxy(t *testing.T) {
	cfg := withTokens
	cfg.Proxy = auth.Proxy{Header: "X-Forwarded-User", Networks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	e := newEnv(t, cfg)
	page := func() string {
		return e.sendFrom(theProxy, "bob", httptest.NewRequest(http.MethodGet, "/ui/", nil)).Body.String()
	}
	assert.Contains(t, page(), "user bob")
	assert.Contains(t, page(), "Sign in with a token")
	assert.NotContains(t, page(), "Sign out")
	e.signIn("admin")
	assert.Contains(t, page(), ">admin</span>")
	assert.Contains(t, page(), ">Audit<")
	form := url.Values{"form_key": {html.UnescapeString(formKey.FindStringSubmatch(page())[1])}}
	assert.Equal(t, http.StatusSeeOther, e.sendFrom(theProxy, "bob", newForm("/ui/signout", form)).Code)
	e.cookie = "loadaware_session=expired"
	assert.Contains(t, page(), "user bob")
}
