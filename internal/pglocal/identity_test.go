package pglocal

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRootFindsAFootingWhereverTheDataLie(t *testing.T) {
	requireRoot(t)
	plain := rootFootings()[0]
	for claim, c := range map[string]struct {
		owner int
		mode  os.FileMode
		linux bool
		plain bool // the server is an ordinary user for the kernel too
	}{
		"a folder open to all":             {owner: 0, mode: 0o755, plain: true},
		"a folder of root closed to all":   {owner: 0, mode: 0o700, linux: true},
		"a closed home of some other user": {owner: 12345, mode: 0o700, linux: true},
	} {
		t.Run(claim, func(t *testing.T) {
			if c.linux && runtime.GOOS != "linux" {
				t.Skip("only Linux lets root's server reach a closed folder")
			}
			home := openFolder(t)
			require.NoError(t, os.Chown(home, c.owner, c.owner))
			require.NoError(t, os.Chmod(home, c.mode))
			server := start(t, filepath.Join(home, "data"))
			keepSomething(t, server.DSN())

			assert.Equal(t, c.plain, server.footing.name == plain.name, server.footing.name)
			assert.NotEqual(t, "0", uidOf(t, server.DSN()))
			assert.True(t, ownedBy(server.cluster(), server.footing.uid))
		})
	}
}

// Each footing must work where those before it are refused, as containers refuse
// some, and take over the files of another.
func TestEachFootingOfRootWorksAndTakesOver(t *testing.T) {
	requireRoot(t)
	dir := filepath.Join(openFolder(t), "data")
	first := start(t, dir)
	keepSomething(t, first.DSN())
	require.NoError(t, first.Stop())
	for _, f := range rootFootings() {
		t.Run(f.name, func(t *testing.T) {
			held, err := acquire(dir, "")
			require.NoError(t, err)
			server := newServer(dir, first.cfg, held)
			server.bin, server.footing = first.bin, f
			require.NoError(t, server.launch(t.Context()))
			defer server.Stop()

			requireKept(t, server.DSN())
			assert.NotEqual(t, "0", uidOf(t, server.DSN()))
			assert.True(t, ownedBy(server.cluster(), f.uid))
		})
	}
}

func TestAnOrdinaryUserNeedsNothingOfRoot(t *testing.T) {
	home := openFolder(t)
	var as *syscall.Credential // nil: we are an ordinary user already
	if os.Geteuid() == 0 {
		nobody, err := user.Lookup("nobody")
		require.NoError(t, err)
		uid, err := strconv.Atoi(nobody.Uid)
		require.NoError(t, err)
		gid, err := strconv.Atoi(nobody.Gid)
		require.NoError(t, err)
		as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		require.NoError(t, os.Chown(home, uid, gid))
	}
	dir := filepath.Join(home, strings.Repeat("long ", 30))

	first := startHolder(t, dir, as)
	keepSomething(t, first.DSN)
	require.NoError(t, first.input.Close())
	require.NoError(t, first.Wait())

	killed := startHolder(t, dir, as)
	requireKept(t, killed.DSN)
	require.NoError(t, killed.Process.Kill())
	requireKept(t, startHolder(t, dir, as).DSN)
}

func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("how root gives up its rights can be tested by root only; run the tests as root too")
	}
}

// uidOf is who the server is in its own eyes.
func uidOf(t *testing.T, dsn string) (uid string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE TEMP TABLE me (uid text); COPY me FROM PROGRAM 'id -u'")
	require.NoError(t, err)
	require.NoError(t, conn.QueryRow(ctx, "SELECT uid FROM me").Scan(&uid))
	return uid
}
