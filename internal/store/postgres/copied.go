package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

// knownTriesSQL finds the tries that were told before.
const knownTriesSQL = `
	SELECT n - 1
	FROM unnest($1::bigint[], $2::text[], $3::int[], $4::smallint[])
		WITH ORDINALITY AS new (task, run_id, map_index, try_number, n)
	JOIN observation USING (task, run_id, map_index, try_number)
	ORDER BY n`

// numbersSQL draws the seq of rows, since those that are copied bring theirs along. Drawn
// under the lock of their tasks, they ascend as commits do.
const numbersSQL = `
	SELECT now(), array_agg(seq)
	FROM (SELECT nextval(pg_get_serial_sequence('observation', 'seq')) AS seq FROM generate_series(1, $1)) AS drawn`

// insertMany does what insert does, by COPY, which costs the database half of an INSERT.
// COPY can pass over nothing: who was told before is looked up first, which is exact, as
// this transaction is the only writer of the tasks.
func (s *Store) insertMany(ctx context.Context, tx pgx.Tx, reports []report, first []int, recorded []sizing.Recorded) (told []int, err error) {
	now, known, numbers, err := lookUp(ctx, tx, reports, first)
	if err != nil {
		return nil, err
	}
	fresh, counts := make([]int, 0, len(first)), map[int64]news{}
	for n, i := range first {
		if _, was := slices.BinarySearch(known, n); was {
			told = append(told, i)
			continue
		}
		recorded[i].Seq = numbers[n]
		fresh = append(fresh, i)
		counts[reports[i].task.id] = counts[reports[i].task.id].with(reports[i].Outcome.OOM())
	}
	_, err = tx.CopyFrom(ctx, pgx.Identifier{"observation"}, observationColumns, pgx.CopyFromSlice(len(fresh), func(n int) ([]any, error) {
		return rowOf(&reports[fresh[n]], recorded[fresh[n]].Seq, now), nil
	}))
	if err != nil {
		return nil, err
	}
	return told, s.addNews(ctx, tx, counts)
}

// lookUp locks the tasks, and says what time it is, which of the reports numbered in first
// were told before, and a new seq for each.
func lookUp(ctx context.Context, tx pgx.Tx, reports []report, first []int) (now time.Time, known []int, numbers []int64, err error) {
	rows := make([]*report, len(first))
	for n, i := range first {
		rows[n] = &reports[i]
	}
	tasks, ids := tasksOf(reports)
	batch := &pgx.Batch{}
	batch.Queue(lockTalliesSQL, ids)
	batch.Queue(alongIndexesSQL)
	batch.Queue(knownTriesSQL,
		column(rows, func(r *report) int64 { return r.task.id }),
		column(rows, func(r *report) string { return r.Try.RunID }),
		column(rows, func(r *report) int32 { return int32(r.Try.MapIndex) }),
		column(rows, func(r *report) int16 { return int16(r.Try.Number) }))
	batch.Queue(numbersSQL, len(first))
	results := tx.SendBatch(ctx, batch)
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
	}()
	locked, err := results.Query()
	if err == nil {
		err = readLocked(locked, tasks)
	}
	if err == nil {
		_, err = results.Exec()
	}
	if err != nil {
		return now, nil, nil, err
	}
	found, err := results.Query()
	if err == nil {
		known, err = pgx.CollectRows(found, pgx.RowTo[int])
	}
	if err == nil {
		err = results.QueryRow().Scan(&now, &numbers)
	}
	return now, known, numbers, err
}

var observationColumns = []string{
	"task", "seq", "run_id", "map_index", "try_number", "outcome", "provisional",
	"at", "started_at", "ended_at", "duration_us",
	"memory_max", "allocated_memory", "requested_memory", "memory_sampled", "sampled_only",
	"cpu_max", "allocated_cpu", "requested_cpu", "prediction_id", "features", "lot",
}

// rowOf is what insertSQL makes of a report.
func rowOf(r *report, seq int64, now time.Time) []any {
	at, peak := now, r.MemoryMax
	for _, t := range []time.Time{r.StartedAt, r.EndedAt} {
		if !t.IsZero() {
			at = t
		}
	}
	if peak == 0 {
		peak = r.MemorySampled
	}
	return []any{
		r.task.id, seq, r.Try.RunID, int32(r.Try.MapIndex), int16(r.Try.Number), int16(r.Outcome), r.Provisional,
		at, knownTime(&r.StartedAt), knownTime(&r.EndedAt), orNull(r.Duration.Microseconds()),
		orNull(int64(peak)), orNull(int64(r.Allocated.Memory)), orNull(int64(r.Requested.Memory)), orNull(int64(r.MemorySampled)), r.MemoryMax == 0 && r.MemorySampled > 0,
		orNull(float64(r.CPUMax)), orNull(float64(r.Allocated.CPU)), orNull(float64(r.Requested.CPU)), orNull(r.PredictionID), r.features, lot(r.Try),
	}
}

// orNull is v, or null if v is zero.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// with counts one row more.
func (n news) with(kill bool) news {
	n.observations++
	if kill {
		n.kills++
	}
	n.urgent = n.urgent || kill
	return n
}
