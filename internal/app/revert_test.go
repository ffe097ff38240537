package app

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/migrations"
)

// RevertMigrations stores compact receipts as JSON, which an earlier version reads. After the next upgrade this
// version reads these receipts, and stores new ones as JSON for a day.
func TestRevertMigrationsKeepsReceiptsReadable(t *testing.T) {
	dsn := pgtest.DSN(t)
	newest, err := migrations.Newest()
	require.NoError(t, err)
	steps := 0 // the smallest number of migrations that includes compactReceiptsStep; the version numbers have gaps
	for at := newest; at >= compactReceiptsStep; at = migrations.Target(newest, steps) {
		steps++
	}
	require.NoError(t, migrations.Up(t.Context(), dsn))
	st, err := postgres.Open(t.Context(), dsn, postgres.Config{})
	require.NoError(t, err)
	defer st.Close()
	promised := 0.125
	key := sizing.TaskKey{Namespace: "default", DAG: "d", Task: "t"}
	saved := sizing.Receipt{
		At:  time.Now().UTC(),
		Ask: sizing.Ask{Try: sizing.TryKey{TaskKey: key, RunID: "r", Number: 1}, Features: sizing.Features{"n": sizing.NumberValue(7)}},
		Allocation: sizing.Allocation{PredictionID: "01a205f4-8ef6-7ea6-a692-68408648643b", Task: key, Memory: sizing.Grant{Request: 3, Limit: 4},
			Risk: sizing.Risk{Promised: &promised}, Reason: "why 7", Guard: sizing.Guard{Version: 8, Params: []float64{0.1}}},
	}
	require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{saved}))
	require.NoError(t, RevertMigrations(t.Context(), dsn, steps))

	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var stored struct{ Ask sizing.Ask }
	var guard []float64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT body, guard FROM receipt WHERE prediction_id = $1", saved.Allocation.PredictionID).Scan(&stored, &guard))
	require.Equal(t, saved.Ask, stored.Ask)
	require.Equal(t, saved.Allocation.Guard.Params, guard)

	require.NoError(t, migrations.Up(t.Context(), dsn))
	got, err := st.Receipt(t.Context(), saved.Allocation.PredictionID)
	require.NoError(t, err)
	require.Equal(t, saved, got)
	var waits bool
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT compact_from > now() + interval '23 hours' FROM receipt_format").Scan(&waits))
	require.True(t, waits, "after an upgrade the database stores JSON for a day, which the earlier version reads")

	_, err = conn.Exec(t.Context(), "UPDATE receipt_format SET compact_from = '-infinity'")
	require.NoError(t, err)
	again, err := postgres.Open(t.Context(), dsn, postgres.Config{})
	require.NoError(t, err)
	defer again.Close()
	saved.Allocation.PredictionID = "01a205f4-8ef6-7ea6-a692-68408648643c"
	require.NoError(t, again.SaveReceipts(t.Context(), []sizing.Receipt{saved}))
	require.ErrorContains(t, migrations.Down(t.Context(), dsn, steps), "loadaware migrate down", "migrations.Down does not convert receipts, so it must fail")
}
