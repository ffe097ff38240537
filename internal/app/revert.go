package app

import (
	"context"

	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/migrations"
)

// compactReceiptsStep is the number of the migration that creates the tables of compact receipts.
const compactReceiptsStep = 11

// RevertMigrations reverts the newest migrations; `steps` is their number. If the migration that created the
// tables of compact receipts is among them, RevertMigrations first stores the compact receipts as JSON, the form that
// earlier versions read.
func RevertMigrations(ctx context.Context, dsn string, steps int) error {
	current, isDirty, _, err := migrations.Status(ctx, dsn)
	if err != nil {
		return err
	}
	if !isDirty && current >= compactReceiptsStep && migrations.Target(current, steps) < compactReceiptsStep {
		if err := expandReceipts(ctx, dsn); err != nil {
			return err
		}
	}
	return migrations.Down(ctx, dsn, steps)
}

// expandReceipts stores the compact receipts as JSON.
func expandReceipts(ctx context.Context, dsn string) error {
	st, err := postgres.Open(ctx, dsn, postgres.Config{})
	if err != nil {
		return err
	}
	defer st.Close()
	return st.ExpandReceipts(ctx)
}
