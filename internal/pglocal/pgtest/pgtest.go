// Package pgtest gives each test its own empty database in a real PostgreSQL.
//
// The cluster is that of LOADAWARE_TEST_DSN if it is set (the command withpg starts one for all
// packages, as `make test` does), or else a private one per test process. It knows nothing of
// tables: the test migrates.
package pgtest

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/url"
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

// DSN returns the URL of a new, empty database and drops it at the end of the test. Without a
// PostgreSQL the test fails; it is not skipped.
func DSN(t testing.TB) string {
	t.Helper()
	cluster, err := cluster()
	require.NoError(t, err)
	name := "test_" + rand.Text()
	run(t, cluster, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	t.Cleanup(func() { run(t, cluster, "DROP DATABASE "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)") })

	dsn, err := url.Parse(cluster)
	require.NoError(t, err)
	dsn.Path = "/" + name
	return dsn.String()
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

// cluster starts the cluster that the tests of a process share, on first use. A test process has no
// hook for its end, so Pdeathsig ends the server (on macOS the next run does), and the next run
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
	prefix := filepath.Join(os.TempDir(), "loadaware-test-")
	removeOld(ctx, prefix)
	return pglocal.Start(ctx, pglocal.Config{
		DataDir: prefix + rand.Text(),
		Unsafe:  true,
		Log:     slog.New(slog.DiscardHandler),
	})
}

// removeOld removes folders of earlier runs, except those in use and those so new that their owner
// may not have locked them yet.
func removeOld(ctx context.Context, prefix string) {
	dirs, _ := filepath.Glob(prefix + "*") // fails only on a malformed pattern
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err == nil && info.IsDir() && isOwn(info) && time.Since(info.ModTime()) > time.Minute {
			_ = pglocal.Remove(ctx, dir)
		}
	}
}

// isOwn reports whether the current user owns the folder: in a shared temporary folder other users
// may create folders and links.
func isOwn(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
