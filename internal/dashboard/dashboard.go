// Package dashboard serves the pages at /ui/, which show requested, granted, used and saved memory.
//
//	request ─▶ access ─▶ page: read params ─▶ insight, service ─▶ struct ─▶ HTML, JSON or CSV
//	     sign-in, 401, 403                    cache of aggregates
//
// Each page is one struct with one template; the charts are computed in Go. The address contains the
// whole state of a page, and no page needs a script. The package reads and changes data only through
// package service, and contains no SQL.
package dashboard

import (
	"cmp"
	"crypto/rand"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/insight/explain"
	"github.com/loadaware/loadaware/internal/insight/savings"
	"github.com/loadaware/loadaware/internal/insight/whatif"
	"github.com/loadaware/loadaware/internal/service"
)

// Root is the path of the pages.
const Root = "/ui"

// Config configures the pages. The zero Config rejects every caller.
type Config struct {
	Auth           auth.Config
	Proxy          auth.Proxy       // identifies users that a reverse proxy authenticates
	Prices         savings.Prices   // of memory and CPU; without prices the pages show no money
	Prefix         string           // path at which a reverse proxy serves the pages, such as /loadaware; "" at the root
	FrameAncestors string           // sources of pages that may frame these pages (CSP); 'none' if empty
	SessionKey     []byte           // signs sessions; random if empty: then a restart ends all sessions
	WhatIfs        *whatif.Jobs     // jobs shared with the API; New creates them if nil
	Log            *slog.Logger     // slog.Default() if nil
	Now            func() time.Time // time.Now if nil
}

// Dashboard is the handler of the pages.
type Dashboard struct {
	cfg       Config
	svc       *service.Service
	explainer *explain.Explainer
	sessions  auth.Sessions
	cache     *cache
	risks     *riskCache
	replays   *replays
	pages     templates
	mux       *chi.Mux
}

// New returns the handler of the pages. It accepts paths with and without the prefix, because some
// proxies remove it.
func New(svc *service.Service, cfg Config) *Dashboard {
	cfg.Prefix = strings.TrimSuffix(cfg.Prefix, "/")
	cfg.FrameAncestors = cmp.Or(cfg.FrameAncestors, "'none'")
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if len(cfg.SessionKey) == 0 {
		cfg.SessionKey = []byte(rand.Text() + rand.Text())
	}
	if cfg.WhatIfs == nil {
		cfg.WhatIfs = whatif.NewJobs(svc)
	}
	d := &Dashboard{
		cfg: cfg, svc: svc, explainer: explain.New(svc), sessions: auth.NewSessions(cfg.Auth, cfg.SessionKey),
		cache: newCache(cfg.Now, cfg.Log), risks: newRiskCache(), replays: newReplays(cfg.WhatIfs), mux: chi.NewRouter(),
	}
	d.pages = newTemplates(d.functions())
	d.route()
	return d
}

// The roles, besides admin, that may see pages.
var (
	readers         = []auth.Role{auth.RolePredict, auth.RoleObserve}
	campaignReaders = append(slices.Clone(readers), auth.RoleCampaign)
)

func (d *Dashboard) route() {
	d.mux.Use(d.secure, middleware.GetHead)
	d.mux.NotFound(d.unknownPath)
	d.mux.MethodNotAllowed(d.unknownPath)
	d.mux.Get(Root+"/assets/{version}/{name}", serveAsset)
	d.mux.Get(Root+"/signin", d.signInForm)
	d.mux.Post(Root+"/signin", d.signIn)
	d.mux.Post(Root+"/signout", d.signOut)
	d.mux.Get(Root, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, d.url("/"), http.StatusSeeOther) })
	for path, show := range map[string]page{
		"/": d.overview, "/tasks": d.tasks, "/task": d.task, "/policy": d.policy, "/try": d.try, "/whatif": d.whatIf, "/savings": d.savings, "/start": d.start,
		"/runtime": d.runTime, "/forecast": d.forecast, "/ask": d.ask, "/profiles": d.usageProfiles, "/phases": d.phases,
	} {
		d.mux.Get(Root+path, d.show(readers, show))
	}
	d.mux.Get(Root+"/campaigns", d.show(campaignReaders, d.campaigns))
	d.mux.Get(Root+"/campaign", d.show(campaignReaders, d.campaign))
	d.mux.Get(Root+"/audit", d.show(nil, d.audit))
	for path, act := range map[string]action{
		"/policy": d.savePolicy, "/activate": d.activate, "/unpin": d.unpin, "/train": d.train, "/campaign/pause": d.pauseCampaign,
	} {
		d.mux.Post(Root+path, d.act(act))
	}
}

// ServeHTTP serves Root and the paths below it, with and without the prefix.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.cfg.Prefix == "" || !strings.HasPrefix(r.URL.Path, d.cfg.Prefix+Root) {
		d.mux.ServeHTTP(w, r)
		return
	}
	http.StripPrefix(d.cfg.Prefix, d.mux).ServeHTTP(w, r)
}

// Handles reports whether a path belongs to the pages.
func (d *Dashboard) Handles(path string) bool {
	path = strings.TrimPrefix(path, d.cfg.Prefix)
	return path == Root || strings.HasPrefix(path, Root+"/")
}

// Home returns the address of the overview, to which the API redirects a browser from /.
func (d *Dashboard) Home() string { return d.url("/") }
