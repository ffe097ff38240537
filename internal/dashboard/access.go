package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/sizing"
)

const cookieName = "loadaware_session"

// pageRequest is a request with the grants of its caller, which are roles in scopes (auth.Grants), not amounts.
type pageRequest struct {
	*http.Request
	query   url.Values
	grants  auth.Grants // grants whose role permits the page
	admin   auth.Grants // grants with the role admin
	observe auth.Grants // grants that may read usage series
	session string      // value of the cookie; "" without one, or if the grants come from elsewhere
	user    string      // the user that a trusted proxy names; "" with other grants, or if the proxy names no user
}

// namespace chooses the namespace of a page that shows exactly one: the requested one, else the only namespace of the
// grants, else the default namespace. If no grant covers the default namespace, it returns that of the first grant.
func (req *pageRequest) namespace() (string, error) {
	requested := req.query.Get("namespace")
	namespace, err := req.grants.OneNamespace(requested)
	if err != nil && requested == "" {
		return req.grants[0].Namespace, nil
	}
	return namespace, err
}

// identify returns a request with the grants of its caller; without grants if the caller is unknown. Programs send a bearer
// token, browsers send a cookie, and a trusted proxy names its user in a header. The cookie takes precedence over the proxy,
// so that a user who may only read can sign in with the token of an admin.
func (d *Dashboard) identify(r *http.Request) *pageRequest {
	req := &pageRequest{Request: r, query: r.URL.Query(), grants: d.cfg.Auth.Identify(r)}
	if cookie, err := r.Cookie(cookieName); err == nil && len(req.grants) == 0 {
		req.session, req.grants = cookie.Value, d.sessions.Grants(cookie.Value, d.cfg.Now())
	}
	if len(req.grants) == 0 {
		if req.user = d.cfg.Proxy.User(r); req.user != "" {
			req.session, req.grants = "", d.cfg.Proxy.Grants(req.user)
		}
	}
	req.admin = slices.Clone(req.grants).WithRole(nil)
	req.observe = slices.Clone(req.grants).WithRole([]auth.Role{auth.RoleObserve})
	return req
}

// formOwner returns the owner of the CSRF tokens in the forms of a page: the session, or the user of the proxy. The two
// cannot be equal, because no session contains a space.
func (req *pageRequest) formOwner() string {
	if req.user != "" {
		return "user " + req.user
	}
	return req.session
}

// originProblem returns why a request is rejected: a browser sent it for a page of another origin, or its Host may be
// a public DNS name (auth.Config.OriginProblem). It returns "" if the request is accepted. Requests with the user of a
// proxy are checked here, because the proxy adds its header to every request, also to those of other origins. Requests
// with the session cookie are not checked here: a browser sends the cookie only within the same site (SameSite=Strict), a
// page of another origin cannot read the answer, and checkForm checks the forms.
// `hasSideEffect` says whether the request changes stored data.
func (d *Dashboard) originProblem(req *pageRequest, r *http.Request, hasSideEffect bool) string {
	if req.user != "" && auth.IsCrossOrigin(r, hasSideEffect) {
		return "cross-origin request: a browser sent it for a page of another origin; open the address directly"
	}
	return d.cfg.Auth.OriginProblem(r, hasSideEffect)
}

func (d *Dashboard) secure(next http.Handler) http.Handler {
	contentPolicy := "default-src 'self'; base-uri 'none'; form-action 'self'; object-src 'none'; frame-ancestors " + d.cfg.FrameAncestors
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// show returns the handler of a page for callers with one of the given roles, or with the role admin.
func (d *Dashboard) show(roles []auth.Role, p page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req := d.identify(r)
		if reason := d.originProblem(req, d.framed(r), false); reason != "" {
			d.fail(w, req, &auth.ForbiddenError{Detail: reason})
			return
		}
		if len(req.grants) == 0 {
			d.askToSignIn(w, req)
			return
		}
		if req.grants = req.grants.WithRole(roles); len(req.grants) == 0 {
			d.fail(w, req, auth.RoleError(roles))
			return
		}
		if format := req.query.Get("format"); format != "" && format != formatOf(req.query) {
			d.fail(w, req, sizing.InvalidField("format", "must be html, json or csv, not %.50q", format))
			return
		}
		content, err := p(req)
		if err != nil {
			d.fail(w, req, err)
			return
		}
		d.render(w, req, content)
	}
}

// framed returns r, or a copy with Sec-Fetch-Dest: document if r loads a page into a frame and pages
// may be framed. OriginProblem accepts the copy. This is safe because the browser checks
// frame-ancestors before it shows the page.
func (d *Dashboard) framed(r *http.Request) *http.Request {
	if d.cfg.FrameAncestors == "'none'" || r.Header.Get("Sec-Fetch-Dest") != "iframe" {
		return r
	}
	copied := r.Clone(r.Context())
	copied.Header.Set("Sec-Fetch-Dest", "document")
	return copied
}

// action changes stored data and returns the address of the page that shows the change.
type action func(*pageRequest) (next string, err error)

// maxForm bounds the body of a form, in bytes. The forms have a few short fields; the longest has the edges of bins.
const maxForm = 64 << 10

// crossOrigin rejects forms of pages of other origins (Sec-Fetch-Site and Origin).
var crossOrigin = http.NewCrossOriginProtection()

// act returns the handler of a form that changes stored data. Only admins may send the form.
func (d *Dashboard) act(do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req := d.identify(r)
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		err := d.checkForm(req)
		if err == nil {
			r = r.WithContext(sizing.WithActor(r.Context(), req.grants[0].Identity()))
			req.Request = r
			next := ""
			if next, err = do(req); err == nil {
				d.cache.clear()
				http.Redirect(w, r, next, http.StatusSeeOther)
				return
			}
		}
		d.fail(w, req, err)
	}
}

// checkForm checks that a page of this session sent the form, and keeps only the grants with the role admin.
func (d *Dashboard) checkForm(req *pageRequest) error {
	if len(req.grants) == 0 {
		return errSignedOut
	}
	if reason := d.originProblem(req, req.Request, true); reason != "" {
		return &auth.ForbiddenError{Detail: reason}
	}
	if err := req.ParseForm(); err != nil {
		return sizing.Errorf(sizing.Invalid, "read the form: %v; send the form of the page again", err)
	}
	if crossOrigin.Check(req.Request) != nil || !d.sessions.CheckCSRFToken(req.formOwner(), req.PostForm.Get("form_key")) {
		return &auth.ForbiddenError{Detail: "the form does not belong to this session; open the page again and send its form"}
	}
	if req.grants = req.grants.WithRole(nil); len(req.grants) == 0 {
		return auth.RoleError(nil)
	}
	return nil
}

var errSignedOut = &auth.ForbiddenError{Detail: "session: missing or expired; sign in again and repeat the change"}

// SignIn is the page with the form for a token.
type SignIn struct {
	Next  string `json:"next"`  // address of the page to show after the sign-in
	Wrong bool   `json:"wrong"` // the token was rejected
}

// askToSignIn redirects a browser to the sign-in form, and answers 401 to a program.
//
// A browser does not send a SameSite=Strict cookie when a person follows a link on another site, such
// as a ticket system. The answer to such a request is a page that loads itself again; the second
// request has the cookie.
func (d *Dashboard) askToSignIn(w http.ResponseWriter, req *pageRequest) {
	if formatOf(req.query) != asHTML {
		w.Header().Set("WWW-Authenticate", auth.Challenge)
		http.Error(w, "unauthenticated: the token is missing or unknown; send Authorization: Bearer <token>", http.StatusUnauthorized)
		return
	}
	if req.Header.Get("Sec-Fetch-Site") == "cross-site" && req.Header.Get("Sec-Fetch-Mode") == "navigate" {
		d.write(w, req, http.StatusOK, &view{Title: "One moment", Template: "again", Page: d.prefixed(req.URL)})
		return
	}
	http.Redirect(w, req.Request, d.url("/signin", "next", d.prefixed(req.URL)), http.StatusSeeOther)
}

// prefixed returns the address of a request with the prefix, as the browser sent it.
func (d *Dashboard) prefixed(u *url.URL) string {
	path := d.cfg.Prefix + strings.TrimPrefix(u.Path, d.cfg.Prefix)
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return path
}

func (d *Dashboard) signInForm(w http.ResponseWriter, r *http.Request) {
	req := d.identify(r)
	if d.cfg.Auth.Disabled {
		http.Redirect(w, r, d.url("/"), http.StatusSeeOther)
		return
	}
	d.write(w, req, http.StatusOK, &view{Title: "Sign in", Template: "signin", Page: SignIn{Next: d.localAddress(req.query.Get("next"))}})
}

func (d *Dashboard) signIn(w http.ResponseWriter, r *http.Request) {
	req := d.identify(r)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil || crossOrigin.Check(r) != nil {
		d.fail(w, req, &auth.ForbiddenError{Detail: "the form was not sent by this page; open the sign-in page again"})
		return
	}
	next := d.localAddress(r.PostForm.Get("next"))
	value := d.sessions.Start(strings.TrimSpace(r.PostForm.Get("token")), d.cfg.Now())
	if value == "" {
		d.write(w, req, http.StatusUnauthorized, &view{Title: "Sign in", Template: "signin", Page: SignIn{Next: next, Wrong: true}})
		return
	}
	http.SetCookie(w, d.cookie(r, value, auth.SessionTime))
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// signOut deletes the session cookie of a browser. Replicas share no state of sessions, so a copy of the
// cookie stays valid until it expires, or until the token or Config.SessionKey is changed (docs/security.md).
func (d *Dashboard) signOut(w http.ResponseWriter, r *http.Request) {
	req := d.identify(r)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil || crossOrigin.Check(r) != nil || !d.sessions.CheckCSRFToken(req.session, r.PostForm.Get("form_key")) {
		d.fail(w, req, &auth.ForbiddenError{Detail: "the form does not belong to this session"})
		return
	}
	http.SetCookie(w, d.cookie(r, "", -time.Second))
	http.Redirect(w, r, d.url("/signin"), http.StatusSeeOther)
}

// cookie returns the session cookie. A negative lifetime makes the browser delete the cookie.
func (d *Dashboard) cookie(r *http.Request, value string, lifetime time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, Path: d.cfg.Prefix + Root, MaxAge: int(lifetime.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: usesTLS(r),
	}
}

// usesTLS reports whether the browser uses TLS. A reverse proxy may end the TLS connection of the browser.
func usesTLS(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// localAddress replaces an address outside these pages by the overview, so that the sign-in form does not redirect to
// other sites.
func (d *Dashboard) localAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || strings.ContainsAny(address, "\\\r\n\t") || !strings.HasPrefix(u.Path, d.cfg.Prefix+Root+"/") || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") {
		return d.url("/")
	}
	return address
}

// deadline bounds the time for the work on one page. A larger value shows slow pages instead of an error, but
// their queries use the database for longer.
const deadline = 30 * time.Second

func (req *pageRequest) withDeadline() (context.Context, context.CancelFunc) {
	return context.WithTimeout(req.Context(), deadline)
}
