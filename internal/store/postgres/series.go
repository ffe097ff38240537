package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadaware/loadaware/internal/sizing"
)

const insertSeriesSQL = `
	INSERT INTO usage_series (task, seq, step_us, memory, cpu)
	VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT DO NOTHING`

// insertSeries stores the series of reports. It keeps the first series of a try. It does not make the tasks due, because
// trainings of models read no series.
func insertSeries(ctx context.Context, tx pgx.Tx, reports []report, recorded []sizing.RecordResult) error {
	batch := &pgx.Batch{}
	for i := range reports {
		s, result := reports[i].Series, &recorded[i]
		if s == nil || result.Err != nil {
			continue
		}
		row := batch.Queue(insertSeriesSQL, reports[i].task.id, result.Seq, s.Step.Microseconds(), s.Memory, s.CPU)
		row.Exec(func(tag pgconn.CommandTag) error {
			if result.Duplicate && tag.RowsAffected() > 0 {
				result.Duplicate, result.Amended = false, true
			}
			return nil
		})
	}
	if batch.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, batch).Close()
}

const seriesSQL = `
	SELECT step_us, memory, cpu
	FROM task
	JOIN observation ON observation.task = task.id
	JOIN usage_series ON usage_series.task = observation.task AND usage_series.seq = observation.seq
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3 AND run_id = $4 AND map_index = $5 AND try_number = $6`

// Series returns the usage series of a try.
func (s *Store) Series(ctx context.Context, try sizing.TryKey) (series sizing.Series, err error) {
	var micros int64
	err = s.pool.QueryRow(ctx, seriesSQL, try.Namespace, try.DAG, try.Task, try.RunID, try.MapIndex, try.Number).
		Scan(&micros, &series.Memory, &series.CPU)
	if err != nil {
		return series, orNotFound("read a usage series", err, "no usage series of try %d of run %q (map index %d) of %s is stored", try.Number, try.RunID, try.MapIndex, try.TaskKey)
	}
	series.Step = time.Duration(micros) * time.Microsecond
	return series, nil
}
