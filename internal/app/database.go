// Package app runs the processes of the service: the server with its background workers,
// and the trainer. It also opens the database for other commands.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/config"
	"github.com/loadaware/loadaware/internal/pglocal"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/migrations"
)

// FindDatabase returns the DSN of the configured database, or starts a private one in cfg.Data, which `stop` stops.
// `serverAddr` is the address of the calling server, and empty for other commands. Another process that finds cfg.Data in
// use gets this address in pglocal.InUseError.
func FindDatabase(ctx context.Context, cfg *config.Config, serverAddr string, log *slog.Logger) (dsn string, stop func(), err error) {
	if cfg.DatabaseURL != "" {
		if _, err := pgx.ParseConfig(cfg.DatabaseURL); err != nil {
			return "", nil, config.Errorf("DATABASE_URL is malformed; write postgres://user:password@host:5432/database: %v", err)
		}
		return cfg.DatabaseURL, func() {}, nil
	}
	private, err := pglocal.Start(ctx, pglocal.Config{DataDir: cfg.Data, Log: log, Addr: serverAddr})
	if inUse := (*pglocal.InUseError)(nil); errors.As(err, &inUse) {
		return "", nil, inUse // without the errors that wrap it: the message of inUse is complete
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

// OpenStore migrates the tables of the database and opens the store. `stop` also stops a private database.
func OpenStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (st *postgres.Store, stop func(), err error) {
	st, _, stop, err = openStore(ctx, cfg, "", nil, log)
	return st, stop, err
}

// openStore implements OpenStore. It also returns the DSN of the database. `tracer` may be nil. See FindDatabase for
// `serverAddr`.
func openStore(ctx context.Context, cfg *config.Config, serverAddr string, tracer pgx.QueryTracer, log *slog.Logger) (st *postgres.Store, dsn string, stop func(), err error) {
	dsn, stopDatabase, err := FindDatabase(ctx, cfg, serverAddr, log)
	if err != nil {
		return nil, "", nil, err
	}
	if err := RunMigration(func() error { return migrations.Up(ctx, dsn) }); err != nil {
		stopDatabase()
		return nil, "", nil, fmt.Errorf("migrate the tables: %w", err)
	}
	st, err = postgres.Open(ctx, dsn, postgres.Config{Log: log, Tracer: tracer})
	if err != nil {
		stopDatabase()
		return nil, "", nil, err
	}
	return st, dsn, func() {
		st.Close()
		stopDatabase()
	}, nil
}

// withReplica returns a store that reads from the standby of cfg.ReplicaURL, and a function that watches the standby until
// its context ends and then closes the connections. Without a standby it returns st and a function that does nothing.
func withReplica(ctx context.Context, cfg *config.Config, st *postgres.Store, tracer pgx.QueryTracer, log *slog.Logger) (store.Store, func(context.Context), error) {
	if cfg.ReplicaURL == "" {
		return st, func(context.Context) {}, nil
	}
	replicated, err := postgres.OpenReplicated(ctx, st, cfg.ReplicaURL, postgres.Config{Log: log, Tracer: tracer})
	if err != nil {
		return nil, nil, err
	}
	return replicated, func(ctx context.Context) {
		replicated.Watch(ctx)
		replicated.CloseReplica()
	}, nil
}

// migrationGrace is how long an interruption waits for the rollback of a migration. If the
// process ended earlier, the migration would stay marked as incomplete.
const migrationGrace = 10 * time.Second

var runningMigrations sync.WaitGroup

// RunMigration runs a migration, for which AwaitMigrations waits.
func RunMigration(migrate func() error) error {
	runningMigrations.Add(1)
	defer runningMigrations.Done()
	return migrate()
}

// AwaitMigrations waits until no migration runs, at most migrationGrace.
func AwaitMigrations() {
	ended := make(chan struct{})
	go func() { runningMigrations.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(migrationGrace):
	}
}
