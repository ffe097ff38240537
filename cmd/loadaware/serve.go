package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/tracing"
	"github.com/loadaware/loadaware/internal/trainer/subprocess"
)

const serveUsage = `[flags]

Answers over HTTP until SIGINT or SIGTERM; then it takes no new requests, ends
those under way within 10 seconds, and stores what is queued. SIGTERM leaves those
who send requests 3 seconds to learn of it: /readyz says 503, all else is answered.
A second signal ends it at once; nothing that was acknowledged is lost by that either.`

// drainFor is how long requests under way may take once the end was asked for.
const drainFor = 10 * time.Second

// shareProcessors lets the system divide a single CPU between answers and training:
// on one thread of its own, Go lets each training go on for 10 ms before it answers.
func shareProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	}
}

func serve(ctx context.Context, con console, args []string) error {
	cmd := newCommand("serve", serveUsage, "addr", "admin-addr", "data", "database", "tokens", "tokens-file", "tls-cert", "tls-key", "tls-client-ca")
	withDemo := cmd.Bool("demo", false, "fill an empty store with the demo history, train it, and say what to try")
	cmd.DurationVar(&cmd.SearchEvery, "search-every", cmd.SearchEvery, "between searches for better parameters of a heavy task, at low priority; 0 for none")
	cmd.envs["search-every"] = "LOADAWARE_SEARCH_EVERY"
	cmd.Var(&cmd.MinMemory, "min-memory", "least memory that a model grants, as a `quantity`; a floor of a task's policy replaces it, a cap and a lower request that has held override it; 0 for none")
	cmd.envs["min-memory"] = "LOADAWARE_MIN_MEMORY"
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usageErrorf("serve takes no arguments, but was given %q", rest)
	}
	if err := cmd.checkDurations(); err != nil {
		return err
	}
	shareProcessors()
	defer setGCPace()()
	tokens, first, err := cmd.grants()
	if err != nil {
		return usageErrorf("%v", err)
	}
	log := cmd.logger(con)
	tracer, endTracing, err := cmd.trace(ctx, log)
	if err != nil {
		return err
	}
	defer endTracing()
	doors, err := openDoors(ctx, &cmd.config, len(tokens) > 0, log)
	if err != nil {
		return err
	}
	defer doors.close()
	st, stop, err := openStore(ctx, &cmd.config, doors.addr(), log)
	if err != nil {
		if ctx.Err() != nil {
			return nil // asked to end before it began
		}
		return err
	}
	defer stop() // last: what is queued is stored first
	if first != nil {
		if err := first.store(con.out); err != nil {
			return err
		}
	}
	metrics := httpapi.NewMetrics()
	metrics.Build(cmp.Or(buildVersion, "unknown"))
	learner := subprocess.New(cmd.learner(con), metrics.Trained, log)
	metrics.Learner(learner.PID)
	svc := service.New(st, learner, service.Config{MinMemory: sizing.Bytes(cmd.MinMemory)}, log)
	worker, err := cmd.reconciler(st, svc, metrics, log)
	if err != nil {
		return err
	}
	keeper, err := cmd.keeper(st, metrics, log)
	if err != nil {
		return err
	}
	// openDoors has seen to it that without tokens only this machine can connect.
	auth := httpapi.Auth{Tokens: tokens, Off: len(tokens) == 0, Wary: len(tokens) == 0}
	api := httpapi.New(svc, httpapi.Config{Auth: auth, Metrics: metrics, Log: log, Tracer: tracer})
	hello := greeting{con: con, cfg: &cmd.config, doors: doors, demo: *withDemo, store: st, service: svc, log: log}
	return doors.serve(ctx, house{main: api, admin: httpapi.Admin(metrics, auth), work: together(svc.Run, worker.Run, keeper.Run), welcome: hello.say}, log)
}

// trace begins the tracing that was asked for, statements to the database included; the
// tracer is nil where none was. end sends the last spans; a collector that is away holds
// up nothing for long.
func (c *config) trace(ctx context.Context, log *slog.Logger) (tracer trace.Tracer, end func(), err error) {
	tracer, flush, err := tracing.Start(ctx, tracing.Config{Endpoint: c.TraceTo, Headers: c.TraceAs, Version: buildVersion}, log)
	if err != nil {
		return nil, nil, usageErrorf("%v", err)
	}
	if tracer != nil {
		c.statements = tracing.Queries{Tracer: tracer}
	}
	return tracer, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := flush(ctx); err != nil {
			log.Warn("the last traces are lost", "err", err)
		}
	}, nil
}
