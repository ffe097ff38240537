// Package pgtest gives each test its own database in a real PostgreSQL: an empty one, or one with all migrations.
//
// LOADAWARE_TEST_DSN names the cluster: `make test` uses the command withpg, which starts one cluster
// for all packages and sets the variable. Without it, each test process starts a private cluster.
package pgtest

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal"
)

// Env is the environment variable with the DSN of a shared cluster.
const Env = "LOADAWARE_TEST_DSN"

// DSN returns the URL of a new, empty database, and drops the database at the end of the test. Without a
// PostgreSQL the test fails; it is not skipped.
func DSN(t testing.TB) string {
	t.Helper()
	return create(t, "")
}

func create(t testing.TB, options string) string {
	t.Helper()
	cluster, err := cluster()
	require.NoError(t, err)
	name := "test_" + rand.Text()
	run(t, cluster, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" "+options)
	t.Cleanup(func() { run(t, cluster, "DROP DATABASE "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)") })
	dsn, err := inDatabase(cluster, name)
	require.NoError(t, err)
	return dsn
}

func run(t testing.TB, dsn, sql string) {
	t.Helper()
	ctx := context.Background() // a cleanup runs after the context of the test has ended
	conn, err := pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	require.NoError(t, err)
}

// cluster returns the DSN of the cluster that the tests of this process share. On first use it starts
// a private cluster if Env is not set. A test process has no hook at its end that could stop the server. On Linux the
// kernel ends the server together with the process (Pdeathsig); on macOS a later run ends the server. A later run also
// removes the folder.
var cluster = sync.OnceValues(func() (string, error) {
	if dsn := os.Getenv(Env); dsn != "" {
		return dsn, nil
	}
	server, err := Start(context.Background())
	if err != nil {
		return "", err
	}
	return server.DSN(), nil
})

// Start starts a cluster without fsync in a new temporary folder. It first removes the folders of
// earlier runs.
func Start(ctx context.Context) (*pglocal.Server, error) {
	prefix := filepath.Join(folder(), "loadaware-test-")
	removeOld(ctx, prefix)
	return pglocal.Start(ctx, pglocal.Config{
		DataDir: prefix + rand.Text(),
		Unsafe:  true,
		Log:     slog.New(slog.DiscardHandler),
	})
}

// memoryFolder is a folder in memory on most Linux systems. A migrated database has about 500 files, and copying
// them is several times faster there than on a disk.
const memoryFolder = "/dev/shm"

// minMemoryFolder is the free space, in bytes, that the databases of parallel tests need.
const minMemoryFolder = 4 << 30

func folder() string {
	if os.Getenv("TMPDIR") == "" && freeBytes(memoryFolder) >= minMemoryFolder {
		return memoryFolder
	}
	return os.TempDir()
}

// removeOld removes the folders whose paths begin with `prefix`, which earlier runs left. It keeps folders of other
// users, folders in use, and folders that changed in the last minute: a process that has just created such a folder may
// not have locked it yet.
func removeOld(ctx context.Context, prefix string) {
	dirs, _ := filepath.Glob(prefix + "*") // fails only on a malformed pattern
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err == nil && info.IsDir() && isOwn(info) && time.Since(info.ModTime()) > time.Minute {
			_ = pglocal.Remove(ctx, dir)
		}
	}
}

// isOwn reports whether the current user owns the folder. Other users may create folders and links in
// a shared temporary folder.
func isOwn(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
