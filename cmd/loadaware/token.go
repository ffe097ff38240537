package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/loadaware/loadaware/internal/httpapi/auth"
)

const tokenUsage = `[flags]

Makes a random bearer token. Callers get the token; the server gets only its hash:
put the second line into LOADAWARE_TOKENS, behind a comma if others are there.`

// makeToken prints a new token and what the server is told of it.
func makeToken(_ context.Context, con console, args []string) error {
	cmd := newCommand("token", tokenUsage)
	roles := cmd.String("role", string(auth.RoleObserve), "predict (ask), observe (tell) or admin (all); several with commas between them")
	name := cmd.String("name", "", "what the audit trail calls its bearer; the first digits of the hash if empty")
	namespace := cmd.String("namespace", "", "the only namespace that it is good for; all if empty")
	prefix := cmd.String("dag-prefix", "", "what the dag_ids begin with that it is good for; all if empty")
	if rest, err := cmd.parse(con, args); err != nil {
		return err
	} else if len(rest) > 0 {
		return usageErrorf("token takes no arguments, but was given %q", rest)
	}
	secret, hash := newSecret()
	before, behind := "", ":"+hash
	if *prefix != "" {
		behind = "/" + *prefix + behind
	}
	if *namespace != "" || *prefix != "" {
		behind = "@" + *namespace + behind
	}
	if *name != "" {
		before = *name + "="
	}
	var grants []string // of one secret, so that a caller that asks and tells has one token
	for role := range strings.SplitSeq(*roles, ",") {
		grant := before + strings.TrimSpace(role) + behind
		read, err := auth.ParseToken(grant) // what is printed must be understood, and as it was meant
		if err != nil {
			return usageErrorf("%v", err)
		}
		if read.Namespace != *namespace || read.DAGPrefix != *prefix || strings.Contains(grant, ",") {
			return usageErrorf("a namespace or a prefix of dag_ids holds no slash, colon or comma")
		}
		grants = append(grants, grant)
	}
	_, err := fmt.Fprintf(con.out, "token:   %s\ngranted: %s\n", secret, strings.Join(grants, ","))
	return err
}

// parseTokens reads grants that are separated by commas; errors name where they stood.
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
