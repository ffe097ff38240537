package main

import (
	"context"

	"github.com/loadaware/loadaware/internal/app"
)

const serveUsage = `[flags]

Serves HTTP until SIGINT or SIGTERM. Then it accepts no new requests, finishes those in
flight within 10 seconds, and stores queued receipts. After SIGTERM it first drains for 3
seconds: /readyz returns 503, and all other requests are answered. A second signal stops
it at once, which loses nothing that was acknowledged.`

func serve(ctx context.Context, con console, args []string) error {
	cmd := newCommand("serve", serveUsage, "addr", "admin-addr", "data", "database", "tokens", "tokens-file", "tls-cert", "tls-key", "tls-client-ca")
	withDemo := cmd.Bool("demo", false, "import the demo history into an empty store, train it, and print example requests")
	cmd.DurationVar(&cmd.SearchEvery, "search-every", cmd.SearchEvery, "interval of the background search for better parameters of a heavy task, at low priority; 0 for none")
	cmd.envs["search-every"] = "LOADAWARE_SEARCH_EVERY"
	cmd.Var(&cmd.MinMemory, "min-memory", "minimum memory that a model grants, as a `quantity`; a task's floor replaces it, a cap and a lower successful request override it; 0 for none")
	cmd.envs["min-memory"] = "LOADAWARE_MIN_MEMORY"
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usageErrorf("serve takes no arguments, but was given %q", rest)
	}
	if err := cmd.CheckDurations(); err != nil {
		return err
	}
	server := app.Server{Config: &cmd.Config, Version: buildVersion, Demo: *withDemo, PrintExamples: isTerminal(con.out), Out: con.out, Err: con.err}
	return server.Run(ctx)
}
