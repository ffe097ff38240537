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
// receipt_other is the default partition; usually it is empty. The names of the partitions of
// receipt_compact begin with receipt_compact instead of receipt.

type receiptTable struct {
	name  string
	bound func(id string) string // converts a lower bound of ids to the id type of the table, as text
}

var receiptTables = []receiptTable{
	{"receipt", func(id string) string { return id }},
	{"receipt_compact", uuidBound},
}

const (
	lowestUUID  = "00000000-0000-0000-0000-000000000000"
	highestUUID = "ffffffff-ffff-ffff-ffff-ffffffffffff"
)

// uuidBound returns the lowest UUID whose text is at least id, if id is the beginning of a UUID. For another
// text the result may be one UUID too low.
func uuidBound(id string) string {
	for i := range len(id) {
		switch c := id[i]; {
		case i == len(lowestUUID):
			return id[:i]
		case lowestUUID[i] == '-' && c == '-', lowestUUID[i] != '-' && (c >= '0' && c <= '9' || c >= 'a' && c <= 'f'):
		case lowestUUID[i] == '-' && c > '-', c > 'f':
			return id[:i] + highestUUID[i:]
		case lowestUUID[i] != '-' && c > '9':
			return id[:i] + "a" + lowestUUID[i+1:]
		default:
			return id[:i] + lowestUUID[i:]
		}
	}
	return id + lowestUUID[len(id):]
}

// beginPartitionChangeSQL serialises changes of partitions by an advisory lock. It also bounds the wait for
// table locks, because readers and writers of a table wait behind a statement that waits for a lock on the table.
const beginPartitionChangeSQL = `SELECT set_config('lock_timeout', '1s', true), pg_advisory_xact_lock($1)`

const partitionLock = 0x6c6f6164_7765656b // "loadweek"

func (s *Store) changePartitions(ctx context.Context, operation string, do func(pgx.Tx) error) error {
	return s.inTx(ctx, operation, readWrite, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, beginPartitionChangeSQL, int64(partitionLock)); err != nil {
			return err
		}
		return do(tx)
	})
}

// partition describes a partition with the ids of the half-open interval [from, to). A partition
// with both bounds is a week.
type partition struct {
	name     string
	from, to string // bounds of ids; empty if unbounded
}

// partitionsSQL omits the default partition, which has no bounds.
const partitionsSQL = `
	SELECT name, coalesce(substring(bounds FROM $$FROM \('([^']*)'\)$$), ''), to_id
	FROM (
		SELECT relname::text AS name, bounds, substring(bounds FROM $$TO \('([^']*)'\)$$) COLLATE "C" AS to_id
		FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid, pg_get_expr(relpartbound, inhrelid) AS bounds
		WHERE inhparent = $1::text::regclass) AS part
	WHERE to_id IS NOT NULL
	ORDER BY to_id`

func readPartitions(ctx context.Context, tx pgx.Tx, table receiptTable) ([]partition, error) {
	rows, err := tx.Query(ctx, partitionsSQL, table.name)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p partition, err error) {
		err = row.Scan(&p.name, &p.from, &p.to)
		return p, err
	})
}

const week = 7 * 24 * time.Hour

func mondayOf(at time.Time) time.Time {
	at = at.UTC()
	midnight := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	return midnight.AddDate(0, 0, -(int(at.Weekday())+6)%7)
}

// MakeWeeks creates the weekly partitions from the week of `from` to the week of `to`, except those that an existing partition
// overlaps.
func (s *Store) MakeWeeks(ctx context.Context, from, to time.Time) error {
	for monday := mondayOf(from); !monday.After(to); monday = monday.Add(week) {
		for _, table := range receiptTables {
			w := partition{
				name: table.name + monday.Format("_20060102"),
				from: table.bound(store.FirstID(monday)), to: table.bound(store.FirstID(monday.Add(week))),
			}
			if err := s.changePartitions(ctx, "create a weekly partition", func(tx pgx.Tx) error { return makeWeek(ctx, tx, table, w) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeWeekSQL creates the partition %[1]s of the table %[4]s for the ids from %[2]s to %[3]s. It creates a table before it
// attaches the table, so that readers and writers wait only for the lock on the default partition. It moves the receipts
// of the week that were stored in the default partition. The new table and the default partition have the columns of the
// parent in the same order, so "*" stays correct when a migration adds a column.
const makeWeekSQL = `
	CREATE TABLE %[1]s (LIKE %[4]s INCLUDING INDEXES);
	LOCK TABLE %[4]s_other IN ACCESS EXCLUSIVE MODE;
	WITH moved AS (DELETE FROM %[4]s_other WHERE prediction_id >= '%[2]s' AND prediction_id < '%[3]s' RETURNING *)
	INSERT INTO %[1]s SELECT * FROM moved;
	ALTER TABLE %[4]s ATTACH PARTITION %[1]s FOR VALUES FROM ('%[2]s') TO ('%[3]s')`

func makeWeek(ctx context.Context, tx pgx.Tx, table receiptTable, w partition) error {
	existing, err := readPartitions(ctx, tx, table)
	if err != nil {
		return err
	}
	for _, p := range existing {
		if p.from < w.to && w.from < p.to {
			return nil
		}
	}
	_, err = tx.Exec(ctx, fmt.Sprintf(makeWeekSQL, w.name, w.from, w.to, table.name))
	return err
}

const removeReceiptsSQL = `
	DELETE FROM %[1]s
	WHERE prediction_id = ANY (ARRAY(
		SELECT prediction_id FROM %[1]s WHERE prediction_id < $1 ORDER BY prediction_id LIMIT $2))`

// RemoveReceipts drops the partitions that are entirely old, and deletes the old rows of the other partitions, except a week
// that is partly old.
func (s *Store) RemoveReceipts(ctx context.Context, before string, removed func(rows int) error) error {
	for _, table := range receiptTables {
		if err := s.removeFrom(ctx, table, table.bound(before), removed); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) removeFrom(ctx context.Context, table receiptTable, before string, removed func(rows int) error) error {
	for {
		rows, dropped, err := s.dropOldest(ctx, table, &before)
		if err != nil && !isPermissionDenied(err) {
			return err
		}
		if !dropped {
			return s.removeAll(ctx, "remove old receipts", removed, fmt.Sprintf(removeReceiptsSQL, table.name), before)
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

// dropOldest drops the oldest partition if all of its ids are below *before. If a week has ids below and above
// *before, dropOldest lowers *before to the start of that week, so that the week stays.
func (s *Store) dropOldest(ctx context.Context, table receiptTable, before *string) (rows int, dropped bool, err error) {
	err = s.changePartitions(ctx, "drop old receipts", func(tx pgx.Tx) error {
		rows, dropped = 0, false
		partitions, err := readPartitions(ctx, tx, table)
		if err != nil {
			return err
		}
		for _, p := range partitions {
			switch {
			case p.to <= *before:
				// The caller needs the number of removed rows. The count uses the primary key and does
				// not block readers or writers.
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
