package httpapi

import (
	"bytes"
	_ "embed" // for the template
	"html/template"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

//go:embed landing.html
var landingTemplate string

//go:embed landing.css
var landingStyle string

// landingPage describes the server and links to its pages.
var landingPage = template.Must(template.New("landing").Parse(landingTemplate))

var landingPolicy = contentPolicy(landingStyle)

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

// shellSafeHost matches a Host that needs no quoting in a shell.
var shellSafeHost = regexp.MustCompile(`^[A-Za-z0-9._-]+(:[0-9]+)?$|^\[[0-9A-Fa-f:.]+\](:[0-9]+)?$`)

// landing answers with the landing page. Its commands contain the host of the request.
func (s *server) landing(w http.ResponseWriter, r *http.Request) {
	base, host := "http://", r.Host
	if r.TLS != nil {
		base = "https://"
	}
	if !shellSafeHost.MatchString(host) {
		host = "localhost"
	}
	var page bytes.Buffer
	err := landingPage.Execute(&page, map[string]any{"Style": template.CSS(landingStyle), "Base": base + host, "Tokens": !s.auth.Disabled})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(page.Len()))
	h.Set("Content-Security-Policy", landingPolicy)
	_, _ = w.Write(page.Bytes()) // a client that disconnected needs no answer
}
