package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/loadaware/loadaware/internal/pglocal"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/migrations"
)

// findDatabase is the DSN of the database that cfg names, or of a private one
// that it starts in cfg.Data, with what ends that. holder is the address that a
// second process is sent to.
func findDatabase(ctx context.Context, cfg *config, holder string, log *slog.Logger) (dsn string, stop func(), err error) {
	if cfg.DatabaseURL != "" {
		return cfg.DatabaseURL, func() {}, nil
	}
	private, err := pglocal.Start(ctx, pglocal.Config{DataDir: cfg.Data, Log: log, Addr: holder})
	if held := (*pglocal.InUseError)(nil); errors.As(err, &held) {
		return "", nil, held // says all there is to say
	}
	if err != nil {
		return "", nil, err
	}
	return private.DSN(), func() {
		if err := private.Stop(); err != nil {
			log.Error("the private PostgreSQL did not stop cleanly; the next start recovers", "err", err)
		}
	}, nil
}

// openStore opens the store of a database with its tables up to date. stop ends
// the store, then the database if it is ours.
func openStore(ctx context.Context, cfg *config, holder string, log *slog.Logger) (st *postgres.Store, stop func(), err error) {
	dsn, stopDatabase, err := findDatabase(ctx, cfg, holder, log)
	if err != nil {
		return nil, nil, err
	}
	if err := applySteps(func() error { return migrations.Up(ctx, dsn) }); err != nil {
		stopDatabase()
		return nil, nil, fmt.Errorf("prepare the tables: %w", err)
	}
	cfg.dsn = dsn
	st, err = postgres.Open(ctx, dsn, postgres.Config{Log: log, Tracer: cfg.statements})
	if err != nil {
		stopDatabase()
		return nil, nil, err
	}
	return st, func() {
		st.Close()
		stopDatabase()
	}, nil
}

// where says, for a person, where the data lie.
func (c *config) where() string {
	if c.DatabaseURL != "" {
		return "the database of DATABASE_URL"
	}
	if dir, err := filepath.Abs(c.Data); err == nil {
		return dir
	}
	return c.Data
}
