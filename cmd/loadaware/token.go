package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
)

const tokenUsage = `[flags]

Creates a random bearer token. Callers get the token; the server gets only its hash:
append the grant in the second line to LOADAWARE_TOKENS, after a comma.`

// createToken prints a new token and its grant for the server.
func createToken(_ context.Context, con console, args []string) error {
	cmd := newCommand("token", tokenUsage)
	roles := cmd.String("role", string(auth.RoleObserve), "predict, observe or admin (everything); several separated by commas")
	name := cmd.String("name", "", "name of the caller in the audit trail; the first digits of the hash if empty")
	namespace := cmd.String("namespace", "", "limits the token to a namespace; all if empty")
	prefix := cmd.String("dag-prefix", "", "limits the token to dag_ids with this prefix; all if empty")
	if rest, err := cmd.parse(con, args); err != nil {
		return err
	} else if len(rest) > 0 {
		return usageErrorf("token takes no arguments, but was given %q", rest)
	}
	secret, hash := newSecret()
	namePart, suffix := "", ":"+hash
	if *prefix != "" {
		suffix = "/" + *prefix + suffix
	}
	if *namespace != "" || *prefix != "" {
		suffix = "@" + *namespace + suffix
	}
	if *name != "" {
		namePart = *name + "="
	}
	var grants []string // several roles share one secret
	for role := range strings.SplitSeq(*roles, ",") {
		grant := namePart + strings.TrimSpace(role) + suffix
		parsed, err := auth.ParseToken(grant) // check that the grant parses to the same values
		if err != nil {
			return usageErrorf("%v", err)
		}
		if parsed.Namespace != *namespace || parsed.DAGPrefix != *prefix || strings.Contains(grant, ",") {
			return usageErrorf("--namespace and --dag-prefix must not contain a slash, colon or comma")
		}
		grants = append(grants, grant)
	}
	_, err := fmt.Fprintf(con.out, "token:   %s\ngranted: %s\n", secret, strings.Join(grants, ","))
	return err
}

// parseTokens parses grants separated by commas. An error names the position in source.
func parseTokens(list, source string) ([]auth.Token, error) {
	var tokens []auth.Token
	nth := 0
	for grant := range strings.SplitSeq(list, ",") {
		if grant = strings.TrimSpace(grant); grant == "" {
			continue
		}
		nth++
		token, err := auth.ParseToken(grant)
		if err != nil {
			return nil, fmt.Errorf("grant %d of %s: %w", nth, source, err)
		}
		tokens = append(tokens, token)
	}
	return tokens, nil
}

// newSecret returns a random bearer token and the hexadecimal hash that the server stores.
func newSecret() (secret, hash string) {
	secret = rand.Text()
	sum := sha256.Sum256([]byte(secret))
	return secret, hex.EncodeToString(sum[:])
}

// firstToken is the token that a first start creates if --tokens-file does not exist.
type firstToken struct {
	file, secret, grant string
}

// grants parses the tokens of LOADAWARE_TOKENS, or of the tokens file if that is empty. If
// the file does not exist, it creates a token and returns it as first, which the caller
// must store.
func (c *config) grants() (tokens []auth.Token, first *firstToken, err error) {
	tokens, err = parseTokens(c.Tokens, "LOADAWARE_TOKENS")
	if err != nil || len(tokens) > 0 || c.TokensFile == "" {
		return tokens, nil, err
	}
	text, err := os.ReadFile(c.TokensFile)
	if errors.Is(err, fs.ErrNotExist) {
		secret, hash := newSecret()
		first = &firstToken{file: c.TokensFile, secret: secret, grant: "first-start=" + string(auth.RoleAdmin) + ":" + hash}
		tokens, err = parseTokens(first.grant, c.TokensFile)
		return tokens, first, err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read --tokens-file: %w", err)
	}
	tokens, err = parseTokens(strings.ReplaceAll(string(text), "\n", ","), c.TokensFile)
	if err == nil && len(tokens) == 0 {
		err = fmt.Errorf("--tokens-file %s contains no token; write the grant that loadaware token prints into it, or remove it", c.TokensFile)
	}
	return tokens, nil, err
}

// store writes the grant into the file atomically, then prints the token. The token cannot
// be printed again.
func (f *firstToken) store(w io.Writer) error {
	if err := f.write(); err != nil {
		return fmt.Errorf("store the first token: %w; make the folder writable, or set LOADAWARE_TOKENS", err)
	}
	_, err := fmt.Fprintf(w, "no tokens are configured, so this first start created one with the role admin. It is not shown again;\n"+
		"its hash is in %s. For another token remove that file and restart, or set LOADAWARE_TOKENS.\ntoken:   %s\n", f.file, f.secret)
	return err
}

func (f *firstToken) write() error {
	temporary, err := os.CreateTemp(filepath.Dir(f.file), ".tokens-*") // readable by its owner only
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // a no-op after the rename
	_, err = temporary.WriteString(f.grant + "\n")
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), f.file)
}
