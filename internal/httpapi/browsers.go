package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// crossOrigin refuses the unsafe methods that a browser sends for a page of another
// origin. It lets every GET and HEAD pass, so foreignRead judges those.
var crossOrigin = http.NewCrossOriginProtection()

// foreignPage returns why a request is refused that a browser on this machine sends for
// a page of another origin; "" where it is not refused. A server that demands no token
// must check this: to the network, such a request comes from this machine.
//
// The page may send requests without reading the answers (CSRF); lasting marks the routes
// on which even a GET does harm. Or the page's own host name is made to resolve to this
// machine after it was loaded (DNS rebinding), and then it may read the answers too: such
// a request has a Host that is a name of the public DNS.
func (a Auth) foreignPage(r *http.Request, lasting bool) string {
	if !a.Wary {
		return ""
	}
	if host := hostOf(r); isPublicName(host) {
		return fmt.Sprintf("Host %.100q: it may be a name of the public DNS, which a web page can point to this machine; "+
			"use localhost or an IP address, or give this server tokens", host)
	}
	if crossOrigin.Check(r) != nil || foreignRead(r, lasting) {
		return "cross-origin request: a browser sent it for a page of another origin; open the address itself, or give this server tokens"
	}
	return ""
}

// foreignRead reports whether a browser sent this GET or HEAD for a page of another
// origin. It is the resource isolation policy of Fetch Metadata (web.dev/fetch-metadata):
// a person may follow a link from another page, which then cannot see the answer, unless
// the GET is lasting. Browsers send Sec-Fetch-Site to loopback addresses, to localhost and
// over TLS; elsewhere only Origin is left, which they add to a GET that asks for CORS.
func foreignRead(r *http.Request, lasting bool) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
		origin := r.Header.Get("Origin")
		if origin == "" {
			return false // not a browser, or one that says nothing
		}
		from, err := url.Parse(origin)
		return err != nil || from.Host != r.Host
	}
	followed := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return lasting || !followed
}

// hostOf is the host that was asked for, without its port.
func hostOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return strings.Trim(r.Host, "[]")
}

// isPublicName reports whether a host may be a name of the public DNS: it is no address,
// has a dot, and is in no domain that is reserved for private use (RFC 6761, RFC 6762,
// RFC 8375, .internal) or belongs to a Kubernetes Service (name.namespace.svc).
func isPublicName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return false
	}
	for _, own := range []string{".localhost", ".local", ".internal", ".test", ".home.arpa", ".svc"} {
		if strings.HasSuffix(host, own) {
			return false
		}
	}
	return true
}
