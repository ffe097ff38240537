// Package postgres keeps what package store promises, in PostgreSQL 15 or newer.
//
// It knows SQL and the words of sizing. It knows nothing of learning: a model is
// bytes to it. Tables are made by package migrations, whose comments say what
// each column means. SQL stands beside the one method that sends it.
//
// Whoever writes observations of a task first locks the task's row in tally:
//
//	Record  ── share lock on task ── lock tally ── insert ── count, mark due ────────── commit
//	again   ── share lock on task ── lock tally ── insert, compare ── count, mark due ── commit
//	Void    ── share lock on task ── lock tally ── delete ─────────── count, mark due ── commit
//	Claim   ── lock lease, skipping those locked ── take due_at from tally ─────────── commit
//
// so that seq is the order of commit within a task (Since misses nothing), and
// writers wait for each other instead of deadlocking. Batches lock in order of
// task id. Rename and delete wait for the share locks.
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

// Config has a usable zero value.
type Config struct {
	MaxConns int32           // connections at most; 16 if zero
	Debounce time.Duration   // from news of a task to its being due; 2 s if zero
	Log      *slog.Logger    // nothing is logged if nil
	Tracer   pgx.QueryTracer // is told of every statement; nobody if nil
}

func (c Config) withDefaults() Config {
	c.MaxConns = cmp.Or(c.MaxConns, 16)
	c.Debounce = cmp.Or(c.Debounce, 2*time.Second)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// silence is how long the database may take for a sign of life.
const silence = 2 * time.Second

// Store is a store.Store in PostgreSQL.
type Store struct {
	pool    *pgxpool.Pool
	cfg     Config
	schemas schemas
	commits groupCommit
}

var _ store.Store = (*Store)(nil)

// Open prepares a Store; it neither migrates nor waits for the database, which
// may come up later: ask Ping. Invalid if the dsn cannot be read.
func Open(ctx context.Context, dsn string, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, sizing.Errorf(sizing.Invalid, "DATABASE_URL is not understood: write postgres://user:password@host:5432/database: %w", err)
	}
	config.MaxConns = cfg.MaxConns
	// A network that was cut says nothing: a connection that is silent for so long is
	// given up, so that what follows the cut meets a new one.
	config.PingTimeout = silence
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = silence
	}
	config.ConnConfig.Tracer = cfg.Tracer
	config.AfterConnect = settle
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "loadaware"
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, explain("open the database", err)
	}
	s := &Store{pool: pool, cfg: cfg}
	s.commits.start(s.write)
	return s, nil
}

// settle sets up a session: compiling costs more than any of these statements takes, and
// one that is a transaction of its own says nothing of its isolation. Said when the
// connection is opened, it would be refused by PgBouncer.
func settle(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	_, err := conn.Exec(ctx, `SET jit = off; SET default_transaction_isolation = 'read committed'`)
	return err
}

// Close ends the background work once what was queued is committed, and then the
// connections. Calls that come later fail as Unavailable; a second Close does nothing.
func (s *Store) Close() {
	s.commits.stop()
	s.pool.Close()
}

// Ping asks the database for a sign of life.
func (s *Store) Ping(ctx context.Context) error {
	return explain("ping the database", s.pool.Ping(ctx))
}

// attempts bounds how often a transaction is repeated that lost against another.
const attempts = 5

var (
	readWrite = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}
	snapshot  = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
)

// inTx runs do in a transaction and commits it. It starts again, from nothing,
// when the database has rolled it back in favour of another.
func (s *Store) inTx(ctx context.Context, doing string, options pgx.TxOptions, do func(pgx.Tx) error) error {
	return s.repeated(ctx, doing, func() error { return pgx.BeginTxFunc(ctx, s.pool, options, do) })
}

// repeated runs a transaction again that the database has rolled back in favour of
// another.
func (s *Store) repeated(ctx context.Context, doing string, transaction func() error) error {
	for attempt := 1; ; attempt++ {
		err := transaction()
		if !lostRace(err) || attempt == attempts {
			return explain(doing, err)
		}
		s.cfg.Log.WarnContext(ctx, "transaction repeated", "doing", doing, "attempt", attempt, "err", err)
		if err := pause(ctx, time.Duration(attempt)*10*time.Millisecond); err != nil {
			return explain(doing, err)
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
