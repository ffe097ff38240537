package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/migrations"
)

// database looks from the outside in: without a connection there is nothing more to see.
func (d *diagnosis) database(ctx context.Context, dsn string) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		d.wrong("database", adviceOn(err), "the database cannot be reached: %s", withoutDSN(err))
		return
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, look := range []func(context.Context, *pgx.Conn) error{d.versionAndClock, d.connections} {
		if err := look(ctx, conn); err != nil {
			d.wrong("database", "look at the database's log", "a question was not answered: %v", err)
			return
		}
	}
	if !d.tables(ctx, conn) {
		return
	}
	for _, look := range []func(context.Context, *pgx.Conn) error{d.models, d.untrained, d.unreported, d.receipts} {
		if err := look(ctx, conn); err != nil {
			d.wrong("database", "look at the database's log", "a question was not answered: %v", err)
		}
	}
}

func adviceOn(err error) string {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && strings.HasPrefix(pg.Code, "28"):
		return "check user and password of DATABASE_URL"
	case errors.As(err, &pg) && pg.Code == "3D000":
		return "create the database that DATABASE_URL names"
	case errors.As(err, &pg) && pg.Code == "53300":
		return "raise max_connections of the database, or end idle clients"
	}
	return "check that it runs, that DATABASE_URL names it, and that the network lets us out"
}

// withoutDSN leaves out the settings of the connection.
func withoutDSN(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Message
	}
	return cause(err).Error()
}

const (
	oldestServer = 150000 // server_version_num of PostgreSQL 15
	skewAtMost   = 5 * time.Second
	poolOfOne    = 16 // connections of a replica
)

func (d *diagnosis) versionAndClock(ctx context.Context, conn *pgx.Conn) error {
	d.looked("version")
	d.looked("clock")
	var version int
	var shown string
	var there time.Time
	var standby, readOnly bool
	before := d.now()
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_version'),
		clock_timestamp(), pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on'`).Scan(&version, &shown, &there, &standby, &readOnly)
	if err != nil {
		return err
	}
	after := d.now()
	if version < oldestServer {
		d.wrong("version", "upgrade it to 15 or newer", "the database is PostgreSQL %s", shown)
	}
	if standby || readOnly {
		d.wrong("database", "point DATABASE_URL at the primary, and let its user write", "the database takes no writes: it is a standby, or read-only")
	}
	if off := there.Sub(before.Add(after.Sub(before)/2)).Abs() - after.Sub(before)/2; off > skewAtMost {
		d.wrong("clock", "set both by NTP: prediction ids, ages and leases go by the clock", "our clock and the database's differ by %s", off.Round(time.Second))
	}
	return nil
}

func (d *diagnosis) connections(ctx context.Context, conn *pgx.Conn) error {
	d.looked("connections")
	var most, used int
	err := conn.QueryRow(ctx, `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
		(SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')`).Scan(&most, &used)
	if err == nil && most-used < poolOfOne {
		d.mind("connections", "raise max_connections: each replica takes up to 16",
			"%d of %d connections are in use, so one more replica may get none", used, most)
	}
	return err
}

// tables reports whether they are there to be read.
func (d *diagnosis) tables(ctx context.Context, conn *pgx.Conn) bool {
	d.looked("tables")
	d.looked("permissions")
	newest, err := migrations.Newest()
	if err != nil {
		d.wrong("tables", "build loadaware anew", "%v", err)
		return false
	}
	var at uint
	var dirty bool
	err = conn.QueryRow(ctx, `SELECT version, dirty FROM schema_migrations`).Scan(&at, &dirty)
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "42501":
		d.wrong("permissions", "grant the user the tables of loadaware", "the user may not read the tables")
		return false
	case err != nil:
		d.wrong("tables", "run loadaware migrate up, or start serve, which does so", "the tables are not there")
		return false
	case dirty:
		d.wrong("tables", "run loadaware migrate up, which says how to mend it", "migration %d broke off", at)
	case at < newest:
		d.wrong("tables", "run loadaware migrate up", "the tables are at step %d of %d", at, newest)
		return false
	case at > newest:
		d.mind("tables", "upgrade loadaware, when all replicas have been", "the tables are at step %d, and this build knows %d: a newer one was here", at, newest)
	}
	var denied []string
	err = conn.QueryRow(ctx, `SELECT coalesce(array_agg(tablename::text ORDER BY tablename), '{}') FROM pg_tables
		WHERE schemaname = current_schema() AND tablename = ANY ($1)
			AND NOT has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'SELECT')
			OR schemaname = current_schema() AND tablename = ANY ($1)
			AND NOT (has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'INSERT')
				AND has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'UPDATE')
				AND has_table_privilege(quote_ident(schemaname) || '.' || quote_ident(tablename), 'DELETE'))`,
		[]string{"task", "tally", "lease", "observation", "receipt", "model", "audit", "usage_series", "inquiry", "duty", "experiment", "experiment_model"}).Scan(&denied)
	if err != nil || len(denied) > 0 {
		d.wrong("permissions", "grant SELECT, INSERT, UPDATE and DELETE on all tables of loadaware",
			"the user may not read and write %s", strings.Join(denied, ", "))
		return false
	}
	return true
}

// namedAtMost bounds the tasks that a line names.
const namedAtMost = 5

// models opens the active model of every task, and names all that cannot be opened: each
// of them answers the static request until it is trained.
func (d *diagnosis) models(ctx context.Context, conn *pgx.Conn) error {
	d.looked("models")
	rows, err := conn.Query(ctx, `SELECT namespace || '/' || dag_id || '/' || task_id, version,
			CASE WHEN pinned_version = active_version THEN coalesce(pinned_by, '') ELSE '' END, blob
		FROM task JOIN model ON model.task = task.id AND model.version = task.active_version
		ORDER BY 1`)
	if err != nil {
		return err
	}
	var broken []string
	var name, pinned string
	var version int
	var blob []byte
	pins := false
	_, err = pgx.ForEachRow(rows, []any{&name, &version, &pinned, &blob}, func() error {
		if _, err := fitting.Open(blob); err != nil {
			at := ""
			if pinned != "" && pinned != store.Watchdog {
				at, pins = ", pinned by "+pinned, true
			}
			broken = append(broken, fmt.Sprintf("%s version %d (%v%s)", name, version, err, at))
		}
		return nil
	})
	if len(broken) > 0 {
		advice := "POST /tasks/{dag_id}/{task_id}/train for each: it trains from scratch; until then a replica that starts answers from the profile or the static request"
		if pins {
			advice = "DELETE /tasks/{dag_id}/{task_id}/pin where one is pinned, then " + advice
		}
		d.wrong("models", advice, "%d active models cannot be opened: %s", len(broken), strings.Join(broken, ", "))
	}
	return err
}

func first(names []string) string {
	if len(names) > namedAtMost {
		return strings.Join(names[:namedAtMost], ", ") + fmt.Sprintf(" and %d more", len(names)-namedAtMost)
	}
	return strings.Join(names, ", ")
}

func (d *diagnosis) untrained(ctx context.Context, conn *pgx.Conn) error {
	d.looked("tasks without models")
	rows, err := conn.Query(ctx, `SELECT namespace || '/' || dag_id || '/' || task_id,
			EXISTS (SELECT FROM observation WHERE observation.task = task.id AND peak IS NOT NULL AND outcome = 1),
			coalesce(extract(epoch FROM now() - coalesce(tally.due_at, lease.due_since)), 0)::float8
		FROM task JOIN tally ON tally.task = task.id JOIN lease ON lease.task = task.id
		WHERE active_version IS NULL AND observations > 0
		ORDER BY 1`)
	if err != nil {
		return err
	}
	var peakless, waiting []string
	var name string
	var peak bool
	var due float64
	_, err = pgx.ForEachRow(rows, []any{&name, &peak, &due}, func() error {
		switch {
		case !peak:
			peakless = append(peakless, name)
		case due > 10*time.Minute.Seconds():
			waiting = append(waiting, name)
		}
		return nil
	})
	if len(peakless) > 0 {
		d.wrong("tasks without models", "measure by loadaware-peak, or set LOADAWARE_PROMETHEUS_URL: memory_max_bytes of a success is what is learned from",
			"of %d tasks no peak was ever reported: %s", len(peakless), first(peakless))
	}
	if len(waiting) > 0 {
		d.wrong("tasks without models", "see that a server runs, and its log for a training that fails",
			"%d tasks have waited for their first training for over 10 minutes: %s", len(waiting), first(waiting))
	}
	return err
}

// What is looked at of answers, and how many of them may stay without a report.
const (
	unreportedOf  = 10_000
	fewUnreported = 20
)

func (d *diagnosis) unreported(ctx context.Context, conn *pgx.Conn) error {
	d.looked("unreported tries")
	var tries, silent int
	err := conn.QueryRow(ctx, `WITH newest AS (
			SELECT namespace, dag_id, task_id, run_id, map_index, try_number FROM receipt
			WHERE at < $1 AND run_id <> '' AND try_number = 1 ORDER BY prediction_id DESC LIMIT $2)
		SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (
			SELECT FROM task JOIN observation ON observation.task = task.id
			WHERE task.namespace = newest.namespace AND task.dag_id = newest.dag_id AND task.task_id = newest.task_id
				AND observation.run_id = newest.run_id AND observation.map_index = newest.map_index AND observation.try_number = newest.try_number))
		FROM newest`, d.now().Add(-24*time.Hour), unreportedOf).Scan(&tries, &silent)
	if err == nil && tries >= fewUnreported && silent > int(math.Ceil(float64(tries)/2)) {
		d.wrong("unreported tries", "see that the provider's reporting side is installed, and that its token has the role observe",
			"of the newest %d first tries that were asked for more than a day ago, %d were never reported", tries, silent)
	}
	return err
}
