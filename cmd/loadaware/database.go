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

// findDatabase returns the DSN of the configured database, or starts a private one in
// cfg.Data. stop stops the private one. holder is the address of this server, which a
// second process that finds the folder in use connects to.
func findDatabase(ctx context.Context, cfg *config, holder string, log *slog.Logger) (dsn string, stop func(), err error) {
	if cfg.DatabaseURL != "" {
		return cfg.DatabaseURL, func() {}, nil
	}
	private, err := pglocal.Start(ctx, pglocal.Config{DataDir: cfg.Data, Log: log, Addr: holder})
	if inUse := (*pglocal.InUseError)(nil); errors.As(err, &inUse) {
		return "", nil, inUse // without the wrapping, its message is complete
	}
	if err != nil {
		return "", nil, err
	}
	return private.DSN(), func() {
		if err := private.Stop(); err != nil {
			log.Error("the private PostgreSQL did not stop cleanly; the next start recovers it", "err", err)
		}
	}, nil
}

// openStore migrates the tables of the database and opens the store. stop closes the
// store, then stops a private database.
func openStore(ctx context.Context, cfg *config, holder string, log *slog.Logger) (st *postgres.Store, stop func(), err error) {
	dsn, stopDatabase, err := findDatabase(ctx, cfg, holder, log)
	if err != nil {
		return nil, nil, err
	}
	if err := runMigration(func() error { return migrations.Up(ctx, dsn) }); err != nil {
		stopDatabase()
		return nil, nil, fmt.Errorf("migrate the tables: %w", err)
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

// location names the place of the data for messages.
func (c *config) location() string {
	if c.DatabaseURL != "" {
		return "the database of DATABASE_URL"
	}
	if dir, err := filepath.Abs(c.Data); err == nil {
		return dir
	}
	return c.Data
}
