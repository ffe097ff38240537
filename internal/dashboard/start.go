package dashboard

import (
	"net/http"
	"regexp"
)

// Start is the page with the commands that fill an empty server; its template has their text.
type Start struct {
	Base   string `json:"base"`   // address of the API
	Tokens bool   `json:"tokens"` // requests need one
}

// shellSafeHost matches a Host that needs no quoting in a shell. The client chooses the Host.
var shellSafeHost = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]+)?$`)

// newStart returns the data of the page for the Host of a request; isOpen means that no token is
// needed.
func newStart(r *http.Request, isOpen bool) Start {
	base, host := "http://", r.Host
	if r.TLS != nil {
		base = "https://"
	}
	if !shellSafeHost.MatchString(host) {
		host = "localhost"
	}
	return Start{Base: base + host, Tokens: !isOpen}
}
