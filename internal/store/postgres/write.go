package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// write commits reports in one transaction and answers for each. errStale if a
// task no longer has the name under which it was prepared.
func (s *Store) write(ctx context.Context, reports []report) ([]sizing.Recorded, error) {
	var recorded []sizing.Recorded
	err := s.inTx(ctx, "record observations", readWrite, func(tx pgx.Tx) error {
		recorded = make([]sizing.Recorded, len(reports))
		first, again := splitByTry(reports)
		told, err := s.insert(ctx, tx, reports, first, recorded)
		if err != nil {
			return err
		}
		if again = append(again, told...); len(again) > 0 {
			slices.Sort(again) // in the order in which they were told
			if err := compare(ctx, tx, reports, again, recorded); err != nil {
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

const lockTalliesSQL = `
	SELECT task.id, task.namespace, task.dag_id, task.task_id
	FROM task JOIN tally ON tally.task = task.id
	WHERE task.id = ANY($1)
	ORDER BY task.id -- one order for all writers: no deadlocks
	FOR KEY SHARE OF task FOR NO KEY UPDATE OF tally`

// tasksOf are the tasks that reports are of, by their numbers.
func tasksOf(reports []report) (keys map[int64]sizing.TaskKey, ids []int64) {
	keys = make(map[int64]sizing.TaskKey, 1)
	for i := range reports {
		keys[reports[i].task.id] = reports[i].Try.TaskKey
	}
	for id := range keys {
		ids = append(ids, id)
	}
	return keys, ids
}

// readLocked reads the answer to lockTalliesSQL: errStale unless every task still has
// the name that it had.
func readLocked(rows pgx.Rows, tasks map[int64]sizing.TaskKey) error {
	var id int64
	var key sizing.TaskKey
	current := 0
	_, err := pgx.ForEachRow(rows, []any{&id, &key.Namespace, &key.DAG, &key.Task}, func() error {
		if tasks[id] == key {
			current++
		}
		return nil
	})
	if err == nil && current < len(tasks) {
		err = errStale
	}
	return err
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

// $18 and $19 say where in the flat array $21 a row's features stand. A peak that was
// only sampled stands for the measured one, and says so. What was inserted is counted
// at once, and makes its tasks due after $22; at once where an outcome is one of $23.
const insertSQL = `
	WITH new AS (
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
			coalesce(ended_at, started_at, now()), started_at, ended_at, nullif(duration_us, 0),
			coalesce(nullif(memory_max, 0), nullif(memory_sampled, 0)), nullif(allocated_memory, 0), nullif(requested_memory, 0),
			nullif(memory_sampled, 0), memory_max = 0 AND memory_sampled > 0,
			nullif(cpu_max, 0), nullif(allocated_cpu, 0), nullif(requested_cpu, 0),
			nullif(prediction_id, ''), ($21::float8[])[features_after + 1:features_to], lot
		FROM new ORDER BY n
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
	SELECT n - 1, coalesce(seq, 0)
	FROM new LEFT JOIN inserted USING (task, run_id, map_index, try_number)
	ORDER BY n`

// kills are the outcomes that are to be learned from at once.
var kills = []int16{int16(sizing.OOMKilled), int16(sizing.AppOOM)}

// insert writes and counts the reports numbered in first, and returns those of them
// whose try was told before: nothing was written for these. It makes this transaction
// the only writer of the reports' tasks, and holds off their rename and deletion. Lock
// and rows travel together: others wait until this transaction ends.
func (s *Store) insert(ctx context.Context, tx pgx.Tx, reports []report, first []int, recorded []sizing.Recorded) (told []int, err error) {
	fresh := make([]*report, len(first))
	for i, n := range first {
		fresh[i] = &reports[n]
	}
	tasks, ids := tasksOf(reports)
	batch := &pgx.Batch{}
	batch.Queue(lockTalliesSQL, ids)
	batch.Queue(insertSQL, append(columnsOf(fresh), s.cfg.Debounce, kills)...)
	results := tx.SendBatch(ctx, batch)
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
	}()
	locked, err := results.Query()
	if err != nil {
		return nil, err
	}
	if err := readLocked(locked, tasks); err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	var n int
	var seq int64
	_, err = pgx.ForEachRow(rows, []any{&n, &seq}, func() error {
		recorded[first[n]].Seq = seq
		if seq == 0 {
			told = append(told, first[n])
		}
		return nil
	})
	return told, err
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
func (s *Store) countAmended(ctx context.Context, tx pgx.Tx, reports []report, recorded []sizing.Recorded, again []int) error {
	changed := map[int64]news{}
	for _, i := range again {
		if recorded[i].Amended {
			n := changed[reports[i].task.id]
			n.urgent = n.urgent || reports[i].Outcome.OOM()
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
