package dashboard

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/loadaware/loadaware/internal/csvtext"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/sizing"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

type page func(*pageRequest) (*view, error)

// view is the content of a page, which is written as HTML by a template, as JSON or as CSV.
type view struct {
	Title    string
	Nav      string // the entry of the navigation that is highlighted
	Template string
	Page     any                                       // the struct that the template and JSON print
	Table    func() (header []string, rows [][]string) // returns the CSV; nil if the page has none
	Part     string                                    // part of the file name that says which rows a CSV has, such as newest-36-months; empty if it has all rows
	Refresh  int                                       // seconds until the page loads itself again; 0: never
}

type layout struct {
	*view
	Nav       []entry
	User      string
	CSRFToken string
	SignsOut  bool // the page shows the button that ends the session
	IsAdmin   bool // the caller has the role admin

	IsProxyUser bool // a trusted proxy names the user

	Framed bool   // the page is inside another page, without navigation
	Self   string // the address of this page
}

type entry struct {
	Name, URL string
	Current   bool
}

const (
	asHTML = "html"
	asJSON = "json"
	asCSV  = "csv"
)

func formatOf(query url.Values) string {
	if f := query.Get("format"); f == asJSON || f == asCSV {
		return f
	}
	return asHTML
}

func (d *Dashboard) render(w http.ResponseWriter, req *pageRequest, content *view) {
	switch formatOf(req.query) {
	case asJSON:
		body, err := json.MarshalIndent(content.Page, "", "  ")
		if err != nil {
			d.fail(w, req, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(body, '\n')) // a client that disconnected needs no answer
	case asCSV:
		if content.Table == nil {
			d.fail(w, req, sizing.Errorf(sizing.NotFound, "this page has no table; use format=json"))
			return
		}
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		name := "loadaware-" + content.Template
		if content.Part != "" {
			name += "-" + content.Part
		}
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name + ".csv"}))
		header, rows := content.Table()
		_ = csvtext.Write(w, header, rows) // a client that disconnected needs no answer
	default:
		d.write(w, req, http.StatusOK, content)
	}
}

func (d *Dashboard) write(w http.ResponseWriter, req *pageRequest, status int, content *view) {
	l := layout{
		view: content, CSRFToken: d.sessions.CSRFToken(req.formOwner()), SignsOut: req.session != "" && len(req.grants) > 0, IsAdmin: len(req.admin) > 0,
		Framed: req.query.Get("frame") == "1", Self: d.prefixed(req.URL),
	}
	if len(req.grants) > 0 {
		l.User, l.IsProxyUser = req.grants[0].Identity(), req.user != ""
		l.Nav = d.nav(req, content.Nav)
	}
	var body bytes.Buffer
	if err := d.pages[content.Template].ExecuteTemplate(&body, "layout", &l); err != nil {
		d.cfg.Log.ErrorContext(req.Context(), "page failed", "page", content.Template, "err", err)
		http.Error(w, "the page could not be written; the log of the server has the cause", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // a client that disconnected needs no answer
}

func (d *Dashboard) nav(req *pageRequest, current string) []entry {
	entries := []entry{{Name: "Overview", URL: "/"}, {Name: "Tasks", URL: "/tasks"}, {Name: "Savings", URL: "/savings"}, {Name: "What if", URL: "/whatif"},
		{Name: "Forecast", URL: "/forecast"}, {Name: "Profiles", URL: "/profiles"}, {Name: "Phases", URL: "/phases"}, {Name: "Campaigns", URL: "/campaigns"}}
	if len(req.admin) > 0 {
		entries = append(entries, entry{Name: "Audit", URL: "/audit"})
	}
	for i := range entries {
		entries[i].Current = entries[i].Name == current
		entries[i].URL = d.url(entries[i].URL)
	}
	return entries
}

// Problem is the page of an error.
type Problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

// statuses are the HTTP statuses of the error kinds; other kinds are internal errors.
var statuses = map[sizing.Kind]int{
	sizing.Invalid: http.StatusUnprocessableEntity, sizing.NotFound: http.StatusNotFound, sizing.Conflict: http.StatusConflict,
	sizing.Refused: http.StatusForbidden, sizing.Unavailable: http.StatusServiceUnavailable, sizing.Exhausted: http.StatusTooManyRequests,
}

// fail writes the page of an error. It logs the cause of an internal error, and does not show this cause.
func (d *Dashboard) fail(w http.ResponseWriter, req *pageRequest, err error) {
	p := Problem{Status: http.StatusInternalServerError, Title: "Internal error", Detail: "The server failed to make this page; its log has the cause."}
	var denied *auth.ForbiddenError
	var domain *sizing.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &denied):
		p = Problem{http.StatusForbidden, "No access", denied.Detail}
	case errors.As(err, &large):
		p = Problem{http.StatusRequestEntityTooLarge, "Form too large", "the form has more than " + strconv.FormatInt(large.Limit, 10) + " bytes"}
	case errors.As(err, &domain) && domain.Kind == sizing.Unavailable && domain.Cause != nil:
		p = Problem{http.StatusServiceUnavailable, "Not available now", "The database cannot serve this page now. Load it again in a moment."}
	case errors.As(err, &domain) && statuses[domain.Kind] != 0:
		p = Problem{statuses[domain.Kind], titles[domain.Kind], detailOf(domain)}
	case req.Context().Err() != nil:
		p = Problem{http.StatusServiceUnavailable, "Not available now", "The page took too long. Load it again in a moment."}
	default:
		d.cfg.Log.ErrorContext(req.Context(), "page failed", "path", req.URL.Path, "err", err)
	}
	if formatOf(req.query) != asHTML {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(p.Status)
		_ = json.NewEncoder(w).Encode(p) // a client that disconnected needs no answer
		return
	}
	d.write(w, req, p.Status, &view{Title: p.Title, Template: "problem", Page: p})
}

var titles = map[sizing.Kind]string{sizing.Invalid: "Not valid", sizing.NotFound: "Not found", sizing.Conflict: "Conflict", sizing.Refused: "Not allowed", sizing.Unavailable: "Not available now", sizing.Exhausted: "Too many requests"}

func detailOf(e *sizing.Error) string {
	if len(e.Fields) == 0 {
		return e.Detail
	}
	details := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		details[i] = f.Field + " " + f.Detail
	}
	return strings.Join(details, "; ")
}

func (d *Dashboard) unknownPath(w http.ResponseWriter, r *http.Request) {
	req := d.identify(r)
	if len(req.grants) == 0 {
		d.askToSignIn(w, req)
		return
	}
	d.fail(w, req, sizing.Errorf(sizing.NotFound, "the page %.200q does not exist", r.URL.Path))
}

// url returns the address of a page with query parameters: name, value, name, value. It omits
// empty values.
func (d *Dashboard) url(path string, params ...string) string {
	query := url.Values{}
	for i := 0; i+1 < len(params); i += 2 {
		if params[i+1] != "" {
			query.Set(params[i], params[i+1])
		}
	}
	address := d.cfg.Prefix + Root + path
	if len(query) > 0 {
		address += "?" + strings.ReplaceAll(query.Encode(), "+", "%20")
	}
	return address
}

func (d *Dashboard) taskURL(path string, key sizing.TaskKey, params ...string) string {
	return d.url(path, append([]string{"namespace", key.Namespace, "dag_id", key.DAG, "task_id", key.Task}, params...)...)
}

// assetVersion is a hash of all assets. It is part of their addresses, so that browsers may cache
// them for a year.
var assetVersion = func() string {
	hash := sha256.New()
	_ = fs.WalkDir(assetFiles, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			content, _ := assetFiles.ReadFile(name) // an embedded file can be read
			hash.Write(content)
		}
		return err
	})
	return hex.EncodeToString(hash.Sum(nil))[:12]
}()

func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "name")
	content, err := assetFiles.ReadFile("assets/" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(content) // a client that disconnected needs no answer
}

// templates has one set for each page: the layout, the partials and the page.
type templates map[string]*template.Template

func newTemplates(functions template.FuncMap) templates {
	names, err := fs.Glob(templateFiles, "templates/[^_]*.html")
	if err != nil {
		panic(err) // the pattern is valid
	}
	all := templates{}
	for _, name := range names {
		set := template.Must(template.New("layout").Funcs(functions).ParseFS(templateFiles, "templates/_*.html", name))
		all[strings.TrimSuffix(path.Base(name), ".html")] = set
	}
	return all
}
