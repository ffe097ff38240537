package auth

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var proxy = Proxy{
	Header:   "X-Forwarded-User",
	Networks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("127.0.0.1/32")},
	Admins:   []string{"ann"},
}

func userOf(p Proxy, peer string, values ...string) string {
	r := httptest.NewRequest("GET", "/ui/", nil)
	r.RemoteAddr = peer
	for _, v := range values {
		r.Header.Add("x-forwarded-user", v)
	}
	return p.User(r)
}

func TestOnlyATrustedPeerNamesAUser(t *testing.T) {
	for peer, trusted := range map[string]bool{
		"10.1.2.3:4711": true, "127.0.0.1:1": true, "[fd12::1]:80": true, "[::ffff:10.1.2.3]:80": true, "[fd12::1%eth0]:80": true,
		"10.2.0.1:4711": false, "127.0.0.2:1": false, "[::1]:80": false, "[fe80::1%eth0]:80": false, "192.0.2.1:1234": false,
		"": false, "@": false, "10.1.2.3": false, "proxy:80": false,
	} {
		assert.Equal(t, trusted, userOf(proxy, peer, "ann") == "ann", peer)
		assert.Empty(t, userOf(Proxy{Networks: proxy.Networks}, peer, "ann"), "a proxy without a configured header must name no user")
		assert.Empty(t, userOf(Proxy{Header: proxy.Header}, peer, "ann"), "a proxy without a configured network must name no user")
	}
}

func TestInvalidNamesOfUsersAreIgnored(t *testing.T) {
	const peer = "10.1.2.3:4711"
	for _, user := range []string{"ann", "ann@example.org", "Zoë", `CORP\ann`, "<script>", strings.Repeat("a", 128)} {
		assert.Equal(t, user, userOf(proxy, peer, user))
	}
	for _, user := range []string{"", " ", "ann ", "ann bob", "ann\u00a0", "ann\u202e", "a\x00", "a\n", "\xff", strings.Repeat("a", 129)} {
		assert.Empty(t, userOf(proxy, peer, user), "%q", user)
	}
	assert.Empty(t, userOf(proxy, peer))
	assert.Empty(t, userOf(proxy, peer, "ann", "bob"), "two names must give no user, because one of them may come from the client")
}

func TestOnlyAdminsAmongTheUsersOfAProxyMayChangeAnything(t *testing.T) {
	require.Len(t, proxy.Grants("bob"), 1)
	assert.Equal(t, RoleObserve, proxy.Grants("bob")[0].Role)
	assert.Equal(t, RoleAdmin, proxy.Grants("ann")[0].Role)
	assert.Equal(t, RoleObserve, proxy.Grants("Ann")[0].Role)
	assert.Equal(t, "user ann", proxy.Grants("ann")[0].Identity())
	assert.False(t, IsValidName("user ann"), "no token may have the name that the audit trail shows for a user of the proxy")
	assert.Empty(t, proxy.Grants(""))
}
