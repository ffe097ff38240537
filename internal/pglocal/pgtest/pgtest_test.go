package pgtest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
)

func TestEachDSNHasItsOwnDatabase(t *testing.T) {
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

func TestDatabaseIsDroppedAfterTheTest(t *testing.T) {
	ctx := context.Background()
	var dropped string
	t.Run("a test that leaves a connection open", func(t *testing.T) {
		dropped = pgtest.DSN(t)
		_, err := pgx.Connect(ctx, dropped)
		require.NoError(t, err)
	})
	_, err := pgx.Connect(ctx, dropped)
	assert.ErrorContains(t, err, "does not exist")
}

func TestFoldersOfEarlierRunsAreRemoved(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	hourAgo := time.Now().Add(-time.Hour)
	foreign := filepath.Join(t.TempDir(), "foreign")
	require.NoError(t, os.Mkdir(foreign, 0o700))
	old := filepath.Join(tmp, "loadaware-test-LEFT")
	link := filepath.Join(tmp, "loadaware-test-LINK")
	fresh := filepath.Join(tmp, "loadaware-test-FRESH")
	require.NoError(t, os.Mkdir(old, 0o700))
	require.NoError(t, os.Mkdir(fresh, 0o700))
	require.NoError(t, os.Symlink(foreign, link))
	require.NoError(t, os.Chtimes(old, hourAgo, hourAgo))
	require.NoError(t, os.Chtimes(foreign, hourAgo, hourAgo))

	server, err := pgtest.Start(context.Background())
	require.NoError(t, err)
	require.NoError(t, server.Stop())

	assert.NoDirExists(t, old)
	assert.DirExists(t, fresh, "the fresh folder must stay, because a process that has not locked it yet may use it")
	assert.NoFileExists(t, filepath.Join(foreign, "lock"), "the removal must not follow a link")
	assert.DirExists(t, foreign)
}
