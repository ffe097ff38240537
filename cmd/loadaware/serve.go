package main

import (
	"context"
	"time"

	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/trainer"
)

const serveUsage = `[flags]

Answers over HTTP until SIGINT or SIGTERM; then it takes no new requests, ends
those under way within 10 seconds, and stores what is queued. SIGTERM leaves those
who send requests 3 seconds to learn of it: /readyz says 503, all else is answered.
A second signal ends it at once; nothing that was acknowledged is lost by that either.`

// drainFor is how long requests under way may take once the end was asked for.
const drainFor = 10 * time.Second

func serve(ctx context.Context, con console, args []string) error {
	cmd := newCommand("serve", serveUsage, "addr", "admin-addr", "data", "database", "tokens", "tls-cert", "tls-key", "tls-client-ca")
	withDemo := cmd.Bool("demo", false, "fill an empty store with the demo history, train it, and say what to try")
	cmd.DurationVar(&cmd.SearchEvery, "search-every", cmd.SearchEvery, "between searches for better parameters of a heavy task, at low priority; 0 for none")
	cmd.envs["search-every"] = "LOADAWARE_SEARCH_EVERY"
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usageErrorf("serve takes no arguments, but was given %q", rest)
	}
	tokens, err := parseTokens(cmd.Tokens)
	if err != nil {
		return usageErrorf("%v", err)
	}
	log := cmd.logger(con)
	doors, err := openDoors(ctx, &cmd.config, len(tokens) > 0, log)
	if err != nil {
		return err
	}
	defer doors.close()
	st, stop, err := openStore(ctx, &cmd.config, doors.main.Addr().String(), log)
	if err != nil {
		if ctx.Err() != nil {
			return nil // asked to end before it began
		}
		return err
	}
	defer stop() // last: what is queued is stored first
	metrics := httpapi.NewMetrics()
	metrics.Build(buildVersion)
	svc := service.New(st, trainer.New(st, trainer.Config{SearchEvery: cmd.SearchEvery, Ended: metrics.Trained}, log), service.Config{}, log)
	// openDoors has seen to it that without tokens only this machine can connect.
	auth := httpapi.Auth{Tokens: tokens, Off: len(tokens) == 0, Wary: len(tokens) == 0}
	api := httpapi.New(svc, httpapi.Config{Auth: auth, Metrics: metrics, Log: log})
	hello := greeting{con: con, cfg: &cmd.config, doors: doors, demo: *withDemo, store: st, service: svc, log: log}
	return doors.serve(ctx, house{main: api, admin: httpapi.Admin(metrics, auth), work: svc.Run, welcome: hello.say}, log)
}
