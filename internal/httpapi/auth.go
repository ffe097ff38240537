package httpapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Role is what a token may do.
type Role string

// The roles. RoleAdmin may do what the others may, and the rest.
const (
	RolePredict Role = "predict"
	RoleObserve Role = "observe"
	RoleAdmin   Role = "admin"
)

// Auth says who may ask. The zero Auth admits nobody but to the public paths.
type Auth struct {
	Tokens []Token
	Off    bool // everybody is admin; only where none but this machine can connect
}

// Token is one grant. The same secret may be listed again, with another role or
// namespace.
type Token struct {
	Name      string // of its bearer, for the audit trail; empty: the first digits of Hash
	Role      Role
	Namespace string // the only one it may name; empty: all
	Hash      [sha256.Size]byte
}

// ParseToken reads role[@namespace]:secret, where the secret is the token itself
// or the SHA-256 of it in 64 hex digits, as `printf %s "$TOKEN" | sha256sum` prints
// it. Only the hash is kept. The error does not repeat the secret.
func ParseToken(text string) (Token, error) {
	who, secret, ok := strings.Cut(text, ":")
	role, namespace, scoped := strings.Cut(who, "@")
	t := Token{Role: Role(role), Namespace: namespace}
	switch {
	case !ok || secret == "":
		return Token{}, fmt.Errorf("a token is written role:secret or role@namespace:secret, with a role of predict, observe or admin")
	case !slices.Contains([]Role{RolePredict, RoleObserve, RoleAdmin}, t.Role):
		return Token{}, fmt.Errorf("%q is not a role: write predict, observe or admin before the colon", role)
	case scoped && sizing.CheckID(namespace) != "":
		return Token{}, fmt.Errorf("the namespace of the %s token %s", role, sizing.CheckID(namespace))
	}
	if n, err := hex.Decode(t.Hash[:], []byte(secret[:min(len(secret), 2*sha256.Size)])); err != nil || n != sha256.Size || len(secret) != 2*sha256.Size {
		t.Hash = sha256.Sum256([]byte(secret))
	}
	return t, nil
}

// grants are the tokens that the bearer of secret holds. All are compared, each
// in constant time, so that the time taken tells nothing of them.
func (a Auth) grants(secret string) []Token {
	hash := sha256.Sum256([]byte(secret))
	var held []Token
	for _, t := range a.Tokens {
		if subtle.ConstantTimeCompare(hash[:], t.Hash[:]) == 1 {
			held = append(held, t)
		}
	}
	return held
}

// authenticate finds out who is asking; 401 where nobody known is.
func (s *server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r.Context())
		if s.auth.Off {
			c.held = []Token{{Name: "local", Role: RoleAdmin}}
		} else if !s.isPublic(r.URL.Path) {
			scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			if strings.EqualFold(scheme, "Bearer") {
				c.held = s.auth.grants(strings.TrimSpace(secret))
			}
			if len(c.held) == 0 {
				w.Header().Set("WWW-Authenticate", `Bearer realm="loadaware"`)
				s.fail(w, r, &failure{class: unauthenticated, detail: "send a known token: Authorization: Bearer <token>"})
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// bearer names whoever holds t, without telling the secret: 32 bits of a hash lead
// nowhere, and are what the list of tokens is searched for.
func (t *Token) bearer() string {
	return cmp.Or(t.Name, "token "+hex.EncodeToString(t.Hash[:4]))
}

// holds keeps the grants that suffice for one of the roles, and reports whether
// any does.
func (c *call) holds(roles []Role) bool {
	c.held = slices.DeleteFunc(slices.Clone(c.held), func(t Token) bool {
		return t.Role != RoleAdmin && !slices.Contains(roles, t.Role)
	})
	return len(c.held) > 0
}

// mayName reports whether the caller may name a namespace.
func mayName(ctx context.Context, namespace string) bool {
	return slices.ContainsFunc(callOf(ctx).held, func(t Token) bool {
		return t.Namespace == "" || t.Namespace == namespace
	})
}

// checkScope refuses a namespace that is not the caller's.
func checkScope(ctx context.Context, namespace string) error {
	if mayName(ctx, namespace) {
		return nil
	}
	return &failure{class: forbidden, detail: fmt.Sprintf("this token is for namespace %q, and the request names %q", scopes(ctx), namespace)}
}

// scopes are the caller's namespaces.
func scopes(ctx context.Context) []string {
	var names []string
	for _, t := range callOf(ctx).held {
		if !slices.Contains(names, t.Namespace) {
			names = append(names, t.Namespace)
		}
	}
	return names
}

// listScope is the namespace that a list is limited to ("" for all) when the
// caller asked for one ("" for all that it may see).
func listScope(ctx context.Context, asked string) (string, error) {
	if asked != "" || mayName(ctx, "") {
		return asked, checkScope(ctx, asked)
	}
	own := scopes(ctx)
	if len(own) > 1 {
		return "", &failure{class: forbidden, detail: fmt.Sprintf("say ?namespace=: this token is for %q", own)}
	}
	return own[0], nil
}

func wrongRole(roles []Role) error {
	enough := []string{string(RoleAdmin)}
	for _, r := range roles {
		enough = append(enough, string(r))
	}
	return &failure{class: forbidden, detail: "this token's role does not suffice: use one of role " + strings.Join(enough, " or ")}
}
