package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/loadaware/loadaware/internal/sizing"
)

// An error travels so: the database's SQLSTATE → a sizing.Kind with a text that
// says what to do (here) → a status code (at the edge). The cause stays inside,
// for logs: it may name hosts and users.

// advice is what to do about an SQLSTATE, by its longest known prefix. See
// https://www.postgresql.org/docs/15/errcodes-appendix.html.
var advice = map[string]struct {
	kind sizing.Kind
	text string
}{
	"08":    {sizing.Unavailable, "the connection to the database broke: try again"},
	"22":    {sizing.Invalid, "a value cannot be stored: send numbers within their limits, and text as UTF-8 without NUL"},
	"25006": {sizing.Unavailable, "the database takes no writes now (read-only, perhaps a standby): point DATABASE_URL at the primary, or try again"},
	"28":    {sizing.Unavailable, "the database refused the user or password: check DATABASE_URL"},
	"3D000": {sizing.Unavailable, "the database does not exist: create it, or check DATABASE_URL"},
	"40":    {sizing.Unavailable, "too many writers met on the same rows: try again"},
	"42501": {sizing.Unavailable, "the database user lacks a privilege: grant it the tables of loadaware"},
	"26000": {sizing.Unavailable, perTransaction},
	"42P05": {sizing.Unavailable, perTransaction},
	"42703": {sizing.Unavailable, "the database's tables are older than this program: run `loadaware migrate up`"},
	"42P01": {sizing.Unavailable, "the database lacks the tables: run `loadaware migrate up`"},
	"53":    {sizing.Unavailable, "the database is short of resources (disk, memory or connections): free some and try again"},
	"53100": {sizing.Unavailable, "the database's disk is full: free space and try again"},
	"53300": {sizing.Unavailable, "the database has no connection to spare: raise its max_connections or lower ours, and try again"},
	"54":    {sizing.Invalid, "a value is too long to be stored: shorten it"},
	"55P03": {sizing.Unavailable, "the database is locked for too long: try again"},
	"57":    {sizing.Unavailable, "the database is shutting down, starting up or gave up the statement: try again"},
	"58":    {sizing.Unavailable, "the database's machine failed to read or write: look at the database's log"},
	"XX001": {sizing.Unavailable, "the database found damaged data: look at the database's log"},
	"XX002": {sizing.Unavailable, "the database found damaged data: look at the database's log"},
}

const perTransaction = "each transaction is given another session: set the pool_mode of PgBouncer to session, or connect past it"

// explain gives err a kind and says what was being done. Nil stays nil, and what
// has a kind keeps it.
func explain(doing string, err error) error {
	var known *sizing.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	cause := fmt.Errorf("%s: %w", doing, err)
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		for _, n := range []int{5, 2} {
			if a, ok := advice[pg.Code[:min(n, len(pg.Code))]]; ok {
				return &sizing.Error{Kind: a.kind, Detail: a.text, Cause: cause}
			}
		}
		return &sizing.Error{Kind: sizing.Internal, Detail: "the database refused a statement", Cause: cause}
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &sizing.Error{Kind: sizing.Unavailable, Detail: "the database did not answer in time: try again", Cause: cause}
	case noConnection(err):
		return &sizing.Error{Kind: sizing.Unavailable, Detail: "the database cannot be reached: check that it runs and that DATABASE_URL names it, and try again", Cause: cause}
	}
	return &sizing.Error{Kind: sizing.Internal, Detail: "the store failed", Cause: cause}
}

// noConnection recognises what pgx returns when there is nobody to talk to.
func noConnection(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, puddle.ErrClosedPool) || pgconn.SafeToRetry(err)
}

// lostRace reports a transaction that was rolled back for the sake of another:
// a serialization failure or a deadlock.
func lostRace(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}

// found turns "no rows" into NotFound.
func found(doing string, err error, format string, args ...any) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return sizing.Errorf(sizing.NotFound, format, args...)
	}
	return explain(doing, err)
}

func unknownTask(task sizing.TaskKey) error {
	return sizing.Errorf(sizing.NotFound, "nothing is known of the task %s: check its ids, or report a run of it first", task)
}
