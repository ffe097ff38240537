package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/httpserver"
	"github.com/loadaware/loadaware/internal/pglocal"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/tracing"
	"github.com/loadaware/loadaware/internal/trainer/subprocess"
)

const serveUsage = `[flags]

Serves HTTP until SIGINT or SIGTERM. Then it accepts no new requests, finishes those in
flight within 10 seconds, and stores queued receipts. After SIGTERM it first drains for 3
seconds: /readyz returns 503, and all other requests are answered. A second signal stops
it at once, which loses nothing that was acknowledged.`

// shareProcessors uses two threads on a single CPU, so that the operating system divides it
// between requests and training. On one thread Go runs each for 10 ms at a time.
func shareProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	}
}

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
	server, err := cmd.listen(ctx, len(tokens) > 0, log)
	if err != nil {
		return err
	}
	defer server.Close()
	st, stop, err := openStore(ctx, &cmd.config, server.Addr(), log)
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped during the start-up
		}
		return err
	}
	defer stop() // after the outbox is stored
	if first != nil {
		if err := first.store(con.out); err != nil {
			return err
		}
	}
	metrics := httpapi.NewMetrics()
	metrics.SetBuildInfo(cmp.Or(buildVersion, "unknown"))
	trainer := subprocess.New(cmd.trainerCommand(con), metrics.CountTraining, log)
	metrics.AddTrainerProcess(trainer.PID)
	svc := service.New(st, trainer, service.Config{MinMemory: sizing.Bytes(cmd.MinMemory)}, log)
	reconciler, err := cmd.reconciler(st, svc, metrics, log)
	if err != nil {
		return err
	}
	retention, err := cmd.retentionWorker(st, metrics, log)
	if err != nil {
		return err
	}
	// Without tokens only this machine can connect; listen has checked it.
	access := auth.Config{Tokens: tokens, Disabled: len(tokens) == 0, CheckOrigin: len(tokens) == 0}
	api := httpapi.New(svc, httpapi.Config{Auth: access, Metrics: metrics, Log: log, Tracer: tracer})
	start := startup{con: con, cfg: &cmd.config, server: server, demo: *withDemo, store: st, service: svc, log: log}
	return server.Serve(ctx, httpserver.App{
		Main: api, Admin: httpapi.NewAdmin(metrics, access),
		Background:  runAll(svc.Run, reconciler.Run, retention.Run),
		OnListening: start.run,
	})
}

// listen opens the listeners. If the address is in use, it names the server that uses it.
func (c *config) listen(ctx context.Context, hasTokens bool, log *slog.Logger) (*httpserver.Server, error) {
	server, err := httpserver.Listen(httpserver.Config{
		Addr: c.Addr, AdminAddr: c.AdminAddr, AdminOptional: c.AdminAddr == defaults().AdminAddr,
		MaxConns: c.MaxConns, HasTokens: hasTokens, TLSCert: c.TLSCert, TLSKey: c.TLSKey, TLSClientCA: c.TLSClientCA,
	}, log)
	if errors.Is(err, httpserver.ErrAddressInUse) {
		return nil, c.addressInUse(ctx, log)
	}
	return server, err
}

// addressInUse returns the error of an address in use. Usually another loadaware uses it,
// and the data folder has its address.
func (c *config) addressInUse(ctx context.Context, log *slog.Logger) error {
	if c.DatabaseURL == "" && exists(c.Data) {
		_, stop, err := findDatabase(ctx, c, "", log)
		var inUse *pglocal.InUseError
		if errors.As(err, &inUse) {
			return inUse
		}
		if err == nil {
			stop()
		}
	}
	return fmt.Errorf("another program serves on %s: stop it, or choose another --addr", c.Addr)
}

// trace starts tracing if it is configured, and traces database statements too. The tracer
// is nil without tracing. end sends the last spans and waits at most 5 seconds.
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
