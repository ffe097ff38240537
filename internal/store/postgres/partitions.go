package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loadaware/loadaware/internal/store"
)

// Receipts are partitioned by their ids, which sort by time:
//
//	receipt_before │ receipt_20261228 │ receipt_20270104 │ … │ some weeks ahead
//	 older receipts   one week each, from Monday 00:00 UTC
//
// receipt_other is the default partition; usually it is empty.

// beginPartitionChangeSQL serialises changes of partitions by an advisory lock, and bounds the
// wait for table locks, because readers and writers queue behind a waiting lock.
const beginPartitionChangeSQL = `SELECT set_config('lock_timeout', '1s', true), pg_advisory_xact_lock($1)`

// partitionLock is the advisory lock for changes of partitions.
const partitionLock = 0x6c6f6164_7765656b // "loadweek"

// changePartitions runs do in a transaction that may change partitions.
func (s *Store) changePartitions(ctx context.Context, operation string, do func(pgx.Tx) error) error {
	return s.inTx(ctx, operation, readWrite, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, beginPartitionChangeSQL, int64(partitionLock)); err != nil {
			return err
		}
		return do(tx)
	})
}

// partition holds the ids of the half-open interval [from, to). One with both bounds is a week.
type partition struct {
	name     string
	from, to string // empty if unbounded
}

// partitionsSQL omits receipt_other, which has no bounds.
const partitionsSQL = `
	SELECT name, coalesce(substring(bounds FROM $$FROM \('([^']*)'\)$$), ''), to_id
	FROM (
		SELECT relname::text AS name, bounds, substring(bounds FROM $$TO \('([^']*)'\)$$) COLLATE "C" AS to_id
		FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid, pg_get_expr(relpartbound, inhrelid) AS bounds
		WHERE inhparent = 'receipt'::regclass) AS part
	WHERE to_id IS NOT NULL
	ORDER BY to_id`

func readPartitions(ctx context.Context, tx pgx.Tx) ([]partition, error) {
	rows, err := tx.Query(ctx, partitionsSQL)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p partition, err error) {
		return p, row.Scan(&p.name, &p.from, &p.to)
	})
}

const week = 7 * 24 * time.Hour

// mondayOf returns the start of the week of a time.
func mondayOf(at time.Time) time.Time {
	at = at.UTC()
	midnight := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	return midnight.AddDate(0, 0, -(int(at.Weekday())+6)%7)
}

// MakeWeeks creates the weekly partitions between from and to that no partition overlaps.
func (s *Store) MakeWeeks(ctx context.Context, from, to time.Time) error {
	for monday := mondayOf(from); !monday.After(to); monday = monday.Add(week) {
		w := partition{name: monday.Format("receipt_20060102"), from: store.FirstID(monday), to: store.FirstID(monday.Add(week))}
		if err := s.changePartitions(ctx, "create a weekly partition", func(tx pgx.Tx) error { return makeWeek(ctx, tx, w) }); err != nil {
			return err
		}
	}
	return nil
}

// makeWeekSQL creates the table before it attaches it, so that only receipt_other is locked. It
// moves receipts that receipt_other took before the partition existed. Both tables have the
// columns of receipt in the same order, so "*" stays right when a migration adds a column.
const makeWeekSQL = `
	CREATE TABLE %[1]s (LIKE receipt INCLUDING INDEXES);
	LOCK TABLE receipt_other IN ACCESS EXCLUSIVE MODE;
	WITH moved AS (DELETE FROM receipt_other WHERE prediction_id >= '%[2]s' AND prediction_id < '%[3]s' RETURNING *)
	INSERT INTO %[1]s SELECT * FROM moved;
	ALTER TABLE receipt ATTACH PARTITION %[1]s FOR VALUES FROM ('%[2]s') TO ('%[3]s')`

func makeWeek(ctx context.Context, tx pgx.Tx, w partition) error {
	existing, err := readPartitions(ctx, tx)
	if err != nil {
		return err
	}
	for _, p := range existing {
		if p.from < w.to && w.from < p.to {
			return nil
		}
	}
	_, err = tx.Exec(ctx, fmt.Sprintf(makeWeekSQL, w.name, w.from, w.to))
	return err
}

const removeReceiptsSQL = `
	DELETE FROM receipt
	WHERE prediction_id = ANY (ARRAY(
		SELECT prediction_id FROM receipt WHERE prediction_id < $1 ORDER BY prediction_id LIMIT $2))`

// RemoveReceipts drops the partitions that are entirely old, and deletes the old rows of
// partitions that are not a week. A user who does not own the tables cannot drop partitions, so
// it deletes rows.
func (s *Store) RemoveReceipts(ctx context.Context, before string, removed func(rows int) error) error {
	for {
		rows, dropped, err := s.dropOldest(ctx, &before)
		if err != nil && !isPermissionDenied(err) {
			return err
		}
		if !dropped {
			return s.removeAll(ctx, "remove old receipts", removed, removeReceiptsSQL, before)
		}
		if rows == 0 {
			continue
		}
		if err := removed(rows); err != nil {
			return err
		}
	}
}

func isPermissionDenied(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42501"
}

// dropOldest drops the oldest partition if it is entirely below before. If a week is partly
// below before, it lowers before to the start of that week, which therefore stays.
func (s *Store) dropOldest(ctx context.Context, before *string) (rows int, dropped bool, err error) {
	err = s.changePartitions(ctx, "drop old receipts", func(tx pgx.Tx) error {
		rows, dropped = 0, false
		partitions, err := readPartitions(ctx, tx)
		if err != nil {
			return err
		}
		for _, p := range partitions {
			switch {
			case p.to <= *before:
				// Callers count removed rows. The count uses the primary key and does not
				// block readers or writers.
				if err := tx.QueryRow(ctx, "SELECT count(*) FROM "+pgx.Identifier{p.name}.Sanitize()).Scan(&rows); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, "DROP TABLE "+pgx.Identifier{p.name}.Sanitize())
				dropped = err == nil
				return err
			case p.from != "" && p.from < *before:
				*before = p.from
				return nil
			}
		}
		return nil
	})
	return rows, dropped, err
}
