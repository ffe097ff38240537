package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/sizing"
)

const deleteNameSQL = `
	DELETE FROM receipt_name
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
	RETURNING id`

const deleteCompactSQL = `
	DELETE FROM receipt_compact WHERE name = $1`

// deleteCompact deletes the compact receipts of a task. Before the receipts, it deletes the name of the task, which is its row
// in receipt_name. Writers lock this row, so no other transaction can add receipts afterwards.
func deleteCompact(ctx context.Context, tx pgx.Tx, task sizing.TaskKey) error {
	var id int32
	err := tx.QueryRow(ctx, deleteNameSQL, task.Namespace, task.DAG, task.Task).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		_, err = tx.Exec(ctx, deleteCompactSQL, id)
	}
	return err
}

const lockNameSQL = `
	SELECT id FROM receipt_name
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3
	FOR UPDATE`

const renameNameSQL = `
	UPDATE receipt_name SET namespace = $4, dag_id = $5, task_id = $6
	WHERE namespace = $1 AND dag_id = $2 AND task_id = $3`

// renameCompact renames the compact receipts of a task. If the new name already has compact receipts,
// renameCompact stores those as JSON, because a name has one vocabulary.
func renameCompact(ctx context.Context, tx pgx.Tx, from, to sizing.TaskKey) error {
	var existing int32
	err := tx.QueryRow(ctx, lockNameSQL, to.Namespace, to.DAG, to.Task).Scan(&existing)
	if err == nil {
		err = expandName(ctx, tx, existing)
	}
	if err == nil {
		_, err = tx.Exec(ctx, deleteNameSQL, to.Namespace, to.DAG, to.Task)
	}
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	_, err = tx.Exec(ctx, renameNameSQL, from.Namespace, from.DAG, from.Task, to.Namespace, to.DAG, to.Task)
	return err
}

const expandBatch = 1000

const takeCompactSQL = `
	WITH receipt AS (
		DELETE FROM receipt_compact
		WHERE prediction_id = ANY (ARRAY(SELECT prediction_id FROM receipt_compact WHERE name = $1 LIMIT $2))
		RETURNING *)
	SELECT ` + compactRowColumns + `
	FROM receipt JOIN receipt_name ON receipt_name.id = receipt.name`

func expandName(ctx context.Context, tx pgx.Tx, name int32) error {
	words, err := readWords(ctx, tx, []int32{name})
	if err != nil {
		return err
	}
	for {
		rows, err := tx.Query(ctx, takeCompactSQL, name, expandBatch)
		if err != nil {
			return err
		}
		receipts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (sizing.Receipt, error) {
			var c storedReceipt
			if err := row.Scan(c.fields()...); err != nil {
				return c.receipt, err
			}
			return c.decode(words[name])
		})
		if err != nil || len(receipts) == 0 {
			return err
		}
		bodies, err := encodeBodies(receipts, new([]byte))
		if err == nil {
			err = insertReceipts(ctx, tx, receipts, bodies)
		}
		if err != nil {
			return err
		}
	}
}

const compactNamesSQL = `
	SELECT id FROM receipt_name ORDER BY id`

// ExpandReceipts stores all compact receipts as JSON, so that a release without the compact form
// can read them. The service must not run at the same time.
func (s *Store) ExpandReceipts(ctx context.Context) error {
	rows, err := s.pool.Query(ctx, compactNamesSQL)
	if err != nil {
		return wrapError("expand receipts", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		return wrapError("expand receipts", err)
	}
	for _, name := range names {
		err := s.inTx(ctx, "expand receipts", readWrite, func(tx pgx.Tx) error { return expandName(ctx, tx, name) })
		if err != nil {
			return err
		}
	}
	return nil
}
