package pglocal

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReopenedFolderHasTheSameData(t *testing.T) {
	for description, name := range map[string]string{
		"a path with \" and comma":             `a "b", c`,
		"a path that is too long for a socket": strings.Repeat("long ", 30),
	} {
		t.Run(description, func(t *testing.T) {
			dir := filepath.Join(openFolder(t), name)
			server := start(t, dir)
			commitRow(t, server.DSN())
			require.NoError(t, server.Stop())

			requireRow(t, start(t, dir).DSN())
		})
	}
}

func TestRunningServer(t *testing.T) {
	for name, value := range map[string]string{"PGDATA": "/nowhere", "PGPORT": "1", "LC_ALL": "xx_YY", "TZ": "Asia/Tokyo"} {
		t.Setenv(name, value)
	}
	server := startSafe(t, filepath.Join(openFolder(t), "data"))

	t.Run("ignores the environment and has fsync on", func(t *testing.T) {
		for setting, want := range map[string]string{
			"server_encoding": "UTF8", "lc_collate": "C", "TimeZone": "UTC", "listen_addresses": "",
			"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on",
		} {
			got, err := query(server.DSN(), "SHOW "+setting)
			require.NoError(t, err)
			assert.Equal(t, want, got, setting)
		}
	})
	t.Run("has a socket that other users cannot open", func(t *testing.T) {
		info, err := os.Stat(server.socket)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
		assert.True(t, ownedBy(server.socket, server.identity.uid))
	})
	t.Run("survives Remove", func(t *testing.T) {
		var inUse *InUseError
		require.ErrorAs(t, Remove(context.Background(), server.DataDir()), &inUse)
		_, err := query(server.DSN(), "SELECT 'undisturbed'")
		assert.NoError(t, err)
	})
}

func TestSecondProcessGetsInUseError(t *testing.T) {
	dir := filepath.Join(openFolder(t), "data")
	first := startOwner(t, dir, nil)

	_, err := Start(context.Background(), Config{DataDir: dir})

	var inUse *InUseError
	require.ErrorAs(t, err, &inUse)
	assert.Equal(t, first.Process.Pid, inUse.PID)
	assert.Equal(t, "127.0.0.1:8080", inUse.Addr)
	_, err = query(first.DSN, "SELECT 'undisturbed'")
	assert.NoError(t, err)
}

func TestStopReleasesTheFolderAndIsIdempotent(t *testing.T) {
	dir := filepath.Join(openFolder(t), strings.Repeat("long ", 30))
	server := start(t, dir)
	require.NoError(t, server.Stop())
	require.NoError(t, server.Stop())

	assert.NoDirExists(t, server.socket)
	assert.Zero(t, readPostmaster(server.cluster()).pid)
	require.NoError(t, Remove(context.Background(), dir))
	assert.NoDirExists(t, dir)
}

func TestClusterOfAnotherVersionIsRejectedUnchanged(t *testing.T) {
	dir := filepath.Join(openFolder(t), "data")
	server := start(t, dir)
	commitRow(t, server.DSN())
	require.NoError(t, server.Stop())
	version := filepath.Join(server.cluster(), "PG_VERSION")
	real, err := os.ReadFile(version)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(version, []byte("9\n"), 0o600))

	_, err = Start(context.Background(), Config{DataDir: dir})
	require.ErrorContains(t, err, "made by PostgreSQL 9")
	require.ErrorContains(t, err, "nothing was changed")

	require.NoError(t, os.WriteFile(version, real, 0o600))
	requireRow(t, start(t, dir).DSN())
}

func TestIncompleteClusterIsCreatedAgain(t *testing.T) {
	dir := filepath.Join(openFolder(t), "data")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "postgres.new", "base"), 0o700))
	commitRow(t, start(t, dir).DSN())
	assert.NoDirExists(t, filepath.Join(dir, "postgres.new"))
}

func TestStartErrorHasTheServerOutput(t *testing.T) {
	dir := filepath.Join(openFolder(t), "data")
	server := start(t, dir)
	require.NoError(t, server.Stop())
	require.NoError(t, os.WriteFile(filepath.Join(server.cluster(), "postgresql.conf"), []byte("no_such_setting = 1\n"), 0o644))

	_, err := Start(context.Background(), Config{DataDir: dir})
	require.ErrorContains(t, err, "no_such_setting")
	l, err := acquire(dir, "")
	require.NoError(t, err, "a failed start must release the folder")
	require.NoError(t, l.release())
}

func TestAFailedLockReleasesTheFolder(t *testing.T) {
	const notJSON = "/proc/self/oom_score_adj" // can be locked, but a write of JSON fails
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has " + notJSON)
	}
	dir := t.TempDir()
	require.NoError(t, os.Symlink(notJSON, filepath.Join(dir, "lock")))
	for range 2 { // the second error is not InUseError
		_, err := acquire(dir, "")
		require.ErrorIs(t, err, syscall.EINVAL)
	}
}

func TestStartNeedsADataDir(t *testing.T) {
	_, err := Start(context.Background(), Config{})
	require.ErrorContains(t, err, "no data folder")
}
