package httpapi

import (
	"net/http"
)

// isRoot reports whether r reads /, which is open to all: it says where to go on, and
// nothing of any task.
func isRoot(r *http.Request) bool {
	return r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// rootLinks is what a program gets at /.
const rootLinks = `{"service":"loadaware","links":{"docs":"/docs","openapi":"/openapi.yaml","health":"/healthz","readiness":"/readyz"}}` + "\n"

// root answers / with the landing page for a browser, and with links for a program.
func (s *server) root(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	if acceptsHTML(r.Header.Values("Accept")) {
		s.landing(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(rootLinks)) // a caller who went away needs no answer
}
