package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

const maxNamedTasks = 5

// models decodes the active model of every task, and names the models that cannot be decoded. After a restart, a replica
// answers for the tasks of such models with the static request until their next training.
func (r *Report) models(ctx context.Context, conn *pgx.Conn) error {
	r.Ran("models")
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
	hasPins := false
	_, err = pgx.ForEachRow(rows, []any{&name, &version, &pinned, &blob}, func() error {
		if _, err := taskmodel.Open(blob); err != nil {
			pinNote := ""
			if pinned != "" && pinned != store.Watchdog {
				pinNote, hasPins = ", pinned by "+pinned, true
			}
			broken = append(broken, fmt.Sprintf("%s version %d (%v%s)", name, version, err, pinNote))
		}
		return nil
	})
	if len(broken) > 0 {
		advice := "POST /tasks/{dag_id}/{task_id}/train for each, which trains from scratch; until then a restarted replica answers with the static request"
		if hasPins {
			advice = "DELETE /tasks/{dag_id}/{task_id}/pin for pinned ones, then " + advice
		}
		r.Errorf("models", advice, "%s cannot be decoded: %s", render.Count(len(broken), "active model"), strings.Join(broken, ", "))
	}
	return err
}

// cohorts decodes the cohort of every namespace, and names the cohorts that cannot be decoded. In a
// namespace with such a cohort, tasks without history get the static request.
func (r *Report) cohorts(ctx context.Context, conn *pgx.Conn) error {
	r.Ran("cohorts")
	rows, err := conn.Query(ctx, `SELECT namespace, version, format, blob FROM cohort ORDER BY namespace`)
	if err != nil {
		return err
	}
	var broken []string
	var namespace string
	var version, format int
	var blob []byte
	_, err = pgx.ForEachRow(rows, []any{&namespace, &version, &format, &blob}, func() error {
		if format != cohort.Format {
			broken = append(broken, fmt.Sprintf("%s version %d (format %d, want %d)", namespace, version, format, cohort.Format))
		} else if _, err := cohort.Open(blob); err != nil {
			broken = append(broken, fmt.Sprintf("%s version %d (%v)", namespace, version, err))
		}
		return nil
	})
	if len(broken) > 0 {
		r.Errorf("cohorts", "delete the row of each namespace in the table cohort, then POST /tasks/{dag_id}/{task_id}/train for a task of it, which learns the cohort again; until then tasks without history get the static request",
			"%s cannot be decoded: %s", render.Count(len(broken), "cohort"), strings.Join(broken, ", "))
	}
	return err
}

func joinFirst(names []string) string {
	if len(names) > maxNamedTasks {
		return strings.Join(names[:maxNamedTasks], ", ") + fmt.Sprintf(" and %d more", len(names)-maxNamedTasks)
	}
	return strings.Join(names, ", ")
}

func (r *Report) untrained(ctx context.Context, conn *pgx.Conn) error {
	r.Ran("tasks without models")
	rows, err := conn.Query(ctx, `SELECT namespace || '/' || dag_id || '/' || task_id,
			EXISTS (SELECT FROM observation WHERE observation.task = task.id AND peak IS NOT NULL AND outcome = 1),
			coalesce(extract(epoch FROM now() - coalesce(tally.due_at, lease.due_since)), 0)::float8
		FROM task JOIN tally ON tally.task = task.id JOIN lease ON lease.task = task.id
		WHERE active_version IS NULL AND observations > 0
		ORDER BY 1`)
	if err != nil {
		return err
	}
	var withoutPeak, waiting []string
	var name string
	var hasPeak bool
	var dueSeconds float64 // time since the training was due
	_, err = pgx.ForEachRow(rows, []any{&name, &hasPeak, &dueSeconds}, func() error {
		switch {
		case !hasPeak:
			withoutPeak = append(withoutPeak, name)
		case dueSeconds > 10*time.Minute.Seconds():
			waiting = append(waiting, name)
		}
		return nil
	})
	if len(withoutPeak) > 0 {
		r.Errorf("tasks without models", "measure with loadaware-peak, or set LOADAWARE_PROMETHEUS_URL: training needs memory_max_bytes or memory_sampled_bytes of successful tries",
			"%s without a successful try with a reported peak: %s", render.Count(len(withoutPeak), "task"), joinFirst(withoutPeak))
	}
	if len(waiting) > 0 {
		r.Errorf("tasks without models", "check that a server runs, and look for failed trainings in its log",
			"%s waited for the first training for over 10 minutes: %s", render.Count(len(waiting), "task"), joinFirst(waiting))
	}
	return err
}

const (
	checkedTries    = 10_000 // the check reads at most this many of the newest predictions of first tries
	minCheckedTries = 20     // with fewer tries the check finds no error, because a few missing reports may be chance
)

// unreported looks for reports of the newest first tries (try number 1) that were predicted more than a day ago; see
// checkedTries. A try with several predictions counts once.
func (r *Report) unreported(ctx context.Context, conn *pgx.Conn) error {
	r.Ran("unreported tries")
	var tries, unreported int
	err := conn.QueryRow(ctx, `WITH newest AS (
			(SELECT prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number FROM receipt
			WHERE at < $1 AND run_id <> '' AND try_number = 1 ORDER BY prediction_id DESC LIMIT $2)
			UNION ALL
			(SELECT prediction_id::text, namespace, dag_id, task_id, run_id, map_index, try_number
			FROM receipt_compact JOIN receipt_name ON receipt_name.id = name
			WHERE at < $1 AND run_id <> '' AND try_number = 1 ORDER BY receipt_compact.prediction_id DESC LIMIT $2)
			ORDER BY prediction_id DESC LIMIT $2)
		SELECT count(*), count(*) FILTER (WHERE NOT EXISTS (
			SELECT FROM task JOIN observation ON observation.task = task.id
			WHERE task.namespace = first.namespace AND task.dag_id = first.dag_id AND task.task_id = first.task_id
				AND observation.run_id = first.run_id AND observation.map_index = first.map_index AND observation.try_number = first.try_number))
		FROM (SELECT DISTINCT namespace, dag_id, task_id, run_id, map_index, try_number FROM newest) AS first`, r.now().Add(-24*time.Hour), checkedTries).Scan(&tries, &unreported)
	if err == nil && tries >= minCheckedTries && 2*unreported > tries {
		r.Errorf("unreported tries", "check that the provider is installed, and that its token has the role observe",
			"of the newest %d first tries predicted more than a day ago, %d were never reported", tries, unreported)
	}
	return err
}

// receipts checks that the user may create and drop the weekly partitions of receipts, that retention creates them in
// advance, and that no receipt is in the default partitions receipt_other and receipt_compact_other.
// Retention creates partitions four weeks in advance. So if next week has no partition, retention has not created any
// for more than three weeks.
func (r *Report) receipts(ctx context.Context, conn *pgx.Conn) error {
	r.Ran("receipts")
	var mayPartition, hasNextWeek, hasUnpartitioned bool
	err := conn.QueryRow(ctx, `SELECT bool_and(pg_has_role(relowner, 'USAGE') AND has_schema_privilege(relnamespace, 'CREATE')),
			bool_and(EXISTS (SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
				WHERE inhparent = receipt.oid AND substring(pg_get_expr(relpartbound, inhrelid) FROM $$TO \('([^']*)'\)$$) COLLATE "C" > $1))
		FROM pg_class AS receipt WHERE oid IN ('receipt'::regclass, 'receipt_compact'::regclass)`, store.FirstID(r.now().AddDate(0, 0, 7))).Scan(&mayPartition, &hasNextWeek)
	if err == nil && !mayPartition {
		r.Warnf("receipts", "make the user the owner of the tables receipt and receipt_…, and let it create tables",
			"the user may not create and drop partitions: receipts are deleted row by row, and retention logs errors")
		return nil
	}
	if err == nil && !hasNextWeek {
		r.Warnf("receipts", "check that a server runs for more than an hour, and look for errors of retention in its log", "receipts of next week have no partition")
	}
	if err == nil {
		err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM receipt_other) OR EXISTS (SELECT FROM receipt_compact_other)`).Scan(&hasUnpartitioned)
	}
	if hasUnpartitioned {
		r.Warnf("receipts", "check the clocks of all replicas", "some receipts are in receipt_other or receipt_compact_other, because their week had no partition: they are deleted row by row")
	}
	return err
}
