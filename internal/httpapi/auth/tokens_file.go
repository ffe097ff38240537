package auth

import (
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

	"github.com/loadaware/loadaware/internal/textfile"
)

// NewSecret returns a random bearer token and its SHA-256 in hexadecimal, which a grant contains.
func NewSecret() (secret, hash string) {
	secret = rand.Text()
	sum := sha256.Sum256([]byte(secret))
	return secret, hex.EncodeToString(sum[:])
}

// ParseTokens parses grants separated by commas. An error names `source`, the origin of the list, and the
// position of the invalid grant.
func ParseTokens(list, source string) ([]Token, error) {
	var tokens []Token
	position := 0
	for grant := range strings.SplitSeq(list, ",") {
		if grant = strings.TrimSpace(grant); grant == "" {
			continue
		}
		position++
		token, err := ParseToken(grant)
		if err != nil {
			return nil, fmt.Errorf("grant %d of %s: %w", position, source, err)
		}
		tokens = append(tokens, token)
	}
	return tokens, nil
}

// FirstToken is the token that the first start of a server creates if the tokens file does not exist.
type FirstToken struct {
	file, secret, grant string
}

// LoadTokens parses the list of LOADAWARE_TOKENS, or the tokens file if the list is empty. If both arguments
// are empty, it returns no tokens. If the file does not exist, LoadTokens creates a token and returns it as `first`; the
// caller must call Store on it.
func LoadTokens(list, file string) (tokens []Token, first *FirstToken, err error) {
	tokens, err = ParseTokens(list, "LOADAWARE_TOKENS")
	if err != nil || len(tokens) > 0 || file == "" {
		return tokens, nil, err
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		secret, hash := NewSecret()
		first = &FirstToken{file: file, secret: secret, grant: "first-start=" + string(RoleAdmin) + ":" + hash}
		tokens, err = ParseTokens(first.grant, file)
		return tokens, first, err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read --tokens-file: %w", err)
	}
	tokens, err = ParseTokens(strings.ReplaceAll(textfile.TrimMark(text), "\n", ","), file)
	if err == nil && len(tokens) == 0 {
		err = fmt.Errorf("--tokens-file %s contains no token; run `loadaware token` and put the text after \"granted:\" into this file, or remove the file", file)
	}
	return tokens, nil, err
}

// Store writes the grant into the file atomically, then prints the token. The token cannot
// be printed again.
func (f *FirstToken) Store(w io.Writer) error {
	if err := f.write(); err != nil {
		return fmt.Errorf("store the first token: %w; make the folder writable, or set LOADAWARE_TOKENS", err)
	}
	_, err := fmt.Fprintf(w, "no tokens are configured, so this first start created one with the role admin. It is not shown again;\n"+
		"its hash is in %s. For another token remove that file and restart, or set LOADAWARE_TOKENS.\ntoken:   %s\n", f.file, f.secret)
	return err
}

func (f *FirstToken) write() error {
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
