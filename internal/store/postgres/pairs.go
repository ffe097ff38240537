package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
)

const pairsSQL = `
	SELECT namespace, dag_id, task_id, memory_max, memory_sampled, coalesce(duration_us, 0)
	FROM observation JOIN task ON task.id = observation.task
	WHERE outcome = 1 AND memory_sampled IS NOT NULL AND NOT sampled_only AND namespace = $1
	ORDER BY at DESC, seq DESC LIMIT $2`

// readPairs reads the tries with both peaks if h has a row with only a sampled one.
func readPairs(ctx context.Context, tx pgx.Tx, h *sizing.History) error {
	if !slices.ContainsFunc(h.Rows, onlySampled) {
		return nil
	}
	// openHistory disabled sorts; these few rows need one.
	if _, err := tx.Exec(ctx, `SELECT set_config('enable_sort', 'on', true)`); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, pairsSQL, h.Task.Namespace, store.MaxPairs)
	if err != nil {
		return err
	}
	h.Pairs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p sizing.PeakPair, err error) {
		var micros int64
		err = row.Scan(&p.Task.Namespace, &p.Task.DAG, &p.Task.Task, &p.Exact, &p.Sampled, &micros)
		p.Duration = time.Duration(micros) * time.Microsecond
		return p, err
	})
	return err
}

func onlySampled(r sizing.HistoryRow) bool {
	_, censoring := r.Peak()
	return censoring == sizing.Sampled
}
