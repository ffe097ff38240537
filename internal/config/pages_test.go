package config

import (
	"net/netip"
	"testing"

	"github.com/kelseyhightower/envconfig"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
)

func proxyFromEnv(t *testing.T, header, networks, admins string, hasTokens bool) (auth.Proxy, error) {
	t.Helper()
	t.Setenv("LOADAWARE_UI_PROXY_HEADER", header)
	t.Setenv("LOADAWARE_UI_PROXY_NETWORKS", networks)
	t.Setenv("LOADAWARE_UI_PROXY_ADMINS", admins)
	cfg := Defaults()
	if err := envconfig.Process("loadaware", &cfg); err != nil {
		return auth.Proxy{}, err
	}
	return cfg.UI.Proxy(hasTokens)
}

func TestProxySettingsAreReadAndOffByDefault(t *testing.T) {
	proxy, err := proxyFromEnv(t, "", "", "", true)
	require.NoError(t, err)
	assert.Equal(t, auth.Proxy{}, proxy, "off by default")
	proxy, err = proxyFromEnv(t, "X-Forwarded-User", "10.1.2.3/24, fd00::/8 127.0.0.1", "ann, bob@example.org", true)
	require.NoError(t, err)
	assert.Equal(t, auth.Proxy{
		Header: "X-Forwarded-User", Admins: []string{"ann", "bob@example.org"},
		Networks: []netip.Prefix{netip.MustParsePrefix("10.1.2.0/24"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("127.0.0.1/32")},
	}, proxy)
}

func TestInvalidProxySettingsAreRejected(t *testing.T) {
	for _, c := range []struct {
		header, networks, admins string
		hasTokens                bool
		message                  string
	}{
		{"X-User", "", "", true, "LOADAWARE_UI_PROXY_NETWORKS: missing"},
		{"", "10.1.2.3", "", true, "LOADAWARE_UI_PROXY_HEADER: missing"},
		{"", "", "ann", true, "LOADAWARE_UI_PROXY_HEADER: missing"},
		{"X-User", "10.1.2.3", "", false, "without tokens every caller may change everything"},
		{"X-User", "0.0.0.0/0", "", true, "contains every address"},
		{"X-User", "::/0", "", true, "contains every address"},
		{"X-User", "proxy.example.org", "", true, "must be an address or a range"},
		{"X-User", "fe80::1%eth0", "", true, "must be an address or a range"},
		{"X User", "10.1.2.3", "", true, "must be a name such as"},
		{"Cookie", "10.1.2.3", "", true, "has another meaning"},
		{"sec-fetch-site", "10.1.2.3", "", true, "has another meaning"},
	} {
		_, err := proxyFromEnv(t, c.header, c.networks, c.admins, c.hasTokens)
		assert.ErrorContains(t, err, c.message, "%+v", c)
	}
}
