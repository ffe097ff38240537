package postgres_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/store"
	"github.com/loadaware/loadaware/internal/store/postgres"
	"github.com/loadaware/loadaware/internal/store/storetest"
	"github.com/loadaware/loadaware/migrations"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, pgtest.DSN(t)) })
}

// open migrates an empty database and opens a store on it.
func open(t testing.TB, dsn string) *postgres.Store {
	t.Helper()
	ctx := context.Background()
	require.NoError(t, migrations.Up(ctx, dsn))
	st, err := postgres.Open(ctx, dsn, postgres.Config{})
	require.NoError(t, err)
	t.Cleanup(st.Close)
	return st
}
