// Package postgres implements package store in PostgreSQL 15 or newer.
//
// It knows SQL and the types of packages sizing and campaign, but nothing about learning: a model is an
// opaque blob. Package migrations creates the tables; comments there describe the columns. SQL is next
// to the method that sends it; long statements are embedded .sql files.
//
// Each transaction locks the task's row in table tally before it writes observations of the task. The row also has
// due_at, the time from which the task is due for training:
//
//	Record, new try     ── share lock on task ── lock tally ── insert ── count, mark due ────────── commit
//	Record, stored try  ── share lock on task ── lock tally ── insert, compare ── count, mark due ── commit
//	Void                ── share lock on task ── lock tally ── delete ─────────── count, mark due ── commit
//	Claim               ── lock lease, skipping locked rows ── take due_at from tally ──────────── commit
//
// Therefore seq (the number of an observation) ascends in the order of commit within a task, the method
// Since misses no row, and writers wait for each other instead of deadlocking. Batches lock tasks in
// the order of their ids. Rename and DeleteTask wait for the share locks.
package postgres

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// Config configures a Store. The zero value is usable.
type Config struct {
	MaxConns int32 // maximum connections; 16 if zero
	// Debounce is the time from a new, amended or voided observation until its task is due for training; 2 s if zero. An OOM
	// kill, except in a reproduced run, makes its task due at once.
	Debounce time.Duration
	Log      *slog.Logger    // no log if nil
	Tracer   pgx.QueryTracer // traces every statement; none if nil
}

func (c Config) withDefaults() Config {
	c.MaxConns = cmp.Or(c.MaxConns, 16)
	c.Debounce = cmp.Or(c.Debounce, 2*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// pingTimeout bounds the wait for answers that usually take milliseconds: to a ping by the pool or by Changes, to the
// SET of a new session and to a check of the standby. It also bounds a connect, unless the DSN sets connect_timeout.
const pingTimeout = 2 * time.Second

// Store is a store.Store in PostgreSQL.
type Store struct {
	pool     *pgxpool.Pool
	cfg      Config
	schemas  schemaCache
	requests requestCache
	commits  groupCommit

	format       receiptFormat
	vocabularies vocabularies
	usages       campaignUsages
}

var _ store.Store = (*Store)(nil)

// Open returns a Store. It neither migrates nor connects: the database may start later. Use
// Ping to check the connection. Open returns Invalid if the dsn is malformed.
func Open(ctx context.Context, dsn string, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, sizing.Errorf(sizing.Invalid, "DATABASE_URL is malformed; write postgres://user:password@host:5432/database: %w", err)
	}
	config.MaxConns = cfg.MaxConns
	// A broken network causes no error by itself. The pool pings idle connections and
	// replaces connections that do not answer in time.
	config.PingTimeout = pingTimeout
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = pingTimeout
	}
	config.ConnConfig.Tracer = cfg.Tracer
	config.AfterConnect = initSession
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "loadaware"
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, wrapError("open the database", err)
	}
	s := &Store{pool: pool, cfg: cfg}
	s.commits.start(s.write)
	return s, nil
}

// initSession disables JIT, because compiling usually takes longer than the statement, and sets the
// isolation of transactions that do not choose one. PgBouncer rejects both as startup
// parameters, so initSession sends SET.
func initSession(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	_, err := conn.Exec(ctx, `SET jit = off; SET default_transaction_isolation = 'read committed'`)
	return err
}

// Close commits the queued observations and then closes the connections. Later calls fail with
// Unavailable; a second Close does nothing.
func (s *Store) Close() {
	s.commits.stop()
	s.pool.Close()
}

// Ping checks that the database answers.
func (s *Store) Ping(ctx context.Context) error {
	return wrapError("ping the database", s.pool.Ping(ctx))
}

// maxAttempts bounds the attempts of a transaction that fails because of another transaction: by a
// serialization failure, a deadlock, a rename or a deletion.
const maxAttempts = 5

var (
	readWrite = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}
	snapshot  = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
)

// inTx runs `do` in a transaction and commits it. After a serialization failure or a deadlock it runs `do` again in a
// new transaction, at most maxAttempts times in all.
func (s *Store) inTx(ctx context.Context, operation string, options pgx.TxOptions, do func(pgx.Tx) error) error {
	return s.withRetry(ctx, operation, func() error { return pgx.BeginTxFunc(ctx, s.pool, options, do) })
}

// withRetry runs a transaction, and repeats it after the same errors and as often as inTx.
func (s *Store) withRetry(ctx context.Context, operation string, transaction func() error) error {
	for attempt := 1; ; attempt++ {
		err := transaction()
		if !isRetryable(err) || attempt == maxAttempts {
			return wrapError(operation, err)
		}
		s.cfg.Log.WarnContext(ctx, "retrying transaction", "operation", operation, "attempt", attempt, "err", err)
		if err := sleep(ctx, time.Duration(attempt)*10*time.Millisecond); err != nil {
			return wrapError(operation, err)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
