package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// write commits reports and answers for each. Those of tries that are told for the first
// time, nearly all, are written by one statement, which is a transaction: the writers of a
// task wait for each other, and none shall wait for another's way there and back. Those of
// tries that were told before are held against what is stored, in a second one: where that
// fails, it fails for them alone. errStale if a task no longer has the name under which it
// was prepared. An error for all means that nothing was written.
func (s *Store) write(ctx context.Context, reports []report) ([]sizing.RecordResult, error) {
	first, again := splitByTry(reports)
	if len(again) > 0 || slices.ContainsFunc(reports, func(r report) bool { return r.Series != nil }) {
		return s.writeAny(ctx, reports)
	}
	recorded := make([]sizing.RecordResult, len(reports))
	var told []int
	err := s.repeated(ctx, "record observations", func() (err error) {
		told, err = s.insert(ctx, s.pool, reports, first, recorded)
		return err
	})
	if err != nil {
		return nil, err
	}
	left := make([]report, len(told))
	for i, n := range told {
		left[i] = reports[n]
	}
	if len(left) == 0 {
		return recorded, nil
	}
	compared, err := s.writeAny(ctx, left)
	for i, n := range told {
		if recorded[n] = (sizing.RecordResult{Err: err}); err == nil {
			recorded[n] = compared[i]
		}
	}
	return recorded, nil
}

// writeAny writes reports of any tries in one transaction, with their series.
func (s *Store) writeAny(ctx context.Context, reports []report) ([]sizing.RecordResult, error) {
	var recorded []sizing.RecordResult
	err := s.inTx(ctx, "record observations", readWrite, func(tx pgx.Tx) error {
		recorded = make([]sizing.RecordResult, len(reports))
		first, again := splitByTry(reports)
		told, err := s.insert(ctx, tx, reports, first, recorded)
		if err != nil {
			return err
		}
		if again = append(again, told...); len(again) > 0 {
			slices.Sort(again) // in the order in which they were told
			if err := s.compare(ctx, tx, reports, again, recorded); err != nil {
				return err
			}
			if err := s.countAmended(ctx, tx, reports, recorded, again); err != nil {
				return err
			}
		}
		return insertSeries(ctx, tx, reports, recorded)
	})
	return recorded, err
}

// splitByTry finds the first report of each try, and the others.
func splitByTry(reports []report) (first, again []int) {
	seen := make(map[sizing.TryKey]bool, len(reports))
	for i := range reports {
		if try := reports[i].Try; seen[try] {
			again = append(again, i)
		} else {
			seen[try] = true
			first = append(first, i)
		}
	}
	return first, again
}

// plausibleTime bounds the time that a try counts as of, as sizing.Observation.Warnings
// does. Retention and lists go by it: of a wrong year, a report would be removed at once or
// be the newest for ever.
const plausibleTime = `timestamptz '2000-01-01 00:00:00+00' AND now() + interval '6 hours'`

// It locks before it inserts, and inserts only if all tasks $24 have the names $25 to $27
// still. $18 and $19 say where in the flat array $21 a row's features stand. A peak that
// was only sampled stands for the measured one, and says so. What was inserted is counted
// at once, and makes its tasks due after $22; at once where an outcome is one of $23.
const insertSQL = `
	WITH locked AS (
		SELECT task.id, task.namespace, task.dag_id, task.task_id
		FROM task JOIN tally ON tally.task = task.id
		WHERE task.id = ANY($24::bigint[])
		ORDER BY task.id -- one order for all writers: no deadlocks
		FOR KEY SHARE OF task FOR NO KEY UPDATE OF tally),
	current AS (
		SELECT count(*) = cardinality($24::bigint[]) AS all_are
		FROM locked
		JOIN unnest($24::bigint[], $25::text[], $26::text[], $27::text[]) AS meant (id, namespace, dag_id, task_id)
			USING (id, namespace, dag_id, task_id)),
	new AS (
		SELECT * FROM unnest($1::bigint[], $2::text[], $3::int[], $4::smallint[], $5::smallint[], $6::boolean[],
			$7::timestamptz[], $8::timestamptz[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
			$13::bigint[], $14::float8[], $15::float8[], $16::float8[], $17::text[], $18::int[], $19::int[], $20::int[])
		WITH ORDINALITY AS new (task, run_id, map_index, try_number, outcome, provisional,
			started_at, ended_at, duration_us, memory_max, allocated_memory, requested_memory, memory_sampled,
			cpu_max, allocated_cpu, requested_cpu, prediction_id, features_after, features_to, lot, n)),
	inserted AS (
		INSERT INTO observation (task, run_id, map_index, try_number, outcome, provisional,
			at, started_at, ended_at, duration_us,
			memory_max, allocated_memory, requested_memory, memory_sampled, sampled_only,
			cpu_max, allocated_cpu, requested_cpu,
			prediction_id, features, lot)
		SELECT task, run_id, map_index, try_number, outcome, provisional,
			CASE WHEN coalesce(ended_at, started_at) BETWEEN ` + plausibleTime + ` THEN coalesce(ended_at, started_at) ELSE now() END,
			started_at, ended_at, nullif(duration_us, 0),
			coalesce(nullif(memory_max, 0), nullif(memory_sampled, 0)), nullif(allocated_memory, 0), nullif(requested_memory, 0),
			nullif(memory_sampled, 0), memory_max = 0 AND memory_sampled > 0,
			nullif(cpu_max, 0), nullif(allocated_cpu, 0), nullif(requested_cpu, 0),
			nullif(prediction_id, ''), ($21::float8[])[features_after + 1:features_to], lot
		FROM new
		WHERE (SELECT all_are FROM current)
		ORDER BY n
		ON CONFLICT (task, run_id, map_index, try_number) DO NOTHING
		RETURNING seq, task, run_id, map_index, try_number, outcome),
	counted AS (
		UPDATE tally
		SET observations = tally.observations + news.observations,
			kills = tally.kills + news.kills,
			due_at = least(tally.due_at, now() + CASE WHEN news.kills > 0 THEN interval '0' ELSE $22::interval END)
		FROM (
			SELECT task, count(*) AS observations, count(*) FILTER (WHERE outcome = ANY ($23::smallint[])) AS kills
			FROM inserted GROUP BY task) AS news
		WHERE tally.task = news.task)
	SELECT n - 1, coalesce(seq, 0), all_are
	FROM new LEFT JOIN inserted USING (task, run_id, map_index, try_number), current
	ORDER BY n`

// kills are the outcomes that are to be learned from at once.
var kills = []int16{int16(sizing.OOMKilled), int16(sizing.AppOOM)}

// asker is a transaction; or the pool, whose every statement is one.
type asker interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// insert writes and counts the reports numbered in first, and returns those of them
// whose try was told before: nothing was written for these. It makes the transaction
// the only writer of the reports' tasks until it ends, and holds off their rename and
// deletion. errStale if that came before; then nothing was written.
func (s *Store) insert(ctx context.Context, by asker, reports []report, first []int, recorded []sizing.RecordResult) (told []int, err error) {
	fresh := make([]*report, len(first))
	for i, n := range first {
		fresh[i] = &reports[n]
	}
	args := append(columnsOf(fresh), s.cfg.Debounce, kills)
	rows, err := by.Query(ctx, insertSQL, append(args, namesOf(reports)...)...)
	if err != nil {
		return nil, err
	}
	var n int
	var seq int64
	var current bool
	_, err = pgx.ForEachRow(rows, []any{&n, &seq, &current}, func() error {
		recorded[first[n]].Seq = seq
		if seq == 0 {
			told = append(told, first[n])
		}
		return nil
	})
	if err == nil && !current {
		err = errStale
	}
	return told, err
}

// namesOf are the tasks of reports: their numbers, and the names under which the reports
// were prepared. One that was renamed meanwhile may stand there with both names.
func namesOf(reports []report) []any {
	type task struct {
		id  int64
		key sizing.TaskKey
	}
	seen := make(map[task]bool, 1)
	var ids []int64
	var namespaces, dags, tasks []string
	for i := range reports {
		t := task{reports[i].task.id, reports[i].Try.TaskKey}
		if !seen[t] {
			seen[t] = true
			ids, namespaces, dags, tasks = append(ids, t.id), append(namespaces, t.key.Namespace), append(dags, t.key.DAG), append(tasks, t.key.Task)
		}
	}
	return []any{ids, namespaces, dags, tasks}
}

// columnsOf turns reports into the arrays of insertSQL.
func columnsOf(reports []*report) []any {
	features, after, to := flatten(reports, func(r *report) []float64 { return r.features })
	return []any{
		column(reports, func(r *report) int64 { return r.task.id }),
		column(reports, func(r *report) string { return r.Try.RunID }),
		column(reports, func(r *report) int32 { return int32(r.Try.MapIndex) }),
		column(reports, func(r *report) int16 { return int16(r.Try.Number) }),
		column(reports, func(r *report) int16 { return int16(r.Outcome) }),
		column(reports, func(r *report) bool { return r.Provisional }),
		column(reports, func(r *report) *time.Time { return knownTime(&r.StartedAt) }),
		column(reports, func(r *report) *time.Time { return knownTime(&r.EndedAt) }),
		column(reports, func(r *report) int64 { return r.Duration.Microseconds() }),
		column(reports, func(r *report) int64 { return int64(r.MemoryMax) }),
		column(reports, func(r *report) int64 { return int64(r.Allocated.Memory) }),
		column(reports, func(r *report) int64 { return int64(r.Requested.Memory) }),
		column(reports, func(r *report) int64 { return int64(r.MemorySampled) }),
		column(reports, func(r *report) float64 { return float64(r.CPUMax) }),
		column(reports, func(r *report) float64 { return float64(r.Allocated.CPU) }),
		column(reports, func(r *report) float64 { return float64(r.Requested.CPU) }),
		column(reports, func(r *report) string { return r.PredictionID }),
		after, to,
		column(reports, func(r *report) int32 { return lot(r.Try) }),
		features,
	}
}

// knownTime is t, or null if t is zero.
func knownTime(t *time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return t
}

const countSQL = `
	UPDATE tally
	SET observations = tally.observations + news.observations,
		kills = tally.kills + news.kills,
		due_at = least(tally.due_at, now() + news.wait)
	FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::interval[]) AS news (task, observations, kills, wait)
	WHERE tally.task = news.task`

// news is what a transaction changed for one task.
type news struct {
	observations, kills int64
	urgent              bool // an OOM is to be learned from at once
}

// countAmended makes the tasks due of which a report that was told again says more.
func (s *Store) countAmended(ctx context.Context, tx pgx.Tx, reports []report, recorded []sizing.RecordResult, again []int) error {
	changed := map[int64]news{}
	for _, i := range again {
		if recorded[i].Amended {
			n := changed[reports[i].task.id]
			n.urgent = n.urgent || reports[i].Outcome.OOM()
			if recorded[i].Replaced { // by a row that was counted as it was inserted
				n.observations, n.kills = n.observations-1, n.kills-1
			}
			changed[reports[i].task.id] = n
		}
	}
	return s.addNews(ctx, tx, changed)
}

func (s *Store) addNews(ctx context.Context, tx pgx.Tx, changed map[int64]news) error {
	if len(changed) == 0 {
		return nil
	}
	var tasks, observations, kills []int64
	var waits []time.Duration
	for task, n := range changed {
		wait := s.cfg.Debounce
		if n.urgent {
			wait = 0
		}
		tasks, observations, kills, waits = append(tasks, task), append(observations, n.observations), append(kills, n.kills), append(waits, wait)
	}
	_, err := tx.Exec(ctx, countSQL, tasks, observations, kills, waits)
	return err
}

const voidSQL = `
	DELETE FROM observation
	WHERE task = $1 AND run_id = $2 AND map_index = $3 AND try_number = $4
	RETURNING outcome`

// Void takes a report back. What was learned from it is to be learned anew: the
// task becomes due.
func (s *Store) Void(ctx context.Context, try sizing.TryKey) error {
	return s.inTx(ctx, "void a report", readWrite, func(tx pgx.Tx) error {
		id, err := lockTally(ctx, tx, try.TaskKey)
		if err != nil {
			return err
		}
		var outcome sizing.Outcome
		err = tx.QueryRow(ctx, voidSQL, id, try.RunID, try.MapIndex, try.Number).Scan(&outcome)
		if err != nil {
			return found("void a report", err, "no report of try %d of run %q (map index %d) of %s is stored", try.Number, try.RunID, try.MapIndex, try.TaskKey)
		}
		gone := news{observations: -1}
		if outcome.OOM() {
			gone.kills = -1
		}
		return s.addNews(ctx, tx, map[int64]news{id: gone})
	})
}

const lockTallySQL = `
	SELECT task.id
	FROM task JOIN tally ON tally.task = task.id
	WHERE task.namespace = $1 AND task.dag_id = $2 AND task.task_id = $3
	FOR KEY SHARE OF task FOR NO KEY UPDATE OF tally`

func lockTally(ctx context.Context, tx pgx.Tx, key sizing.TaskKey) (id int64, err error) {
	err = tx.QueryRow(ctx, lockTallySQL, key.Namespace, key.DAG, key.Task).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = unknownTask(key)
	}
	return id, err
}
