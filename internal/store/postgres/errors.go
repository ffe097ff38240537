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

// This file maps the SQLSTATE of an error to a sizing.Kind and advice. Package httpapi maps the kind to
// an HTTP status. The cause is logged but not sent to callers, because it may contain host and user
// names.

// advice maps an SQLSTATE, or its class of two characters, to a kind and a remedy. See
// https://www.postgresql.org/docs/15/errcodes-appendix.html.
var advice = map[string]struct {
	kind sizing.Kind
	text string
}{
	"08":    {sizing.Unavailable, "the connection to the database broke; try again"},
	"22":    {sizing.Invalid, "a value cannot be stored; send numbers within their limits, and text as UTF-8 without NUL"},
	"25006": {sizing.Unavailable, "the database is read-only, perhaps a standby; point DATABASE_URL at the primary, or try again"},
	"28":    {sizing.Unavailable, "the database refused the user or password; check DATABASE_URL"},
	"3D000": {sizing.Unavailable, "the database does not exist; create it, or check DATABASE_URL"},
	"40":    {sizing.Unavailable, "too many concurrent writes to the same rows; try again"},
	"42501": {sizing.Unavailable, "the database user lacks a privilege; grant it access to the tables of loadaware"},
	"26000": {sizing.Unavailable, transactionPooling},
	"42P05": {sizing.Unavailable, transactionPooling},
	"42703": {sizing.Unavailable, "the tables of the database are older than this program; run `loadaware migrate up`"},
	"42P01": {sizing.Unavailable, "the database lacks a table; run `loadaware migrate up`"},
	"53":    {sizing.Unavailable, "the database lacks disk space, memory or connections; free some and try again"},
	"53100": {sizing.Unavailable, "the disk of the database is full; free space and try again"},
	"53300": {sizing.Unavailable, "the database has no free connection; raise max_connections of the database or reduce the connections of loadaware, and try again"},
	"54":    {sizing.Invalid, "a value is too long to be stored; shorten it"},
	"55P03": {sizing.Unavailable, "a lock was not acquired in time; try again"},
	"57":    {sizing.Unavailable, "the database is starting, shutting down, or cancelled the statement; try again"},
	"58":    {sizing.Unavailable, "the machine of the database failed to read or write; check the log of the database"},
	"XX001": {sizing.Unavailable, "the database found corrupt data; check the log of the database"},
	"XX002": {sizing.Unavailable, "the database found corrupt data; check the log of the database"},
}

// transactionPooling is the advice when a prepared statement is unknown or exists twice.
const transactionPooling = "a connection pooler runs each transaction in another session; set pool_mode of PgBouncer to session, or connect to PostgreSQL directly"

// wrapError returns err unchanged if err is nil or wraps a *sizing.Error already.
func wrapError(operation string, err error) error {
	var known *sizing.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	cause := fmt.Errorf("%s: %w", operation, err)
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		for _, length := range []int{5, 2} {
			if a, ok := advice[pg.Code[:min(length, len(pg.Code))]]; ok {
				return &sizing.Error{Kind: a.kind, Detail: a.text, Cause: cause}
			}
		}
		return &sizing.Error{Kind: sizing.Internal, Detail: "the database rejected a statement", Cause: cause}
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &sizing.Error{Kind: sizing.Unavailable, Detail: "the database did not answer in time; try again", Cause: cause}
	case isConnectionError(err):
		return &sizing.Error{Kind: sizing.Unavailable, Detail: "the database cannot be reached; check that it runs and that DATABASE_URL is correct, and try again", Cause: cause}
	}
	return &sizing.Error{Kind: sizing.Internal, Detail: "the store failed", Cause: cause}
}

func isConnectionError(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.Is(err, puddle.ErrClosedPool) || pgconn.SafeToRetry(err)
}

// isRetryable reports whether err is a serialization failure or a deadlock.
func isRetryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}

func orNotFound(operation string, err error, format string, args ...any) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return sizing.Errorf(sizing.NotFound, format, args...)
	}
	return wrapError(operation, err)
}

func unknownTask(task sizing.TaskKey) error {
	return sizing.Errorf(sizing.NotFound, "the task %s is unknown: check its ids, or report a run of it first", task)
}
