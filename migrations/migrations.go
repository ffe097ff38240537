// Package migrations embeds the schema of the database as numbered steps and applies them with
// golang-migrate. It knows nothing of the meaning of the tables.
//
// Each step is one transaction, because the driver sends a file as one query of several statements.
// Steps run under an advisory lock, so that replicas may start concurrently.
package migrations

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	driver "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

//go:embed *.sql
var steps embed.FS

// Fingerprint returns a hash of the content of all steps, comments included. Tests find a migrated template database by it.
func Fingerprint() string {
	hash := sha256.New()
	names, _ := steps.ReadDir(".") // an embed.FS returns no error
	for _, step := range names {
		content, _ := steps.ReadFile(step.Name())
		fmt.Fprintf(hash, "%s %d\n%s", step.Name(), len(content), content)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// lockTimeout bounds the wait for the migration of another replica, and for sessions that use a table that a step changes.
// In Up it is the time in which applySteps retries; in Down and Status it is the longest wait for one lock.
const lockTimeout = time.Minute

// A step that waits for a table lock blocks all later statements on the table, including reports. Therefore a step of Up
// waits at most maxLockWait, unless it sets another limit. Then the step fails, and applySteps retries it after lockPause.
// maxLockWait is longer than deadlock_timeout (1 s), after which PostgreSQL cancels a blocking autovacuum.
const (
	maxLockWait = 1200 * time.Millisecond
	lockPause   = time.Second
)

const lockKey = 0x6c6f6164_61776172 // "loadawar"

// Up applies all missing steps. Its errors say what to do if the database does not answer, is locked for too long, is dirty,
// or rejects a step. If ctx ends, the current step is rolled back, and the error wraps that of ctx.
// Up does not change a database that a newer version has migrated further. Steps keep the tables and columns that the
// previous version uses, so replicas of both versions may run at the same time.
func Up(ctx context.Context, dsn string) error {
	newest, err := newestStep()
	if err != nil {
		return err
	}
	return run(ctx, dsn, maxLockWait, stepBefore, func(m *migrate.Migrate, db *sql.DB) error {
		lock, err := acquireLock(ctx, db)
		if err != nil {
			return err
		}
		defer lock.Close()
		if version, dirty, err := m.Version(); err == nil && !dirty && version > newest {
			return nil
		}
		if err := applySteps(ctx, m); err != nil {
			return err
		}
		if version, _, _ := m.Version(); version < newest {
			return ctx.Err() // ctx ended between two steps
		}
		return nil
	})
}

// acquireLock acquires the advisory lock of migrations. The session of the connection holds the lock until the function run
// closes `db`: closing the connection only returns its session to the pool of db.
func acquireLock(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	lock, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	_, err = lock.ExecContext(ctx, fmt.Sprintf("SET lock_timeout = %d", lockTimeout.Milliseconds()))
	if err == nil {
		_, err = lock.ExecContext(ctx, "SELECT pg_advisory_lock($1)", int64(lockKey))
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// applySteps applies the missing steps, and retries while other sessions hold a lock that a step needs.
// A step that did not get its lock has changed nothing.
func applySteps(ctx context.Context, m *migrate.Migrate) error {
	for until := time.Now().Add(lockTimeout); ; {
		err := m.Up()
		if err == nil || !lockTimedOut(err) {
			return err
		}
		failed := clearDirtyMark(m, err, stepBefore)
		if failed != nil || time.Now().After(until) {
			return errors.Join(err, failed)
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// clearDirtyMark removes the dirty mark of an unfinished step, so that the database needs no manual repair. The
// type of err says what happened:
//   - database.Error: the step failed, and its rollback left the version that versionAfterFailure returns.
//   - *database.Error of a statement that is not a SELECT: the statement failed that sets the dirty mark before the
//     step, or the one that removes the mark after the step. If the database has a dirty mark, the step was applied.
//   - Another error, for example if a lock was not acquired: the dirty mark belongs to another replica
//     or to an earlier call, and stays.
func clearDirtyMark(m *migrate.Migrate, err error, versionAfterFailure func(version int) int) error {
	var step database.Error
	var query *database.Error
	isStep := errors.As(err, &step)
	if !isStep && (!errors.As(err, &query) || strings.HasPrefix(string(query.Query), "SELECT")) {
		return nil
	}
	version, dirty, failed := m.Version()
	current := int(version)
	if errors.Is(failed, migrate.ErrNilVersion) { // no step was applied, or the dirty mark is that of the revert of the first step
		current, dirty, failed = database.NilVersion, true, nil
	}
	if failed != nil || !dirty {
		return failed
	}
	if isStep {
		current = versionAfterFailure(current)
	}
	return m.Force(current)
}

// lockTimedOut detects SQLSTATE 55P03.
func lockTimedOut(err error) bool { return strings.Contains(err.Error(), "lock timeout") }

// wasRejected reports whether PostgreSQL answered a step with an error, and so rolled the step back. After a lost connection
// or a FATAL error it is not known whether the step was committed.
func wasRejected(err error) bool {
	var step database.Error
	var answer *pgconn.PgError
	return errors.As(err, &step) && errors.As(step.OrigErr, &answer) && answer.SeverityUnlocalized == "ERROR"
}

// stepBefore returns the newest step before `version`, or database.NilVersion if there is none.
func stepBefore(version int) int {
	last := database.NilVersion
	for _, n := range stepNumbers() {
		if n < version {
			last = n
		}
	}
	return last
}

// stepAfter returns the first step after `version`, or `version` if there is none.
func stepAfter(version int) int {
	for _, n := range stepNumbers() {
		if n > version {
			return n
		}
	}
	return version
}

func stepNumbers() []int {
	names, _ := fs.Glob(steps, "*.up.sql") // the pattern is valid; Glob sorts
	list := make([]int, 0, len(names))
	for _, name := range names {
		number, _, _ := strings.Cut(name, "_")
		if n, err := strconv.Atoi(number); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// Down reverts the newest n steps, and deletes the data that the schema before them cannot store. If fewer
// than n steps are applied, it reverts all of them. It returns an error if this program does not know the
// step of the database. If ctx ends before all steps are reverted, the returned error wraps that of ctx.
func Down(ctx context.Context, dsn string, n int) error {
	if n < 1 {
		return fmt.Errorf("revert migrations: the number of steps must be 1 or more, not %d", n)
	}
	current, _, _, err := Status(ctx, dsn)
	if err != nil {
		return err
	}
	if current > 0 && !slices.Contains(stepNumbers(), int(current)) {
		return fmt.Errorf("revert migrations: step %d of the database is unknown; use the version of loadaware that applied it", current)
	}
	return run(ctx, dsn, lockTimeout, stepAfter, func(m *migrate.Migrate, _ *sql.DB) error {
		err := m.Steps(-n)
		if short := (migrate.ErrShortLimit{}); errors.As(err, &short) || errors.Is(err, fs.ErrNotExist) {
			return nil // fewer than n steps, or none, were applied
		}
		if err != nil {
			return err
		}
		version, _, err := m.Version()
		if errors.Is(err, migrate.ErrNilVersion) { // no step remains
			return nil
		}
		if err == nil && version > Target(current, n) {
			return ctx.Err() // ctx ended between two steps
		}
		return err // the end of ctx also cancels the query of the version
	})
}

// Status returns the current step of the database (0: none), whether that step is unfinished, and
// the newest known step.
func Status(ctx context.Context, dsn string) (version uint, dirty bool, newest uint, err error) {
	if newest, err = newestStep(); err != nil {
		return 0, false, 0, err
	}
	err = run(ctx, dsn, lockTimeout, stepBefore, func(m *migrate.Migrate, db *sql.DB) error {
		var err error
		version, dirty, err = m.Version()
		if errors.Is(err, migrate.ErrNilVersion) { // no step is applied, or an unfinished revert of the first step left its dirty mark
			return db.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM schema_migrations WHERE dirty)").Scan(&dirty)
		}
		return err
	})
	return version, dirty, newest, err
}

// Target returns the step at which a database is after Down has reverted `n` steps from the step `current`; 0: none.
func Target(current uint, n int) uint {
	version := int(current)
	for ; n > 0 && version > 0; n-- {
		version = max(0, stepBefore(version))
	}
	return uint(version)
}

// Missing returns the number of steps that Up applies to a database at the step `current`. The numbers of steps have gaps.
func Missing(current uint) (n int) {
	for _, step := range stepNumbers() {
		if step > int(current) {
			n++
		}
	}
	return n
}

// Newest returns the number of the newest step of this program.
func Newest() (uint, error) { return newestStep() }

// run opens the database and calls `do`. A statement waits for a lock at most for the time `wait`, unless `do` or a step
// sets another limit. The end of ctx cancels the current statement. versionAfterFailure returns the version of the database
// after a step to the given version failed.
func run(ctx context.Context, dsn string, wait time.Duration, versionAfterFailure func(version int) int, do func(*migrate.Migrate, *sql.DB) error) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("DATABASE_URL is malformed; write postgres://user:password@host:5432/database: %w", err)
	}
	var opened sessions
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		opened.add(conn)
		_, err := conn.Exec(ctx, fmt.Sprintf("SET lock_timeout = %d", wait.Milliseconds()))
		return err
	}))
	defer db.Close()
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("the database does not answer; check that it runs and that DATABASE_URL is correct: %w", err)
	}
	source, err := iofs.New(steps, ".")
	if err != nil {
		return fmt.Errorf("read the embedded migrations: %w", err)
	}
	target, err := driver.WithInstance(db, &driver.Config{})
	if err != nil {
		return advise(err)
	}
	m, err := migrate.NewWithInstance("iofs", source, "postgres", target)
	if err != nil {
		return advise(err)
	}
	defer m.Close()
	err = opened.cancelAfter(ctx, func() { m.GracefulStop <- true }, func() error { return do(m, db) })
	if err != nil && (ctx.Err() != nil || lockTimedOut(err) || wasRejected(err)) {
		if failed := clearDirtyMark(m, err, versionAfterFailure); failed != nil {
			return advise(errors.Join(err, failed))
		}
		if ctx.Err() != nil {
			version, _, _ := m.Version() // 0 if no step is applied
			return fmt.Errorf("the migration was stopped at step %d: %w", version, ctx.Err())
		}
	}
	return advise(err)
}

// advise adds advice to an error. It returns nil if err is nil or says that no step is missing.
func advise(err error) error {
	var dirty migrate.ErrDirty
	switch {
	case err == nil, errors.Is(err, migrate.ErrNoChange):
		return nil
	case errors.As(err, &dirty):
		return fmt.Errorf("migration %d is unfinished; a step is applied or reverted completely or not at all: %s; then start again: %w",
			max(dirty.Version, 1), repair(dirty.Version), err)
	case strings.Contains(err.Error(), "prepared statement"):
		return fmt.Errorf("a connection pooler runs each transaction in another session; set pool_mode of PgBouncer to session, or connect to PostgreSQL directly: %w", err)
	case errors.Is(err, migrate.ErrLockTimeout), errors.Is(err, migrate.ErrLocked), lockTimedOut(err):
		return fmt.Errorf("another migration or a long transaction locks the database; wait for its end and try again: %w", err)
	case wasRejected(err):
		return fmt.Errorf("the migration failed and was rolled back; fix the cause and start again: %w", err)
	}
	return fmt.Errorf("the migration failed; fix the cause and start again: %w", err)
}

// repair says how to remove the dirty mark of the step `version`. Both this step and the revert of the next step set this
// mark, and a crash may happen before or after their commit, so a person must check which objects exist.
func repair(version int) string {
	var checks strings.Builder
	if next := stepAfter(version); next > version {
		fmt.Fprintf(&checks, "if the objects of migrations/%04d_*.up.sql exist, run UPDATE schema_migrations SET version = %d, dirty = false; if not, ", next, next)
	}
	if version > 0 {
		fmt.Fprintf(&checks, "if the objects of migrations/%04d_*.up.sql exist, run UPDATE schema_migrations SET dirty = false; if not, ", version)
	}
	return checks.String() + "run " + rewind(version)
}

// rewind returns the statement that makes the step before `version` the current one, without a dirty mark.
func rewind(version int) string {
	if version <= 1 {
		return "DELETE FROM schema_migrations"
	}
	return fmt.Sprintf("UPDATE schema_migrations SET version = %d, dirty = false", stepBefore(version))
}

func newestStep() (uint, error) {
	names, err := fs.Glob(steps, "*.up.sql")
	if err != nil || len(names) == 0 {
		return 0, errors.Join(errors.New("list the embedded migrations: none found; build the program again"), err)
	}
	number, _, _ := strings.Cut(names[len(names)-1], "_") // Glob sorts
	n, err := strconv.ParseUint(number, 10, 32)
	return uint(n), err
}
