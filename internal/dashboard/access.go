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

// cookieName is the name of the session cookie.
const cookieName = "loadaware_session"

// pageRequest is a request with the grants of its caller, which are roles in scopes (auth.Grants), not amounts.
type pageRequest struct {
	*http.Request
	query   url.Values
	grants  auth.Grants // grants whose role permits the page
	admin   auth.Grants // grants with the role admin
	observe auth.Grants // grants that may read usage series
	session string      // value of the cookie; "" without one, or if the grants come from elsewhere
	user    string      // the user that a trusted proxy names; "" with other grants or if it names none
}

// namespace returns the namespace of a page that shows exactly one namespace: the requested one, or else the
// only namespace of the grants, or else the default namespace. If no grant covers the default namespace, it
// returns the namespace of the first grant.
func (v *pageRequest) namespace() (string, error) {
	requested := v.query.Get("namespace")
	namespace, err := v.grants.OneNamespace(requested)
	if err != nil && requested == "" {
		return v.grants[0].Namespace, nil
	}
	return namespace, err
}

// identify returns a request with the grants of its caller: none if the caller is unknown. Programs
// send a bearer token, browsers send a cookie, and a trusted proxy names its user in a header. The cookie takes
// precedence over the proxy, so that a user who may only read can sign in with the token of an admin.
func (d *Dashboard) identify(r *http.Request) *pageRequest {
	v := &pageRequest{Request: r, query: r.URL.Query(), grants: d.cfg.Auth.Identify(r)}
	if cookie, err := r.Cookie(cookieName); err == nil && len(v.grants) == 0 {
		v.session, v.grants = cookie.Value, d.sessions.Grants(cookie.Value, d.cfg.Now())
	}
	if len(v.grants) == 0 {
		if v.user = d.cfg.Proxy.User(r); v.user != "" {
			v.session, v.grants = "", d.cfg.Proxy.Grants(v.user)
		}
	}
	v.admin = slices.Clone(v.grants).WithRole(nil)
	v.observe = slices.Clone(v.grants).WithRole([]auth.Role{auth.RoleObserve})
	return v
}

// formOwner returns the owner of the CSRF tokens in the forms of a page: the session, or the user of
// the proxy. The two cannot be equal, because no session contains a space.
func (v *pageRequest) formOwner() string {
	if v.user != "" {
		return "user " + v.user
	}
	return v.session
}

// originProblem returns why a request is rejected as cross-origin: a browser sent it for a page of
// another origin. It returns "" if the request is accepted. The user of a proxy needs a check of its
// own, because the proxy adds its header to such requests, while a browser does not add its cookie.
// hasSideEffect reports whether the request changes stored data.
func (d *Dashboard) originProblem(v *pageRequest, r *http.Request, hasSideEffect bool) string {
	if v.user != "" && auth.IsCrossOrigin(r, hasSideEffect) {
		return "cross-origin request: a browser sent it for a page of another origin; open the address directly"
	}
	return d.cfg.Auth.OriginProblem(r, hasSideEffect)
}

// secure sets the security headers of every page.
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

// show returns the handler of a page for callers with one of roles.
func (d *Dashboard) show(roles []auth.Role, p page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := d.identify(r)
		if reason := d.originProblem(v, d.framed(r), false); reason != "" {
			d.fail(w, v, &auth.ForbiddenError{Detail: reason})
			return
		}
		if len(v.grants) == 0 {
			d.askToSignIn(w, v)
			return
		}
		if v.grants = v.grants.WithRole(roles); len(v.grants) == 0 {
			d.fail(w, v, auth.RoleError(roles))
			return
		}
		if format := v.query.Get("format"); format != "" && format != formatOf(v.query) {
			d.fail(w, v, sizing.InvalidField("format", "must be html, json or csv, not %.50q", format))
			return
		}
		content, err := p(v)
		if err != nil {
			d.fail(w, v, err)
			return
		}
		d.render(w, v, content)
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

// maxForm bounds the body of a form, in bytes.
const maxForm = 64 << 10

// crossOrigin rejects forms of pages of other origins (Sec-Fetch-Site and Origin).
var crossOrigin = http.NewCrossOriginProtection()

// act returns the handler of a form that changes stored data. Only admins may send the form.
func (d *Dashboard) act(do action) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v := d.identify(r)
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		err := d.checkForm(v)
		if err == nil {
			r = r.WithContext(sizing.WithActor(r.Context(), v.grants[0].Identity()))
			v.Request = r
			next := ""
			if next, err = do(v); err == nil {
				d.cache.clear()
				http.Redirect(w, r, next, http.StatusSeeOther)
				return
			}
		}
		d.fail(w, v, err)
	}
}

// checkForm checks that the form was sent by a page of this session, and keeps only the grants with the role
// admin.
func (d *Dashboard) checkForm(v *pageRequest) error {
	if len(v.grants) == 0 {
		return errSignedOut
	}
	if reason := d.originProblem(v, v.Request, true); reason != "" {
		return &auth.ForbiddenError{Detail: reason}
	}
	if err := v.ParseForm(); err != nil {
		return sizing.Errorf(sizing.Invalid, "read the form: %v; send the form of the page again", err)
	}
	if crossOrigin.Check(v.Request) != nil || !d.sessions.CheckCSRFToken(v.formOwner(), v.PostForm.Get("form_key")) {
		return &auth.ForbiddenError{Detail: "the form does not belong to this session; open the page again and send its form"}
	}
	if v.grants = v.grants.WithRole(nil); len(v.grants) == 0 {
		return auth.RoleError(nil)
	}
	return nil
}

// errSignedOut rejects a form without a valid session.
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
func (d *Dashboard) askToSignIn(w http.ResponseWriter, v *pageRequest) {
	if formatOf(v.query) != asHTML {
		w.Header().Set("WWW-Authenticate", auth.Challenge)
		http.Error(w, "unauthenticated: the token is missing or unknown; send Authorization: Bearer <token>", http.StatusUnauthorized)
		return
	}
	if v.Header.Get("Sec-Fetch-Site") == "cross-site" && v.Header.Get("Sec-Fetch-Mode") == "navigate" {
		d.write(w, v, http.StatusOK, &view{Title: "One moment", Template: "again", Page: d.prefixed(v.URL)})
		return
	}
	http.Redirect(w, v.Request, d.url("/signin", "next", d.prefixed(v.URL)), http.StatusSeeOther)
}

// prefixed returns the address of a request with the prefix, as the browser sent it.
func (d *Dashboard) prefixed(u *url.URL) string {
	path := d.cfg.Prefix + strings.TrimPrefix(u.Path, d.cfg.Prefix)
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return path
}

// signInForm shows the form for a token, or the overview if the server needs no token.
func (d *Dashboard) signInForm(w http.ResponseWriter, r *http.Request) {
	v := d.identify(r)
	if d.cfg.Auth.Disabled {
		http.Redirect(w, r, d.url("/"), http.StatusSeeOther)
		return
	}
	d.write(w, v, http.StatusOK, &view{Title: "Sign in", Template: "signin", Page: SignIn{Next: d.localAddress(v.query.Get("next"))}})
}

// signIn starts a session for a token.
func (d *Dashboard) signIn(w http.ResponseWriter, r *http.Request) {
	v := d.identify(r)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil || crossOrigin.Check(r) != nil {
		d.fail(w, v, &auth.ForbiddenError{Detail: "the form was not sent by this page; open the sign-in page again"})
		return
	}
	next := d.localAddress(r.PostForm.Get("next"))
	value := d.sessions.Start(strings.TrimSpace(r.PostForm.Get("token")), d.cfg.Now())
	if value == "" {
		d.write(w, v, http.StatusUnauthorized, &view{Title: "Sign in", Template: "signin", Page: SignIn{Next: next, Wrong: true}})
		return
	}
	http.SetCookie(w, d.cookie(r, value, auth.SessionTime))
	http.Redirect(w, r, next, http.StatusSeeOther)
}

// signOut deletes the session cookie of a browser. Replicas share no state of sessions, so a copy of the
// cookie stays valid until it expires, or until the token or Config.SessionKey is changed (docs/security.md).
func (d *Dashboard) signOut(w http.ResponseWriter, r *http.Request) {
	v := d.identify(r)
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil || crossOrigin.Check(r) != nil || !d.sessions.CheckCSRFToken(v.session, r.PostForm.Get("form_key")) {
		d.fail(w, v, &auth.ForbiddenError{Detail: "the form does not belong to this session"})
		return
	}
	http.SetCookie(w, d.cookie(r, "", -time.Second))
	http.Redirect(w, r, d.url("/signin"), http.StatusSeeOther)
}

// cookie returns the session cookie; a negative lifetime deletes it in the browser. It is Secure if the
// browser uses TLS.
func (d *Dashboard) cookie(r *http.Request, value string, lifetime time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, Path: d.cfg.Prefix + Root, MaxAge: int(lifetime.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: usesTLS(r),
	}
}

// usesTLS reports whether the browser uses TLS, perhaps to a reverse proxy.
func usesTLS(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// localAddress returns an address of these pages unchanged, and the address of the overview for any
// other address, so that the sign-in form does not redirect to other sites.
func (d *Dashboard) localAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || strings.ContainsAny(address, "\\\r\n\t") || !strings.HasPrefix(u.Path, d.cfg.Prefix+Root+"/") || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "//") {
		return d.url("/")
	}
	return address
}

// deadline bounds the time for the work on one page.
const deadline = 30 * time.Second

func (v *pageRequest) withDeadline() (context.Context, context.CancelFunc) {
	return context.WithTimeout(v.Context(), deadline)
}
