package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
)

const tokenUsage = `[flags]

Creates a random bearer token. Callers get the token; the server gets only its hash:
append the grant in the second line to LOADAWARE_TOKENS, after a comma.`

func createToken(_ context.Context, con cli.Console, args []string) error {
	cmd := cli.New("token", tokenUsage)
	roles := cmd.String("role", string(auth.RoleObserve), "predict, observe, campaign or admin (everything); several separated by commas")
	name := cmd.String("name", "", "name of the caller in the audit trail; the first digits of the hash if empty")
	namespace := cmd.String("namespace", "", "limits the token to a namespace; all if empty")
	prefix := cmd.String("dag-prefix", "", "limits the token to dag_ids with this prefix; all if empty")
	if rest, err := cmd.ParseArgs(con, args); err != nil {
		return err
	} else if len(rest) > 0 {
		return cli.UsageErrorf("token takes no arguments, but was given %q; see loadaware token --help", rest)
	}
	if *name != "" && !auth.IsValidName(*name) {
		return cli.UsageErrorf("--name must have 1 to 64 letters, digits, dots, dashes or underscores, not %q", *name)
	}
	if strings.ContainsAny(*namespace+*prefix, "/:,") {
		return cli.UsageErrorf("--namespace and --dag-prefix must not contain a slash, colon or comma")
	}
	secret, hash := auth.NewSecret()
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
		if _, err := auth.ParseToken(grant); err != nil {
			return cli.UsageErrorf("%v", err)
		}
		grants = append(grants, grant)
	}
	_, err := fmt.Fprintf(con.Out, "token:   %s\ngranted: %s\n", secret, strings.Join(grants, ","))
	return err
}
