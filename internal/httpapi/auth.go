package httpapi

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
	Wary   bool // of browsers that ask for the pages of other hosts; for where Off
}

// Token is one grant. The same secret may be listed again, with another role or
// scope.
//
// What is stored is a plain SHA-256. Slow and salted hashes (bcrypt, Argon2) make
// up for passwords that can be guessed. A token is drawn at random from at least
// 2^128: no list of guesses reaches it however fast the hash is, no two are alike,
// and a fast hash lets every request be checked without a cache of who was.
type Token struct {
	Name      string // of its bearer, for the audit trail; empty: the first digits of Hash
	Role      Role
	Namespace string // the only one it may name; empty: all
	DAGPrefix string // that the dag_ids begin with which it may name; empty: all
	Hash      [sha256.Size]byte
}

// saneName is what a token may be called; it ends up in the audit trail.
var saneName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// ParseToken reads [name=]role[@[namespace][/prefix]]:hash, where prefix is what a
// dag_id must begin with, and hash the SHA-256 of the token in 64 hex digits, as
// `printf %s "$TOKEN" | sha256sum` prints it. The error repeats nothing of the
// text: who mistakes the order may have written a token in any place.
func ParseToken(text string) (Token, error) {
	who, hash, ok := strings.Cut(text, ":")
	granted, scope, scoped := strings.Cut(who, "@")
	name, role, named := strings.Cut(granted, "=")
	if !named {
		name, role = "", granted
	}
	namespace, prefix, prefixed := strings.Cut(scope, "/")
	t := Token{Name: name, Role: Role(role), Namespace: namespace, DAGPrefix: prefix}
	sum, err := hex.DecodeString(hash)
	switch {
	case !ok || who == "":
		return Token{}, errors.New("a grant is written role:hash, such as predict:7424…, as loadaware token prints it")
	case !slices.Contains([]Role{RolePredict, RoleObserve, RoleAdmin}, t.Role):
		return Token{}, errors.New("what stands before the colon is not a role: write predict, observe or admin")
	case named && !saneName.MatchString(name):
		return Token{}, errors.New("a name is 1 to 64 letters, digits, dots, dashes or underscores")
	case slices.Contains(ownNames, name):
		return Token{}, fmt.Errorf("the name %s stands for the service itself in the audit trail: choose another", name)
	case scoped && namespace != "" && sizing.CheckID(namespace) != "":
		return Token{}, fmt.Errorf("the namespace of a grant %s", sizing.CheckID(namespace))
	case prefixed && sizing.CheckID(prefix) != "":
		return Token{}, fmt.Errorf("the dag_id prefix of a grant %s", sizing.CheckID(prefix))
	case scoped && !prefixed && namespace == "":
		return Token{}, errors.New("the namespace of a grant is empty: leave the @ out")
	case err != nil || len(sum) != sha256.Size:
		return Token{}, errors.New(`behind the colon stands no hash: write what printf %s "$TOKEN" | sha256sum prints, never the token itself`)
	}
	t.Hash = [sha256.Size]byte(sum)
	return t, nil
}

// ownNames are written into the audit trail where nobody with a token acted.
var ownNames = []string{"anonymous", "local", store.Trainer, store.Watchdog}

// grants are the tokens that the bearer of secret holds. All are compared, each
// in constant time, so that the time taken tells nothing of them.
func (a Auth) grants(secret string) []*Token {
	hash := sha256.Sum256([]byte(secret))
	var held []*Token
	for i := range a.Tokens {
		if subtle.ConstantTimeCompare(hash[:], a.Tokens[i].Hash[:]) == 1 {
			held = append(held, &a.Tokens[i])
		}
	}
	return held
}

// anyone is whoever asks where Auth is Off.
var anyone = Token{Name: "local", Role: RoleAdmin}

// authenticate finds out who is asking; 401 where nobody known is.
func (s *server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r.Context())
		c.held = s.auth.holder(r)
		if rule := s.readRoute(r.URL.Path); !rule.public && !isRoot(r) {
			if len(c.held) == 0 {
				w.Header().Set("WWW-Authenticate", challenge)
				s.fail(w, r, stranger)
				return
			}
			if why := s.auth.foreignPage(r, rule.lasting); why != "" {
				s.fail(w, r, &failure{class: forbidden, detail: why})
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// holder is what the bearer of r may do; nothing where it is not known.
func (a Auth) holder(r *http.Request) []*Token {
	if a.Off {
		return []*Token{&anyone}
	}
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	return a.grants(strings.TrimSpace(secret))
}

const challenge = `Bearer realm="loadaware"`

var stranger = &failure{class: unauthenticated, detail: "send a known token: Authorization: Bearer <token>"}

// bearer names whoever holds t, without telling the secret: 32 bits of a hash lead
// nowhere, and are what the list of tokens is searched for.
func (t *Token) bearer() string {
	return cmp.Or(t.Name, "token "+hex.EncodeToString(t.Hash[:4]))
}

// holds keeps the grants that suffice for one of the roles, and reports whether
// any does.
func (c *call) holds(roles []Role) bool {
	c.held = slices.DeleteFunc(c.held, func(t *Token) bool {
		return t.Role != RoleAdmin && !slices.Contains(roles, t.Role)
	})
	return len(c.held) > 0
}

func wrongRole(roles []Role) error {
	enough := []string{string(RoleAdmin)}
	for _, r := range roles {
		enough = append(enough, string(r))
	}
	return &failure{class: forbidden, detail: "this token's role does not suffice: use one of role " + strings.Join(enough, " or ")}
}
