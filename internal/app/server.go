package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/loadaware/loadaware/internal/config"
	"github.com/loadaware/loadaware/internal/dashboard"
	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/httpserver"
	"github.com/loadaware/loadaware/internal/insight/savings"
	"github.com/loadaware/loadaware/internal/insight/whatif"
	"github.com/loadaware/loadaware/internal/pglocal"
	"github.com/loadaware/loadaware/internal/service"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trainer/subprocess"
)

// Server configures the server process.
type Server struct {
	*config.Config
	Version       string    // of this build; empty if unknown
	Demo          bool      // import the demo history into an empty store
	PrintExamples bool      // print example requests; a demo always prints them
	Out, Err      io.Writer // Out gets messages for the operator, Err gets the log
}

// Run serves until ctx ends, and returns after the shutdown.
func (s *Server) Run(ctx context.Context) error {
	shareProcessors()
	defer setGCPace()()
	tokens, first, err := s.AccessTokens()
	if err != nil {
		return config.Errorf("%v", err)
	}
	proxy, err := s.UI.Proxy(len(tokens) > 0)
	if err != nil {
		return err
	}
	log := s.Logger(s.Err)
	tracer, endTracing, err := startTracing(ctx, s.Config, s.Version, log)
	if err != nil {
		return err
	}
	defer endTracing()
	server, err := s.listen(ctx, len(tokens) > 0, log)
	if err != nil {
		return err
	}
	defer server.Close()
	st, dsn, stop, err := openStore(ctx, s.Config, server.Addr(), queryTracer(tracer), log)
	if err != nil {
		if ctx.Err() != nil {
			return nil // stopped during the start-up
		}
		return err
	}
	defer stop() // runs after server.Serve has returned, and thus after the outbox is stored
	if first != nil {
		if err := first.Store(s.Out); err != nil {
			return err
		}
	}
	metrics := httpapi.NewMetrics()
	metrics.SetBuildInfo(cmp.Or(s.Version, "unknown"))
	trainer := subprocess.New(trainerCommand(dsn, s.Config, s.Err), metrics.CountTraining, log)
	metrics.AddTrainerProcess(trainer.PID)
	reads, watchReplica, err := withReplica(ctx, s.Config, st, queryTracer(tracer), log)
	if err != nil {
		return err
	}
	svc := service.New(reads, trainer, service.Config{MinMemory: sizing.Bytes(s.MinMemory), ModelMemory: sizing.Bytes(s.ModelMemory), NoCohorts: !s.Similar}, log)
	reconciler, err := newReconciler(s.Config, st, svc, metrics, log)
	if err != nil {
		return err
	}
	retention, err := newRetention(s.Keep, st, metrics, log)
	if err != nil {
		return err
	}
	// Without tokens, listen accepts only addresses that other machines cannot reach.
	access := auth.Config{Tokens: tokens, Disabled: len(tokens) == 0, CheckOrigin: len(tokens) == 0}
	prices := savings.Prices{GBHour: float64(s.PriceGBHour), CoreHour: float64(s.PriceCore), Currency: s.Currency}
	whatIfs := whatif.NewJobs(svc)
	pages := dashboard.New(svc, dashboard.Config{
		Auth: access, Proxy: proxy, Prices: prices, Prefix: string(s.UI.Prefix), FrameAncestors: string(s.UI.FrameAncestors), SessionKey: []byte(s.UI.Key),
		WhatIfs: whatIfs, Log: log,
	})
	api := httpapi.New(svc, httpapi.Config{
		Auth: access, Metrics: metrics, Log: log, Tracer: tracer, Prices: prices, Pages: pages, WhatIfs: whatIfs,
		Version: s.Version,
	})
	start := startup{Server: s, listeners: server, store: st, service: svc, pages: pages, log: log}
	return server.Serve(ctx, httpserver.App{
		Main: api, Admin: httpapi.NewAdmin(metrics, access),
		Background:  runAll(svc.Run, reconciler.Run, retention.Run, pages.Run, watchReplica),
		OnListening: start.run,
	})
}

func (s *Server) listen(ctx context.Context, hasTokens bool, log *slog.Logger) (*httpserver.Server, error) {
	server, err := httpserver.Listen(httpserver.Config{
		Addr: s.Addr, AdminAddr: s.AdminAddr, AdminOptional: s.AdminAddr == config.Defaults().AdminAddr,
		MaxConns: s.MaxConns, HasTokens: hasTokens, TLSCert: s.TLSCert, TLSKey: s.TLSKey, TLSClientCA: s.TLSClientCA,
	}, log)
	if errors.Is(err, httpserver.ErrAddressInUse) {
		return nil, s.addressInUse(ctx, log)
	}
	return server, err
}

// addressInUse returns the error of a server that cannot listen, because another process listens on s.Addr. If another
// process uses the data folder, the error is a *pglocal.InUseError, which has the address of that process if it is a server.
func (s *Server) addressInUse(ctx context.Context, log *slog.Logger) error {
	if s.DatabaseURL == "" && s.HasDatabase() {
		_, stop, err := FindDatabase(ctx, s.Config, "", log)
		var inUse *pglocal.InUseError
		if errors.As(err, &inUse) {
			return inUse
		}
		if err == nil {
			stop()
		}
	}
	return fmt.Errorf("another program serves on %s: stop it, or choose another --addr", s.Addr)
}
