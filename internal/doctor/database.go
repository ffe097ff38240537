package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadaware/loadaware/migrations"
)

// database runs the checks that need a connection to the database. If a query about the version, the
// clock or the connections fails, or the check of the tables reports an error, it skips the later checks.
func (r *Report) database(ctx context.Context, dsn string) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		r.Errorf("database", connectionAdvice(err), "the database cannot be reached: %s", messageWithoutDSN(err))
		return
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, check := range []func(context.Context, *pgx.Conn) error{r.versionAndClock, r.connections} {
		if err := check(ctx, conn); err != nil {
			r.failedQuery(err)
			return
		}
	}
	if !r.tables(ctx, conn) {
		return
	}
	for _, check := range []func(context.Context, *pgx.Conn) error{r.models, r.cohorts, r.untrained, r.unreported, r.receipts} {
		if err := check(ctx, conn); err != nil {
			r.failedQuery(err)
		}
	}
}

func (r *Report) failedQuery(err error) {
	r.Errorf("database", "see the log of the database", "a query failed: %v", err)
}

func connectionAdvice(err error) string {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && strings.HasPrefix(pg.Code, "28"):
		return "check user and password of DATABASE_URL"
	case errors.As(err, &pg) && pg.Code == "3D000":
		return "create the database that DATABASE_URL names"
	case errors.As(err, &pg) && pg.Code == "53300":
		return "raise max_connections of the database, or end idle clients"
	}
	return "check that the database runs and that DATABASE_URL names it; check the network policy"
}

// messageWithoutDSN returns the message of err without the DSN, which may contain a password.
func messageWithoutDSN(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Message
	}
	return rootCause(err).Error()
}

const (
	minServerVersion      = 150000          // server_version_num of PostgreSQL 15
	maxClockSkew          = 5 * time.Second // well above the error of clocks that NTP synchronises
	connectionsPerReplica = 16 + 1 + 6      // connections of the pool (default of postgres.Config.MaxConns), of the listener, and of the trainer's pool
)

func (r *Report) versionAndClock(ctx context.Context, conn *pgx.Conn) error {
	r.Ran("version")
	r.Ran("clock")
	var version int
	var versionText string
	var databaseTime time.Time
	var standby, readOnly bool
	before := r.now()
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'),
		clock_timestamp(), pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on'`).Scan(&version, &versionText, &databaseTime, &standby, &readOnly)
	if err != nil {
		return err
	}
	after := r.now()
	if version < minServerVersion {
		r.Errorf("version", "upgrade it to 15 or newer", "the database is PostgreSQL %s", versionText)
	}
	if standby || readOnly {
		r.Errorf("database", "point DATABASE_URL at the primary, and let its user write", "the database accepts no writes: it is a standby or read-only")
	}
	if skew := databaseTime.Sub(before.Add(after.Sub(before)/2)).Abs() - after.Sub(before)/2; skew > maxClockSkew {
		r.Errorf("clock", "synchronise both clocks with NTP: prediction ids, retention and leases depend on them", "the clocks of this machine and of the database differ by %s", skew.Round(time.Second))
	}
	return nil
}

func (r *Report) connections(ctx context.Context, conn *pgx.Conn) error {
	r.Ran("connections")
	var maximum, used int
	err := conn.QueryRow(ctx, `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
		(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')`).Scan(&maximum, &used)
	if err == nil && maximum-used < connectionsPerReplica {
		r.Warnf("connections", "raise max_connections: each replica takes up to 17, and 6 for its trainer",
			"%d of %d connections are in use, so one more replica may get too few", used, maximum)
	}
	return err
}

// tables checks the tables and the permissions. It returns false if it reports an error.
func (r *Report) tables(ctx context.Context, conn *pgx.Conn) bool {
	r.Ran("tables")
	r.Ran("permissions")
	newest, err := migrations.Newest()
	if err != nil {
		r.Errorf("tables", "rebuild loadaware", "%v", err)
		return false
	}
	var current uint
	var dirty bool
	err = conn.QueryRow(ctx, `SELECT greatest(version, 0), dirty FROM schema_migrations`).Scan(&current, &dirty)
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "42501":
		r.Errorf("permissions", "grant the user access to the tables of loadaware", "the user may not read the tables")
		return false
	case errors.As(err, &pg) && pg.Code == "42P01", errors.Is(err, pgx.ErrNoRows):
		r.Errorf("tables", "run loadaware migrate up, or start serve, which creates them", "the tables do not exist")
		return false
	case err != nil:
		r.failedQuery(err)
		return false
	case dirty:
		r.Errorf("tables", "run loadaware migrate up, which prints how to repair it", "migration %d is incomplete", current)
		return false
	case current < newest:
		r.Errorf("tables", "run loadaware migrate up", "the tables are at step %d of %d", current, newest)
		return false
	case current > newest:
		r.Warnf("tables", "upgrade this loadaware, too", "the tables are at step %d, but this build knows %d: a newer build migrated them", current, newest)
	}
	var denied []string
	err = conn.QueryRow(ctx, `SELECT coalesce(array_agg(tablename::text ORDER BY tablename), '{}') FROM pg_tables
		WHERE schemaname = current_schema() AND tablename = ANY ($1)
			AND NOT has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'SELECT')
			OR schemaname = current_schema() AND tablename = ANY ($1)
			AND NOT (has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'INSERT')
				AND has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'UPDATE')
				AND has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'DELETE'))`,
		[]string{"task", "task_gone", "tally", "lease", "observation", "receipt", "receipt_compact", "receipt_name", "receipt_word", "receipt_format", "model", "audit", "usage_series", "inquiry", "duty", "experiment", "experiment_model", "savings_day", "savings_month", "savings_summed", "baseline", "baseline_change", "metadata_set", "observation_context", "cohort", "runtime_shapes", "dag_structure", "campaign", "campaign_run", "usage_profiles", "detailed_series", "executed_plan", "task_plan", "plan_pool"}).Scan(&denied)
	if err != nil {
		r.failedQuery(err)
		return false
	}
	if len(denied) > 0 {
		r.Errorf("permissions", "grant SELECT, INSERT, UPDATE and DELETE on all tables of loadaware",
			"the user may not read and write %s", strings.Join(denied, ", "))
		return false
	}
	return true
}
