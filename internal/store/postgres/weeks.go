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

// Receipts stand in partitions by their ids, which go by time:
//
//	receipt_before │ receipt_20261228 │ receipt_20270104 │ … │ some weeks ahead
//	 what there was   a week each, from Monday 00:00 UTC
//
// and receipt_other takes what lies in none of them: as a rule nothing.

// weeksSQL begins a change of partitions. One at a time is made, and none waits for a
// lock for longer than others may wait behind it.
const weeksSQL = `SELECT set_config('lock_timeout', '1s', true), pg_advisory_xact_lock($1)`

// weeksTurn is the advisory lock of those who change partitions.
const weeksTurn = 0x6c6f6164_7765656b // "loadweek"

// inWeeks runs do in a transaction that may change partitions.
func (s *Store) inWeeks(ctx context.Context, doing string, do func(pgx.Tx) error) error {
	return s.inTx(ctx, doing, readWrite, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, weeksSQL, int64(weeksTurn)); err != nil {
			return err
		}
		return do(tx)
	})
}

// part is a partition: of the ids from from, below to. One that is bounded on both sides
// is a week.
type part struct {
	name     string
	from, to string // empty: unbounded
}

// partsSQL leaves out receipt_other, which has no bounds.
const partsSQL = `
	SELECT name, coalesce(substring(bounds FROM $$FROM \('([^']*)'\)$$), ''), to_id
	FROM (
		SELECT relname::text AS name, bounds, substring(bounds FROM $$TO \('([^']*)'\)$$) COLLATE "C" AS to_id
		FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid, pg_get_expr(relpartbound, inhrelid) AS bounds
		WHERE inhparent = 'receipt'::regclass) AS part
	WHERE to_id IS NOT NULL
	ORDER BY to_id`

func partsOf(ctx context.Context, tx pgx.Tx) ([]part, error) {
	rows, err := tx.Query(ctx, partsSQL)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p part, err error) {
		return p, row.Scan(&p.name, &p.from, &p.to)
	})
}

const week = 7 * 24 * time.Hour

// mondayOf is when the week of a time began.
func mondayOf(at time.Time) time.Time {
	at = at.UTC()
	midnight := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	return midnight.AddDate(0, 0, -(int(at.Weekday())+6)%7)
}

// MakeWeeks makes the partitions of weeks that no partition has a part of.
func (s *Store) MakeWeeks(ctx context.Context, from, to time.Time) error {
	for monday := mondayOf(from); !monday.After(to); monday = monday.Add(week) {
		w := part{name: monday.Format("receipt_20060102"), from: store.FirstID(monday), to: store.FirstID(monday.Add(week))}
		if err := s.inWeeks(ctx, "make a week of receipts", func(tx pgx.Tx) error { return makeWeek(ctx, tx, w) }); err != nil {
			return err
		}
	}
	return nil
}

// makeWeekSQL makes the table apart, so that only receipt_other has to be locked. What
// that has of the week, for it was not made in time, moves.
const makeWeekSQL = `
	CREATE TABLE %[1]s (LIKE receipt INCLUDING INDEXES);
	LOCK TABLE receipt_other IN ACCESS EXCLUSIVE MODE;
	WITH moved AS (DELETE FROM receipt_other WHERE prediction_id >= '%[2]s' AND prediction_id < '%[3]s' RETURNING *)
	INSERT INTO %[1]s SELECT * FROM moved;
	ALTER TABLE receipt ATTACH PARTITION %[1]s FOR VALUES FROM ('%[2]s') TO ('%[3]s')`

func makeWeek(ctx context.Context, tx pgx.Tx, w part) error {
	there, err := partsOf(ctx, tx)
	if err != nil {
		return err
	}
	for _, p := range there {
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

// RemoveReceipts drops the partitions that are wholly old, and deletes what is old in
// those that are no week. A user who does not own the tables cannot drop, and deletes.
func (s *Store) RemoveReceipts(ctx context.Context, before string, removed func(rows int) error) error {
	for {
		rows, dropped, err := s.dropOldest(ctx, &before)
		if err != nil && !denied(err) {
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

func denied(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42501"
}

// dropOldest drops the oldest partition if it is wholly below before. If it is a week of
// which a part is, before is put to its beginning.
func (s *Store) dropOldest(ctx context.Context, before *string) (rows int, dropped bool, err error) {
	err = s.inWeeks(ctx, "drop old receipts", func(tx pgx.Tx) error {
		rows, dropped = 0, false
		parts, err := partsOf(ctx, tx)
		if err != nil {
			return err
		}
		for _, p := range parts {
			switch {
			case p.to <= *before:
				// They are counted, as those who look at what is removed want rows: along
				// the primary key, beside whoever reads and writes.
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
