package httpapi

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// isRoot reports whether r is a GET or HEAD of /. Such a request needs no token, because the
// answer contains only links.
func isRoot(r *http.Request) bool {
	return r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

const rootLinks = `{"service":"loadaware","links":{"docs":"/docs","openapi":"/openapi.yaml","health":"/healthz","readiness":"/readyz"}}` + "\n"

func (s *server) root(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	if s.pages != nil && acceptsHTML(r.Header.Values("Accept")) {
		http.Redirect(w, r, s.pages.Home(), http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(rootLinks)) // a client that disconnected needs no answer
}

// acceptsHTML reports whether the media ranges (RFC 9110 section 12.5.1) name text/html
// with a weight above 0.
func acceptsHTML(accept []string) bool {
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil || media != "text/html" {
			continue
		}
		weight, given := params["q"]
		q, err := strconv.ParseFloat(weight, 64)
		return !given || err == nil && q > 0
	}
	return false
}
