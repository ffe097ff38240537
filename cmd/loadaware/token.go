package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/loadaware/loadaware/internal/httpapi"
)

const tokenUsage = `[flags]

Makes a random bearer token. Callers get the token; the server gets only its hash:
put the second line into LOADAWARE_TOKENS, behind a comma if others are there.`

// makeToken prints a new token and what the server is told of it.
func makeToken(_ context.Context, con console, args []string) error {
	cmd := newCommand("token", tokenUsage)
	roles := cmd.String("role", string(httpapi.RoleObserve), "predict (ask), observe (tell) or admin (all); several with commas between them")
	namespace := cmd.String("namespace", "", "the only namespace that it is good for; all if empty")
	if rest, err := cmd.parse(con, args); err != nil {
		return err
	} else if len(rest) > 0 {
		return usageErrorf("token takes no arguments, but was given %q", rest)
	}
	secret := rand.Text()
	hash := sha256.Sum256([]byte(secret))
	behind := ":" + hex.EncodeToString(hash[:])
	if *namespace != "" {
		behind = "@" + *namespace + behind
	}
	var grants []string // of one secret, so that a caller that asks and tells has one token
	for role := range strings.SplitSeq(*roles, ",") {
		grant := strings.TrimSpace(role) + behind
		if _, err := httpapi.ParseToken(grant); err != nil { // what is printed must be understood
			return usageErrorf("%v", err)
		}
		grants = append(grants, grant)
	}
	_, err := fmt.Fprintf(con.out, "token:   %s\ngranted: %s\n", secret, strings.Join(grants, ","))
	return err
}

// parseTokens reads grants that are separated by commas.
func parseTokens(list string) ([]httpapi.Token, error) {
	var tokens []httpapi.Token
	for grant := range strings.SplitSeq(list, ",") {
		if grant = strings.TrimSpace(grant); grant == "" {
			continue
		}
		token, err := httpapi.ParseToken(grant)
		if err != nil {
			return nil, fmt.Errorf("LOADAWARE_TOKENS: %w", err)
		}
		tokens = append(tokens, token)
	}
	return tokens, nil
}
