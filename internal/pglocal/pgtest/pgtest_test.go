package pgtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
)

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	ctx := context.Background()
	one, err := pgx.Connect(ctx, pgtest.DSN(t))
	require.NoError(t, err)
	defer one.Close(ctx)
	two, err := pgx.Connect(ctx, pgtest.DSN(t))
	require.NoError(t, err)
	defer two.Close(ctx)

	_, err = one.Exec(ctx, "CREATE TABLE only_here ()")
	require.NoError(t, err)

	var seen *string
	require.NoError(t, two.QueryRow(ctx, "SELECT to_regclass('only_here')::text").Scan(&seen))
	assert.Nil(t, seen)
}

func TestTheDatabaseIsDroppedAtTheEndOfTheTest(t *testing.T) {
	ctx := context.Background()
	var gone string
	t.Run("a test that leaves a connection open", func(t *testing.T) {
		gone = pgtest.DSN(t)
		_, err := pgx.Connect(ctx, gone)
		require.NoError(t, err)
	})
	_, err := pgx.Connect(ctx, gone)
	assert.ErrorContains(t, err, "does not exist")
}
