package app

import (
	"context"

	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/migrations"
)

const compactReceiptsStep = 11

// RevertMigrations reverts the newest migrations; `steps` is their number. If compactReceiptsStep is among them, it first
// stores the compact receipts as JSON, the form that earlier versions read.
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

func expandReceipts(ctx context.Context, dsn string) error {
	st, err := postgres.Open(ctx, dsn, postgres.Config{})
	if err != nil {
		return err
	}
	defer st.Close()
	return st.ExpandReceipts(ctx)
}
