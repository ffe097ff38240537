package main

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/loadaware/loadaware/internal/store"
)

// receipts looks whether retention makes their weeks ahead of time: if next week has no
// partition, it has not for three weeks.
func (d *diagnosis) receipts(ctx context.Context, conn *pgx.Conn) error {
	d.looked("receipts")
	var may, ahead, strays bool
	err := conn.QueryRow(ctx, `SELECT pg_has_role(relowner, 'USAGE') AND has_schema_privilege(relnamespace, 'CREATE'),
			EXISTS (SELECT FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
				WHERE inhparent = receipt.oid AND substring(pg_get_expr(relpartbound, inhrelid) FROM $$TO \('([^']*)'\)$$) COLLATE "C" > $1)
		FROM pg_class AS receipt WHERE oid = 'receipt'::regclass`, store.FirstID(d.now().AddDate(0, 0, 7))).Scan(&may, &ahead)
	if err == nil && !may {
		d.mind("receipts", "make it the owner of the tables receipt and receipt_…, and let it create tables",
			"the user may not make and drop partitions: receipts are deleted row by row, and retention says that it fails")
		return nil
	}
	if err == nil && !ahead {
		d.mind("receipts", "see that a server runs for more than an hour, and its log for retention that fails", "receipts of next week have no partition")
	}
	if err == nil {
		err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM receipt_other)`).Scan(&strays)
	}
	if strays {
		d.mind("receipts", "see that the clocks of all replicas are right", "receipts lie in receipt_other, for their week had no partition: they are deleted row by row")
	}
	return err
}
