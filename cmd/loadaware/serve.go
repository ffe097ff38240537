package main

import (
	"context"

	"github.com/loadaware/loadaware/internal/app"
	"github.com/loadaware/loadaware/internal/cli"
)

const serveUsage = `[flags]

Serves HTTP until SIGINT, SIGTERM or SIGHUP. After SIGTERM it first waits 3 seconds, so that
load balancers notice: /readyz returns 503, and all other requests are answered. Then, or at
once after SIGINT and SIGHUP, it accepts no new requests, finishes the current requests within
10 seconds, and stores queued receipts. A second signal stops it at once: reports that were
answered are stored, and receipts that are still queued are lost.`

func serve(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("serve", serveUsage, "addr", "admin-addr", "data", "database", "replica", "tokens", "tokens-file", "tls-cert", "tls-key", "tls-client-ca")
	withDemo := cmd.Bool("demo", false, "import the demo history into an empty store, train it, and print example requests")
	cmd.DurationVar(&cmd.SearchEvery, "search-every", cmd.SearchEvery, "interval of the background search for better parameters of a heavy task, at low priority; 0 for none")
	cmd.Envs["search-every"] = "LOADAWARE_SEARCH_EVERY"
	cmd.BoolVar(&cmd.Background, "background-training", cmd.Background, "train tasks that have new reports, and learn cohorts, usage profiles and so on in the background; without it, only /train and --demo train")
	cmd.Envs["background-training"] = "LOADAWARE_BACKGROUND_TRAINING"
	cmd.BoolVar(&cmd.Similar, "similar-tasks", cmd.Similar, "size a task without history by the other tasks of its namespace; without it, such a task gets its static request")
	cmd.Envs["similar-tasks"] = "LOADAWARE_SIMILAR_TASKS"
	cmd.Var(&cmd.MinMemory, "min-memory", "minimum memory that a model grants, as a `quantity`; a task's floor replaces it; a lower cap, or a lower static request that no run has exceeded, overrides it; 0 for none")
	cmd.Envs["min-memory"] = "LOADAWARE_MIN_MEMORY"
	cmd.Var(&cmd.ModelMemory, "model-memory", "memory for decoded models, as a `quantity`; the least recently used models are evicted, and decoded again when needed; by default a quarter of the container's memory limit, or 1Gi if it has none; 0 for no bound")
	cmd.Envs["model-memory"] = "LOADAWARE_MODEL_MEMORY"
	cmd.DescribeVariables(cli.MaxConnectionsVariable, cli.TraceVariable)
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return cli.UsageErrorf("serve takes no arguments, but was given %q; see loadaware serve --help", rest)
	}
	if err := cmd.CheckDurations(); err != nil {
		return err
	}
	server := app.Server{Config: &cmd.Config, Version: currentVersion(), Demo: *withDemo, PrintExamples: cli.IsTerminal(con.Out), Out: con.Out, Err: con.Err}
	return server.Run(ctx)
}
