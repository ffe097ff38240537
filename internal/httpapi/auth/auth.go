// Package auth decides who may call the API and open the pages: bearer tokens with roles and scopes,
// sessions of browsers, users that a proxy names, and protection against web pages of other origins.
//
// It does not depend on routes; internal/httpapi maps its errors to status codes.
package auth

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Role is a set of permitted operations.
type Role string

// The roles. RoleAdmin includes the other three and all remaining operations.
const (
	RolePredict  Role = "predict"
	RoleObserve  Role = "observe"
	RoleCampaign Role = "campaign"
	RoleAdmin    Role = "admin"
)

// Challenge is the WWW-Authenticate header of a 401.
const Challenge = `Bearer realm="loadaware"`

// Config defines who may call the API. The zero Config identifies no caller.
type Config struct {
	Tokens      []Token
	Disabled    bool // every caller is an admin; use it only where no other machine can connect
	CheckOrigin bool // reject requests that browsers send for pages of other origins; use it with Disabled
}

// Token is one grant: a role and a scope for the bearer of a secret. The same secret may have several grants with
// different roles or scopes.
//
// Hash is a plain SHA-256. Slow, salted hashes (bcrypt, Argon2) protect passwords that can be
// guessed; a token of NewSecret is random with at least 128 bits, so guessing fails with any hash, and a
// fast hash makes it cheap to check every request.
type Token struct {
	Name      string // shown in the audit trail; if empty, the trail shows the first eight digits of Hash
	Role      Role
	Namespace string // the only permitted namespace; all if empty
	DAGPrefix string // prefix of the permitted dag_ids; all if empty
	Hash      [sha256.Size]byte
}

// validName matches token names, which are stored in the audit trail.
var validName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// IsValidName reports whether a token can have the name.
func IsValidName(name string) bool { return validName.MatchString(name) }

// reservedNames identify actions without a token in the audit trail.
var reservedNames = []string{"anonymous", "local", store.Trainer, store.Watchdog}

// ParseToken reads [name=]role[@[namespace][/prefix]]:hash. The hash is the SHA-256 of the
// token in 64 hex digits, as `printf %s "$TOKEN" | sha256sum` prints it. Errors repeat no
// part of the text except a reserved name, because a misplaced part may be a secret token.
func ParseToken(text string) (Token, error) {
	grant, hash, ok := strings.Cut(text, ":")
	nameAndRole, scope, scoped := strings.Cut(grant, "@")
	name, role, named := strings.Cut(nameAndRole, "=")
	if !named {
		name, role = "", nameAndRole
	}
	namespace, prefix, prefixed := strings.Cut(scope, "/")
	t := Token{Name: name, Role: Role(role), Namespace: namespace, DAGPrefix: prefix}
	sum, err := hex.DecodeString(hash)
	switch {
	case !ok || grant == "":
		return Token{}, errors.New("token grant: role or hash is missing; write role:hash as 'loadaware token' prints it, such as predict:7424…")
	case !slices.Contains([]Role{RolePredict, RoleObserve, RoleCampaign, RoleAdmin}, t.Role):
		return Token{}, errors.New("token grant: unknown role before the colon; use predict, observe, campaign or admin")
	case named && !IsValidName(name):
		return Token{}, errors.New("token grant: invalid name before the equals sign; use 1 to 64 letters, digits, dots, dashes or underscores")
	case slices.Contains(reservedNames, name):
		return Token{}, fmt.Errorf("token grant: the audit trail reserves the name %s for actions without a token; choose another", name)
	case scoped && namespace != "" && sizing.CheckID(namespace) != "":
		return Token{}, fmt.Errorf("token grant: the namespace %s", sizing.CheckID(namespace))
	case prefixed && sizing.CheckID(prefix) != "":
		return Token{}, fmt.Errorf("token grant: the dag_id prefix %s", sizing.CheckID(prefix))
	case scoped && !prefixed && namespace == "":
		return Token{}, errors.New("token grant: the namespace after the @ is empty; remove the @")
	case err != nil || len(sum) != sha256.Size:
		return Token{}, errors.New(`token grant: no SHA-256 hash after the colon; write what printf %s "$TOKEN" | sha256sum prints, never the token itself`)
	}
	t.Hash = [sha256.Size]byte(sum)
	return t, nil
}

// Identity returns the name of the bearer of t in the audit trail. For a token without a name this is "token" and the
// first eight digits of the hash, which reveal nothing about the token and can be found in the list of tokens.
func (t *Token) Identity() string {
	return cmp.Or(t.Name, "token "+hex.EncodeToString(t.Hash[:4]))
}

// localCaller is the grant of every caller where authentication is disabled.
var localCaller = Token{Name: "local", Role: RoleAdmin}

// Identify returns the grants of the caller; none if its token is missing or unknown.
func (c Config) Identify(r *http.Request) Grants {
	if c.Disabled {
		return Grants{&localCaller}
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	return c.lookup(strings.TrimSpace(secret))
}

// Callers returns the grants of each caller that can be identified, in the order of the configuration.
func (c Config) Callers() []Grants {
	if c.Disabled {
		return []Grants{{&localCaller}}
	}
	var callers []Grants
	index := map[[sha256.Size]byte]int{}
	for i := range c.Tokens {
		t := &c.Tokens[i]
		at, isKnown := index[t.Hash]
		if !isKnown {
			at = len(callers)
			index[t.Hash], callers = at, append(callers, nil)
		}
		callers[at] = append(callers[at], t)
	}
	return callers
}

// lookup returns the grants of a secret. It compares all hashes in constant time, so that
// the duration reveals nothing about the hashes.
func (c Config) lookup(secret string) Grants {
	hash := sha256.Sum256([]byte(secret))
	var matched Grants
	for i := range c.Tokens {
		if subtle.ConstantTimeCompare(hash[:], c.Tokens[i].Hash[:]) == 1 {
			matched = append(matched, &c.Tokens[i])
		}
	}
	return matched
}

// RequireUnlimitedAdmin returns a handler that passes requests with an admin token for all tasks on to `next`. It answers 401
// to all other callers.
func (c Config) RequireUnlimitedAdmin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !c.Identify(r).WithRole(nil).Unlimited() {
			w.Header().Set("WWW-Authenticate", Challenge)
			http.Error(w, "unauthenticated: this path needs an admin token without a scope; send Authorization: Bearer <token>", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
