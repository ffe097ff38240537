package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// SessionTime is how long a browser stays signed in. A copied cookie is valid for at most this time. With a shorter time
// people would have to sign in more often.
const SessionTime = 12 * time.Hour

// Sessions issues and verifies the signed values of session cookies. A value contains the hash of a token and
// the time at which the session ends. The server stores no sessions, and removing a token ends its sessions.
type Sessions struct {
	auth Config
	key  []byte
}

// NewSessions returns Sessions for the tokens of c. Replicas with the same key and tokens accept each
// other's sessions.
func NewSessions(c Config, key []byte) Sessions { return Sessions{c, key} }

// The parts of a value before encoding: expiry in Unix seconds, hash of the token, HMAC of both.
const (
	expirySize  = 8
	signedSize  = expirySize + sha256.Size
	sessionSize = signedSize + sha256.Size
)

// Start returns the value of a new session; "" if the token is unknown.
func (s Sessions) Start(token string, now time.Time) string {
	if len(s.auth.lookup(token)) == 0 {
		return ""
	}
	value := make([]byte, expirySize, sessionSize)
	binary.BigEndian.PutUint64(value, uint64(now.Add(SessionTime).Unix()))
	hash := sha256.Sum256([]byte(token))
	value = append(value, hash[:]...)
	return base64.RawURLEncoding.EncodeToString(append(value, s.sign("session", value)...))
}

// Grants returns the grants of a session; none if its value is not valid or has
// expired, or if its token was removed.
func (s Sessions) Grants(value string, now time.Time) Grants {
	raw, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(raw) != sessionSize || !hmac.Equal(raw[signedSize:], s.sign("session", raw[:signedSize])) {
		return nil
	}
	if now.Unix() >= int64(binary.BigEndian.Uint64(raw)) {
		return nil
	}
	var matched Grants
	for i := range s.auth.Tokens {
		if subtle.ConstantTimeCompare(raw[expirySize:signedSize], s.auth.Tokens[i].Hash[:]) == 1 {
			matched = append(matched, &s.auth.Tokens[i])
		}
	}
	return matched
}

// CSRFToken returns the CSRF token of a session. The forms that change data or sign out contain it, so that a page of
// another origin cannot submit them. The argument is the value of the session cookie. Without a session it is a text that
// names the user of a proxy, or "".
func (s Sessions) CSRFToken(session string) string {
	return base64.RawURLEncoding.EncodeToString(s.sign("form", []byte(session)))
}

// CheckCSRFToken reports whether the CSRF token of a form belongs to the session.
func (s Sessions) CheckCSRFToken(session, csrfToken string) bool {
	return hmac.Equal([]byte(s.CSRFToken(session)), []byte(csrfToken))
}

func (s Sessions) sign(purpose string, value []byte) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(purpose))
	mac.Write([]byte{0})
	mac.Write(value)
	return mac.Sum(nil)
}
