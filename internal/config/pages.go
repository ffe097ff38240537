package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
)

// Pages are the settings of the pages at /ui/. The variables are LOADAWARE_UI_PREFIX and so on.
type Pages struct {
	Prefix         PathPrefix   `envconfig:"PREFIX"`          // path at which a reverse proxy serves the pages
	FrameAncestors FrameSources `envconfig:"FRAME_ANCESTORS"` // origins that may frame the pages
	Key            SessionKey   `envconfig:"KEY"`             // signs sessions; random if empty
	ProxyHeader    HeaderName   `envconfig:"PROXY_HEADER"`    // HTTP header in which a reverse proxy names the user
	ProxyNetworks  Networks     `envconfig:"PROXY_NETWORKS"`  // addresses of the proxies whose header is trusted
	ProxyAdmins    UserNames    `envconfig:"PROXY_ADMINS"`    // users of the proxy who may change everything
}

// Proxy returns the header that names the user of a page, the addresses that may send this header, and the admins. It
// returns the zero value if none of them is set. hasTokens says whether the server has bearer tokens.
func (p *Pages) Proxy(hasTokens bool) (auth.Proxy, error) {
	switch {
	case p.ProxyHeader == "" && len(p.ProxyNetworks) == 0 && len(p.ProxyAdmins) == 0:
		return auth.Proxy{}, nil
	case p.ProxyHeader == "":
		return auth.Proxy{}, Errorf("LOADAWARE_UI_PROXY_HEADER: missing; name the header in which the proxy sends the user, such as X-Forwarded-User")
	case len(p.ProxyNetworks) == 0:
		return auth.Proxy{}, Errorf("LOADAWARE_UI_PROXY_NETWORKS: missing; name the addresses of the proxy, such as 10.1.2.0/24, because anyone can send the header %s", p.ProxyHeader)
	case !hasTokens:
		return auth.Proxy{}, Errorf("LOADAWARE_UI_PROXY_HEADER: without tokens every caller may change everything; create one with 'loadaware token'")
	}
	return auth.Proxy{Header: string(p.ProxyHeader), Networks: p.ProxyNetworks, Admins: p.ProxyAdmins}, nil
}

// HeaderName is the name of an HTTP header.
type HeaderName string

var validHeader = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// Decode implements envconfig.Decoder. It rejects headers that HTTP uses for another purpose, such as Cookie.
func (h *HeaderName) Decode(value string) error {
	switch lower := strings.ToLower(value); {
	case value != "" && !validHeader.MatchString(value):
		return fmt.Errorf("header %q: must be a name such as X-Forwarded-User, of 1 to 64 letters, digits and dashes", value)
	case lower == "authorization" || lower == "cookie" || lower == "host" || lower == "origin" || strings.HasPrefix(lower, "sec-"):
		return fmt.Errorf("header %q: has another meaning; use a name such as X-Forwarded-User", value)
	}
	*h = HeaderName(value)
	return nil
}

// Networks are ranges of IP addresses.
type Networks []netip.Prefix

// Decode implements envconfig.Decoder. Values are separated by spaces or commas.
func (n *Networks) Decode(value string) error {
	var networks Networks
	for _, text := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' }) {
		network, err := netip.ParsePrefix(text)
		if ip, errIP := netip.ParseAddr(text); errIP == nil && ip.Zone() == "" {
			network, err = netip.PrefixFrom(ip, ip.BitLen()), nil
		}
		switch {
		case err != nil:
			return fmt.Errorf("network %q: must be an address or a range such as 10.1.2.0/24", text)
		case network.Bits() == 0:
			return fmt.Errorf("network %q: contains every address, and anyone could choose a user; name the addresses of the proxy", text)
		}
		networks = append(networks, network.Masked())
	}
	*n = networks
	return nil
}

// UserNames are names of users.
type UserNames []string

// Decode implements envconfig.Decoder. Names are separated by spaces or commas.
func (u *UserNames) Decode(value string) error {
	*u = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	return nil
}

// PathPrefix is the path under which a reverse proxy serves the pages; empty at the root.
type PathPrefix string

// Decode implements envconfig.Decoder.
func (p *PathPrefix) Decode(value string) error {
	u, err := url.Parse(value)
	if err != nil || u.Path != value || value != "" && !strings.HasPrefix(value, "/") || strings.HasPrefix(value, "//") || strings.ContainsAny(value, "\\ ;,\"'<>") {
		return fmt.Errorf("path prefix %q: must be a path such as /loadaware", value)
	}
	*p = PathPrefix(strings.TrimRight(value, "/"))
	return nil
}

// FrameSources are sources of the frame-ancestors directive of a content security policy.
type FrameSources string

// Decode implements envconfig.Decoder.
func (f *FrameSources) Decode(value string) error {
	if strings.ContainsAny(value, ";,\r\n") {
		return fmt.Errorf("frame ancestors %q: must be origins separated by spaces, such as https://airflow.example.org", value)
	}
	*f = FrameSources(strings.TrimSpace(value))
	return nil
}

// SessionKey is the secret that signs sessions.
type SessionKey string

const minKey = 32

// Decode implements envconfig.Decoder.
func (k *SessionKey) Decode(value string) error {
	if value != "" && len(value) < minKey {
		return fmt.Errorf("session key: must have at least %d bytes; create one with 'openssl rand -hex 32'", minKey)
	}
	*k = SessionKey(value)
	return nil
}
