// Package pgtest gives each test an empty database of its own in a real PostgreSQL.
//
// The cluster is private to the test run: that of LOADAWARE_TEST_DSN if set (the
// command withpg starts one for all packages, as `make test` does), else one for
// each test process. It knows nothing of tables: the test migrates.
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

// Env names the variable that holds the DSN of a cluster to be shared.
const Env = "LOADAWARE_TEST_DSN"

// DSN is the URL of a new, empty database, dropped at the end of the test. It
// fails the test when there is no PostgreSQL: no test is skipped for want of one.
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
	ctx := context.Background() // a cleanup runs after the test's own context has ended
	conn, err := pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	require.NoError(t, err)
}

// cluster is the one thing that tests of a process share, started by the first
// that asks. Nothing tells a test process that it ends: the server ends with it
// (on macOS at the next run), and the next run removes the folder.
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

// Start starts a cluster in a new temporary folder, fast and unsafe, after
// removing the folders that earlier runs have left.
func Start(ctx context.Context) (*pglocal.Server, error) {
	prefix := filepath.Join(os.TempDir(), "loadaware-test-")
	removeOld(ctx, prefix)
	return pglocal.Start(ctx, pglocal.Config{
		DataDir: prefix + rand.Text(),
		Unsafe:  true,
		Log:     slog.New(slog.DiscardHandler),
	})
}

// removeOld leaves alone what is in use, and what is so new that its owner may be
// about to lock it.
func removeOld(ctx context.Context, prefix string) {
	dirs, _ := filepath.Glob(prefix + "*") // fails on a malformed pattern only
	for _, dir := range dirs {
		info, err := os.Lstat(dir)
		if err == nil && info.IsDir() && ours(info) && time.Since(info.ModTime()) > time.Minute {
			_ = pglocal.Remove(ctx, dir)
		}
	}
}

// ours tells our own folders, for anybody may lay a folder or a link into a shared
// temporary folder.
func ours(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
