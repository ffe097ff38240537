package auth

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// crossOrigin detects unsafe methods that a browser sends for a page of another origin. It
// accepts every GET and HEAD; isCrossOriginRead checks those.
var crossOrigin = http.NewCrossOriginProtection()

// OriginProblem returns why CheckOrigin rejects a request that a local browser sends for a page
// of another origin; "" if the request is accepted. A server without tokens needs this check, because
// such a request comes from this machine.
//
// The page may send requests without reading the answers (CSRF). The argument `hasSideEffect` says
// whether a GET of the route stores something. With DNS rebinding the page's own host name resolves to
// this machine after the page is loaded, and the page can read the answers, too. The Host of such a
// request is a public DNS name, so OriginProblem rejects such a Host from every client.
func (c Config) OriginProblem(r *http.Request, hasSideEffect bool) string {
	if !c.CheckOrigin {
		return ""
	}
	if host := hostOf(r); isPublicName(host) {
		return fmt.Sprintf("Host %.100q may be a public DNS name, which a web page can point to this machine; "+
			"use localhost or an IP address, or configure tokens on this server", host)
	}
	if IsCrossOrigin(r, hasSideEffect) {
		return "cross-origin request: a browser sent it for a page of another origin; open the address directly, or configure tokens on this server"
	}
	return ""
}

// IsCrossOrigin reports whether a browser sent a request for a page of another origin.
func IsCrossOrigin(r *http.Request, hasSideEffect bool) bool {
	return crossOrigin.Check(r) != nil || isCrossOriginRead(r, hasSideEffect)
}

// isCrossOriginRead reports whether a browser sent this GET or HEAD for a page of another origin. It follows the
// resource isolation policy of Fetch Metadata (web.dev/fetch-metadata). A person may follow a link from another page,
// because that page cannot see the answer, but not if the GET has a side effect. Browsers send Sec-Fetch-Site to
// loopback addresses, to localhost and over TLS. To other servers they send only Origin, with a GET that uses CORS.
func isCrossOriginRead(r *http.Request, hasSideEffect bool) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
		origin := r.Header.Get("Origin")
		if origin == "" {
			return false // not a browser, or a browser that does not send the origin
		}
		from, err := url.Parse(origin)
		return err != nil || from.Host != r.Host
	}
	isLink := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return hasSideEffect || !isLink
}

func hostOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return strings.Trim(r.Host, "[]")
}

// isPublicName reports whether a host may be a public DNS name: it is not an IP address, contains
// a dot, and is neither in a domain for private use (RFC 6761, RFC 6762, RFC 8375, .internal)
// nor the name of a Kubernetes Service (name.namespace.svc).
func isPublicName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return false
	}
	for _, private := range []string{".localhost", ".local", ".internal", ".test", ".home.arpa", ".svc"} {
		if strings.HasSuffix(host, private) {
			return false
		}
	}
	return true
}
