package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// crossOrigin knows what a browser sends on behalf of a page of another host: it
// says so in Sec-Fetch-Site, and before 2023 in Origin.
var crossOrigin = http.NewCrossOriginProtection()

// foreignPage says what is wrong with a request that a browser on this machine
// sends for somebody else's page; "" where nothing is, or a is not Wary. Whoever
// asks for no token must look, since to the network such a request comes from this machine.
//
// A page may send what changes something, blindly. Or its name is made to point
// here after it was loaded (DNS rebinding), and it may read the answers too: then
// the host that is asked for is a name of the public DNS.
func (a Auth) foreignPage(r *http.Request) string {
	if !a.Wary {
		return ""
	}
	const way = ": such requests need a token, and this server was given none"
	if host := hostOf(r); isPublicName(host) {
		return "the host asked for is a name, and not this machine" + way
	}
	if crossOrigin.Check(r) != nil {
		return "a browser sent this for a page of another host" + way
	}
	return ""
}

// hostOf is the host that was asked for, without its port.
func hostOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return strings.Trim(r.Host, "[]")
}

// isPublicName reports whether a host may be of the public DNS: no address, with a
// dot, and of no domain that is set aside (RFC 6761, RFC 6762, .internal).
func isPublicName(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(host); err == nil || !strings.Contains(host, ".") {
		return false
	}
	for _, own := range []string{".localhost", ".local", ".internal", ".test"} {
		if strings.HasSuffix(host, own) {
			return false
		}
	}
	return true
}
