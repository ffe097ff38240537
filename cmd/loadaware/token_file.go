package main

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

	"github.com/loadaware/loadaware/internal/httpapi/auth"
)

// newSecret draws a bearer token. The server stores only its hash, in hex digits.
func newSecret() (secret, hash string) {
	secret = rand.Text()
	sum := sha256.Sum256([]byte(secret))
	return secret, hex.EncodeToString(sum[:])
}

// firstToken is the token of a first start: a --tokens-file is named and not there yet.
type firstToken struct {
	file, secret, grant string
}

// grants reads who may call: LOADAWARE_TOKENS, or if that is empty the tokens file. If
// that file does not exist, grants makes a token, which counts once it is stored; first
// is nil in all other cases.
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
		return nil, nil, fmt.Errorf("--tokens-file cannot be read: %w", err)
	}
	tokens, err = parseTokens(strings.ReplaceAll(string(text), "\n", ","), c.TokensFile)
	if err == nil && len(tokens) == 0 {
		err = fmt.Errorf("--tokens-file %s holds no token: write what loadaware token grants into it, or remove it", c.TokensFile)
	}
	return tokens, nil, err
}

// store writes the grant into the file, whole or not at all, then prints the token: this
// is the only time that it can be seen.
func (f *firstToken) store(w io.Writer) error {
	if err := f.write(); err != nil {
		return fmt.Errorf("store the first token: %w; make the folder writable, or set LOADAWARE_TOKENS", err)
	}
	_, err := fmt.Fprintf(w, "no tokens were configured, so this first start made one of the role admin. It is not shown again;\n"+
		"its hash is in %s: remove that file and restart for another, or set LOADAWARE_TOKENS.\ntoken:   %s\n", f.file, f.secret)
	return err
}

func (f *firstToken) write() error {
	temporary, err := os.CreateTemp(filepath.Dir(f.file), ".tokens-*") // readable by its owner alone
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // not there any more after the rename
	_, err = temporary.WriteString(f.grant + "\n")
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), f.file)
}
