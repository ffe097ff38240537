package auth

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSessionIsInvalidAfterItsTimeOrWithoutItsTokenOrKey(t *testing.T) {
	token := Token{Role: RoleObserve, Namespace: "blue", Hash: sha256.Sum256([]byte("secret"))}
	sessions := NewSessions(Config{Tokens: []Token{token}}, []byte("key"))
	now := time.Unix(1_600_000_000, 0)
	assert.Empty(t, sessions.Start("unknown", now))
	value := sessions.Start("secret", now)
	require.Len(t, sessions.Grants(value, now), 1)
	assert.Equal(t, token, *sessions.Grants(value, now.Add(SessionTime-time.Second))[0])
	assert.Empty(t, sessions.Grants(value, now.Add(SessionTime)), "an expired session must give no grants")
	assert.Empty(t, NewSessions(Config{Tokens: []Token{token}}, []byte("other")).Grants(value, now), "a session that another key signed must give no grants")
	assert.Empty(t, NewSessions(Config{}, []byte("key")).Grants(value, now), "a session of a removed token must give no grants")
	for i := range value {
		forged := []byte(value)
		forged[i] ^= 1
		assert.Empty(t, sessions.Grants(string(forged), now), "byte %d", i)
	}
	for _, bad := range []string{"", "x", value[1:], value + "AAAA"} {
		assert.Empty(t, sessions.Grants(bad, now), bad)
	}
}

func TestCSRFTokensBelongToOneSession(t *testing.T) {
	sessions := NewSessions(Config{}, []byte("key"))
	assert.True(t, sessions.CheckCSRFToken("a", sessions.CSRFToken("a")))
	assert.False(t, sessions.CheckCSRFToken("b", sessions.CSRFToken("a")))
	assert.False(t, sessions.CheckCSRFToken("", ""))
}
