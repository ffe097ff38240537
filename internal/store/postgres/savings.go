package postgres

import (
	"context"
	_ "embed" // for savingsFile
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

// This file reads the savings ledger, which the triggers of migration 0013 write, and adds up its months.

//go:embed savings.sql
var savingsFile string

var savingsSQL = stripComments(savingsFile)

// SavingsSums adds up the ledger over the tasks and days of a filter, one sum per value of a key.
func (s *Store) SavingsSums(ctx context.Context, f store.SavingsFilter, by store.SavingsKey) ([]store.SavingsSum, error) {
	args := append(filterArgs(&f), dayOrNull(f.From), dayOrNull(f.To), string(by), f.Monthly)
	rows, err := s.pool.Query(ctx, savingsSQL, args...)
	if err != nil {
		return nil, wrapError("read savings", err)
	}
	sums, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (sum store.SavingsSum, err error) {
		var day *time.Time
		err = row.Scan(&day, &sum.Task.Namespace, &sum.Task.DAG, &sum.Task.Task, &sum.Owner, &sum.First, &sum.Last,
			&sum.Tries, &sum.Successes, &sum.Kills, &sum.Unaccounted, &sum.Unmeasured,
			&sum.Hours, &sum.Requested, &sum.Granted, &sum.Used, &sum.UsedHours, &sum.Killed, &sum.Wasted, &sum.Saved, &sum.NoRequest, &sum.SavedCPU)
		if day != nil {
			sum.Day = *day
		}
		return sum, err
	})
	return sums, wrapError("read savings", err)
}

// filterArgs returns the parameters $1 to $5 of the statements that select the tasks of a filter.
func filterArgs(f *store.SavingsFilter) []any {
	var namespaces, prefixes []string
	for _, scope := range f.Scopes {
		namespaces, prefixes = append(namespaces, scope.Namespace), append(prefixes, scope.DAGPrefix)
	}
	return []any{namespaces, prefixes, f.Namespace, f.DAG, f.Task}
}

func dayOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

const baselinesSQL = `
	SELECT namespace, dag_id, task_id, coalesce(memory, 0), coalesce(cpu, 0), memory_at, cpu_at, at, change
	FROM (
		SELECT b.*, c.at, jsonb_build_array(c.memory, c.cpu) AS change
		FROM task JOIN baseline AS b USING (namespace, dag_id, task_id)
		LEFT JOIN baseline_change AS c USING (namespace, dag_id, task_id)
		WHERE EXISTS (
				SELECT FROM unnest($1::text[], $2::text[]) AS scope (namespace, prefix)
				WHERE (scope.namespace = '' OR scope.namespace = task.namespace) AND starts_with(task.dag_id, scope.prefix))
			AND ($3 = '' OR task.namespace = $3) AND ($4 = '' OR task.dag_id = $4) AND ($5 = '' OR task.task_id = $5)) AS b
	ORDER BY namespace, dag_id, task_id, at`

// Baselines lists the static requests of the tasks of a filter.
func (s *Store) Baselines(ctx context.Context, f store.SavingsFilter) ([]store.Baseline, error) {
	rows, err := s.pool.Query(ctx, baselinesSQL, filterArgs(&f)...)
	if err != nil {
		return nil, wrapError("read baselines", err)
	}
	var all []store.Baseline
	for rows.Next() {
		var b store.Baseline
		var memoryAt, cpuAt, changed *time.Time
		var change [2]*float64
		if err := rows.Scan(&b.Task.Namespace, &b.Task.DAG, &b.Task.Task, &b.Request.Memory, &b.Request.CPU, &memoryAt, &cpuAt, &changed, &change); err != nil {
			return nil, wrapError("read baselines", err)
		}
		b.MemoryAt, b.CPUAt = timeOrZero(memoryAt), timeOrZero(cpuAt)
		if len(all) == 0 || all[len(all)-1].Task != b.Task {
			all = append(all, b)
		}
		if changed != nil {
			last := &all[len(all)-1]
			last.Changes = append(last.Changes, store.RequestChange{At: changed.UTC(),
				Request: sizing.Resources{Memory: sizing.Bytes(orZero(change[0])), CPU: sizing.Cores(orZero(change[1]))}})
		}
	}
	return all, wrapError("read baselines", rows.Err())
}

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

// addMonthsSQL relies on the order of the columns in savings_month.
const (
	lockUnsummedSQL = `
	SELECT tally.task
	FROM tally LEFT JOIN savings_summed AS s ON s.task = tally.task
	WHERE s.until IS NULL OR s.until < $1
	ORDER BY tally.task LIMIT $2
	FOR SHARE OF tally SKIP LOCKED`
	removeMonthsSQL = `
	DELETE FROM savings_month AS m USING savings_summed AS s
	WHERE m.task = ANY ($1) AND s.task = m.task AND m.day >= date_trunc('month', s.until::timestamp)::date`
	addMonthsSQL = `
	INSERT INTO savings_month
	SELECT task.id, date_trunc('month', day::timestamp)::date, owner, sum(tries), sum(successes), sum(kills), sum(unaccounted), sum(unmeasured),
		sum(success_us), sum(granted), sum(killed), sum(used), sum(used_us), sum(unused), sum(cpu_tries), sum(cpu_us), sum(cpu_granted), sum(cpu_killed),
		sum(peaks), sum(peak_sum), sum(peak_squares), min(day) FILTER (WHERE tries > 0), max(day) FILTER (WHERE tries > 0)
	FROM unnest($1::bigint[]) AS task (id)
	LEFT JOIN savings_summed AS s ON s.task = task.id
	JOIN savings_day AS d ON d.task = task.id AND day < $2 AND day >= coalesce(date_trunc('month', s.until::timestamp)::date, '-infinity')
	GROUP BY 1, 2, 3`
	setSummedSQL = `
	INSERT INTO savings_summed (task, until) SELECT unnest($1::bigint[]), $2
	ON CONFLICT (task) DO UPDATE SET until = excluded.until`
)

// SumMonths adds up the days before a UTC day per month, for at most limit tasks that have no stored months or whose stored
// months end before that day. Reports of these tasks wait until the call ends; therefore the caller limits the number of tasks.
func (s *Store) SumMonths(ctx context.Context, before time.Time, limit int) (tasks int, err error) {
	err = s.inTx(ctx, "add up the months of the savings", pgx.TxOptions{}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, lockUnsummedSQL, before.UTC(), limit)
		if err != nil {
			return err
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if tasks = len(ids); err != nil || tasks == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, removeMonthsSQL, ids); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, addMonthsSQL, ids, before.UTC()); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, setSummedSQL, ids, before.UTC())
		return err
	})
	return tasks, err
}

// taskUsageSQL adds up the stored months and the days after them. One GB·h is 3.6e18 byte microseconds.
const taskUsageSQL = `
	SELECT namespace, dag_id, task_id, sum(peaks)::bigint,
		(sum(peak_sum) / sum(peaks))::float8,
		sqrt(greatest(sum(peak_squares) / sum(peaks) - (sum(peak_sum) / sum(peaks)) ^ 2, 0))::float8,
		(sum(used) / 3.6e18)::float8
	FROM task
	LEFT JOIN savings_summed AS summed ON summed.task = task.id
	CROSS JOIN LATERAL (
		(SELECT peaks, peak_sum, peak_squares, used FROM savings_month AS m WHERE m.task = task.id AND day < summed.until)
		UNION ALL
		(SELECT peaks, peak_sum, peak_squares, used FROM savings_day AS d WHERE d.task = task.id AND day >= coalesce(summed.until, '-infinity'))
		OFFSET 0) AS sums
	WHERE $1 = '' OR namespace = $1
	GROUP BY namespace, dag_id, task_id
	HAVING sum(peaks) > 0
	ORDER BY namespace, dag_id, task_id`

// TaskUsage summarises the usage of the tasks of a namespace. It omits tasks without a success with a known peak.
func (s *Store) TaskUsage(ctx context.Context, namespace string) ([]sizing.Usage, error) {
	rows, err := s.pool.Query(ctx, taskUsageSQL, namespace)
	if err != nil {
		return nil, wrapError("read the usage of tasks", err)
	}
	usage, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (u sizing.Usage, err error) {
		err = row.Scan(&u.Task.Namespace, &u.Task.DAG, &u.Task.Task, &u.Runs, &u.MeanPeak, &u.Spread, &u.GBHours)
		return u, err
	})
	return usage, wrapError("read the usage of tasks", err)
}

// peakSampleSQL reads a run if its last try is among the $2 tries of lowest sample rank (lot). So the number of tries of a run
// does not change its chance to be in the sample. Outcome 1 is a success, 2 and 3 are OOM kills.
const peakSampleSQL = `
	SELECT coalesce(measured, killed), coalesce(duration_us, 0), measured IS NULL
	FROM (SELECT run_id, map_index, try_number FROM observation WHERE task = $1 ORDER BY lot LIMIT $2) AS sample
	CROSS JOIN LATERAL (
		SELECT max(try_number) AS last, bool_or(outcome = 1) AS succeeded,
			CASE WHEN bool_or(outcome = 1 AND memory_max IS NOT NULL) THEN max(memory_max) FILTER (WHERE outcome IN (1, 2, 3)) END AS measured,
			max(peak) FILTER (WHERE outcome IN (2, 3)) AS killed,
			coalesce(max(duration_us) FILTER (WHERE outcome = 1), max(duration_us) FILTER (WHERE outcome IN (2, 3))) AS duration_us
		FROM observation AS o
		WHERE o.task = $1 AND o.run_id = sample.run_id AND o.map_index = sample.map_index) AS run
	WHERE try_number = last AND (measured IS NOT NULL OR killed IS NOT NULL AND NOT succeeded)`

const taskIDSQL = `SELECT id FROM task WHERE namespace = $1 AND dag_id = $2 AND task_id = $3`

// PeakSample returns runs whose last try is in a uniform sample of at most limit tries; see store.Savings.
func (s *Store) PeakSample(ctx context.Context, task sizing.TaskKey, limit int) ([]store.PeakRow, error) {
	var id int64
	if err := s.pool.QueryRow(ctx, taskIDSQL, task.Namespace, task.DAG, task.Task).Scan(&id); err != nil {
		return nil, orNotFound("read peaks", err, "task %s is unknown", task)
	}
	rows, err := s.pool.Query(ctx, peakSampleSQL, id, limit)
	if err != nil {
		return nil, wrapError("read peaks", err)
	}
	peaks, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p store.PeakRow, err error) {
		var micros int64
		err = row.Scan(&p.Peak, &micros, &p.IsKilled)
		p.Duration = time.Duration(micros) * time.Microsecond
		return p, err
	})
	return peaks, wrapError("read peaks", err)
}
