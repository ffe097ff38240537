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

func TestFoldersThatEarlierRunsLeftAreRemoved(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	long := time.Now().Add(-time.Hour)
	precious := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.Mkdir(precious, 0o700))
	left := filepath.Join(tmp, "loadaware-test-LEFT")
	link := filepath.Join(tmp, "loadaware-test-LINK")
	fresh := filepath.Join(tmp, "loadaware-test-FRESH")
	require.NoError(t, os.Mkdir(left, 0o700))
	require.NoError(t, os.Mkdir(fresh, 0o700))
	require.NoError(t, os.Symlink(precious, link))
	require.NoError(t, os.Chtimes(left, long, long))
	require.NoError(t, os.Chtimes(precious, long, long))

	server, err := pgtest.Start(context.Background())
	require.NoError(t, err)
	require.NoError(t, server.Stop())

	assert.NoDirExists(t, left)
	assert.DirExists(t, fresh, "its owner may be about to use it")
	assert.NoFileExists(t, filepath.Join(precious, "lock"), "a link is not followed")
	assert.DirExists(t, precious)
}
