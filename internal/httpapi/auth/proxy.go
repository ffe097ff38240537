package auth

import (
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Proxy identifies users that a reverse proxy in front of the pages has authenticated. The zero
// Proxy identifies no user.
//
// Anyone can send the header, so only a request whose TCP peer is in Networks may use it. The proxy
// must remove the header from the requests that it receives.
type Proxy struct {
	Header   string         // name of the header with the user, such as X-Forwarded-User; "" trusts no proxy
	Networks []netip.Prefix // addresses of the proxy
	Admins   []string       // users who may change everything; all others may only read
}

// validUser matches names of users, which are stored in the audit trail.
var validUser = regexp.MustCompile(`^[^\pC\pZ]{1,128}$`)

// User returns the user of a request; "" if no trusted proxy names a valid one. A header that occurs twice
// names no user, because one of the values may come from the client.
func (p Proxy) User(r *http.Request) string {
	if p.Header == "" || !p.trusts(r.RemoteAddr) {
		return ""
	}
	users := r.Header.Values(p.Header)
	if len(users) != 1 || !utf8.ValidString(users[0]) || !validUser.MatchString(users[0]) {
		return ""
	}
	return users[0]
}

func (p Proxy) trusts(peer string) bool {
	address, err := netip.ParseAddrPort(peer)
	if err != nil {
		return false
	}
	ip := address.Addr().Unmap().WithZone("") // a prefix contains no address with a zone
	return slices.ContainsFunc(p.Networks, func(n netip.Prefix) bool { return n.Contains(ip) })
}

// Grants returns the grants of a user; none for "". The audit trail shows the user with the prefix "user ",
// which no name of a token has, because names of tokens contain no space.
func (p Proxy) Grants(user string) Grants {
	if user == "" {
		return nil
	}
	role := RoleObserve
	if slices.Contains(p.Admins, user) {
		role = RoleAdmin
	}
	return Grants{{Name: "user " + user, Role: role}}
}
