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

func TestRootFindsAnIdentityForEachFolder(t *testing.T) {
	requireRoot(t)
	ordinary := rootIdentities()[0]
	for name, c := range map[string]struct {
		owner     int // user id of the folder's owner
		mode      os.FileMode
		onlyLinux bool
		ordinary  bool // the server runs as an ordinary user
	}{
		"a folder open to all":                    {owner: 0, mode: 0o755, ordinary: true},
		"a folder that only root can enter":       {owner: 0, mode: 0o700, onlyLinux: true},
		"a home that only another user can enter": {owner: 12345, mode: 0o700, onlyLinux: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.onlyLinux && runtime.GOOS != "linux" {
				t.Skip("only Linux has identities that can enter such a folder")
			}
			home := openFolder(t)
			require.NoError(t, os.Chown(home, c.owner, c.owner))
			require.NoError(t, os.Chmod(home, c.mode))
			server := start(t, filepath.Join(home, "data"))
			commitRow(t, server.DSN())

			assert.Equal(t, c.ordinary, server.identity.name == ordinary.name, server.identity.name)
			assert.NotEqual(t, "0", uidOf(t, server.DSN()))
			assert.True(t, ownedBy(server.cluster(), server.identity.uid))
		})
	}
}

// Each identity must work alone, because the identities before it fail in some containers. It must also
// become the owner of files that belong to another user.
func TestEachIdentityOfRootWorksAndTakesOverFiles(t *testing.T) {
	requireRoot(t)
	dir := filepath.Join(openFolder(t), "data")
	first := start(t, dir)
	commitRow(t, first.DSN())
	require.NoError(t, first.Stop())
	for _, id := range rootIdentities() {
		t.Run(id.name, func(t *testing.T) {
			l, err := acquire(dir, "")
			require.NoError(t, err)
			server := newServer(dir, first.cfg, l)
			server.bin, server.identity = first.bin, id
			require.NoError(t, server.launch(t.Context()))
			defer server.Stop()

			requireRow(t, server.DSN())
			assert.NotEqual(t, "0", uidOf(t, server.DSN()))
			assert.True(t, ownedBy(server.cluster(), id.uid))
		})
	}
}

func TestOrdinaryUserNeedsNoRoot(t *testing.T) {
	home := openFolder(t)
	var as *syscall.Credential // nil: the current user is not root
	if os.Geteuid() == 0 {
		unprivileged, err := user.Lookup("nobody")
		require.NoError(t, err)
		uid, err := strconv.Atoi(unprivileged.Uid)
		require.NoError(t, err)
		gid, err := strconv.Atoi(unprivileged.Gid)
		require.NoError(t, err)
		as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		require.NoError(t, os.Chown(home, uid, gid))
	}
	dir := filepath.Join(home, strings.Repeat("long ", 30))

	first := startOwner(t, dir, as)
	commitRow(t, first.DSN)
	require.NoError(t, first.input.Close())
	require.NoError(t, first.Wait())

	killed := startOwner(t, dir, as)
	requireRow(t, killed.DSN)
	require.NoError(t, killed.Process.Kill())
	require.Error(t, killed.Wait(), "a killed process ends with an error; it holds the lock until then")
	requireRow(t, startOwner(t, dir, as).DSN)
}

func requireRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can test how root changes the user of the server")
	}
}

// uidOf returns the user id of the server's processes in their own user namespace.
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
