package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
)

const week = 7 * 24 * time.Hour

// monday starts a week for which a new store has no partition.
var monday = time.Date(2040, 1, 2, 0, 0, 0, 0, time.UTC)

func saveReceipt(t *testing.T, st *postgres.Store, at time.Time) (id string) {
	t.Helper()
	id = store.FirstID(at) + "-7000-8000-000000000000"
	require.NoError(t, st.SaveReceipts(t.Context(), []sizing.Receipt{{At: at, Ask: sizing.Ask{Try: run(0).Try},
		Allocation: sizing.Allocation{PredictionID: id, Task: run(0).Try.TaskKey}}}))
	return id
}

// A long read of all partitions blocks changes of partitions. Such a change gives up after a second, because other writers
// wait for the change.
func TestPartitionChangesGiveUpDuringALongRead(t *testing.T) {
	dsn := pgtest.Migrated(t)
	st, reader := open(t, dsn), connect(t, dsn)
	require.NoError(t, st.MakeWeeks(t.Context(), monday, monday))
	old := saveReceipt(t, st, monday)
	_, err := reader.Exec(t.Context(), "BEGIN; SELECT FROM receipt")
	require.NoError(t, err)

	requireUnavailable(t, st.RemoveReceipts(t.Context(), store.FirstID(monday.Add(week)), nil), "a lock was not acquired in time")
	requireUnavailable(t, st.MakeWeeks(t.Context(), monday, monday.Add(week)), "a lock was not acquired in time")
	_, err = st.Receipt(t.Context(), old)
	require.NoError(t, err)
	saveReceipt(t, st, monday.Add(week))

	_, err = reader.Exec(t.Context(), "COMMIT")
	require.NoError(t, err)
	require.NoError(t, st.MakeWeeks(t.Context(), monday, monday.Add(week)))
	n := 0
	require.NoError(t, st.RemoveReceipts(t.Context(), store.FirstID(monday.Add(week)), func(rows int) error { n += rows; return nil }))
	require.Equal(t, 1, n)
}

// In some installations the service does not own its tables and may neither create nor drop partitions. Then it deletes old
// rows.
func TestUserWithoutOwnershipDeletesOldReceipts(t *testing.T) {
	dsn := pgtest.Migrated(t)
	owner := open(t, dsn)
	require.NoError(t, owner.MakeWeeks(t.Context(), monday, monday))
	admin := connect(t, dsn)
	role := pgx.Identifier{"non_owner_" + fmt.Sprint(time.Now().UnixNano())}.Sanitize()
	for _, sql := range []string{
		"CREATE ROLE " + role, "GRANT SELECT, INSERT, UPDATE, DELETE ON receipt, receipt_compact, receipt_name, receipt_word, receipt_format TO " + role,
	} {
		_, err := admin.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), dsn)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		require.NoError(t, err)
	})
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	q := u.Query()
	q.Set("role", role[1:len(role)-1])
	u.RawQuery = q.Encode()
	nonOwner := reopen(t, u.String())

	requireUnavailable(t, nonOwner.MakeWeeks(t.Context(), monday, monday.Add(week)), "lacks a privilege")
	old, recent := saveReceipt(t, nonOwner, monday), saveReceipt(t, nonOwner, monday.Add(week))
	n := 0
	require.NoError(t, nonOwner.RemoveReceipts(t.Context(), store.FirstID(monday.Add(week)), func(rows int) error { n += rows; return nil }))
	require.Equal(t, 1, n)
	_, err = owner.Receipt(t.Context(), old)
	require.Equal(t, sizing.NotFound, sizing.KindOf(err))
	_, err = owner.Receipt(t.Context(), recent)
	require.NoError(t, err)
}
