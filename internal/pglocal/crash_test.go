package pglocal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCommittedDataSurvivesAKill(t *testing.T) {
	for description, name := range map[string]string{"socket in the data folder": "data", "socket in a temporary folder": strings.Repeat("long ", 30)} {
		t.Run(description, func(t *testing.T) {
			dir := filepath.Join(openFolder(t), name)
			killed := startOwner(t, dir, nil)
			commitRow(t, killed.DSN)
			server := readPostmaster(filepath.Join(dir, "postgres")).pid
			before, err := os.ReadFile(filepath.Join(dir, "lock"))
			require.NoError(t, err)

			require.NoError(t, killed.Process.Kill())
			require.Error(t, killed.Wait(), "a killed process ends with an error; it holds the lock until then")
			if runtime.GOOS == "linux" {
				eventually(t, "the server ends with its parent", func() bool { return commandLine(server) == nil })
			}
			again := startSafe(t, dir)
			requireRow(t, again.DSN())
			if !strings.HasPrefix(again.socket, dir) {
				assert.NoDirExists(t, socketIn(t, before), "the socket of the killed process must be removed")
			}
		})
	}
}

func socketIn(t *testing.T, lockFile []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lock")
	require.NoError(t, os.WriteFile(path, lockFile, 0o600))
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	socket := readInfo(file).Socket
	require.NotEmpty(t, socket)
	return socket
}

func TestDeadServerIsRestarted(t *testing.T) {
	server := startSafe(t, filepath.Join(openFolder(t), "data"))
	commitRow(t, server.DSN())
	for range 2 {
		died := readPostmaster(server.cluster()).pid
		require.NoError(t, syscall.Kill(died, syscall.SIGKILL))
		eventually(t, "the restarted server accepts connections", func() bool {
			_, err := query(server.DSN(), "SELECT 'ready'")
			return err == nil && readPostmaster(server.cluster()).pid != died
		})
		requireRow(t, server.DSN())
	}
}

func TestOrphanedServerIsStopped(t *testing.T) {
	dir := filepath.Join(openFolder(t), "data")
	first := startSafe(t, dir)
	commitRow(t, first.DSN())
	require.NoError(t, first.Stop())

	require.NoError(t, os.MkdirAll(first.socket, 0o700))
	require.NoError(t, first.identity.chown(first.socket))
	orphan := first.identity.command(exec.Command(first.bin.path("postgres"), first.settings()...))
	require.NoError(t, orphan.Start())
	ended := make(chan struct{})
	go func() { orphan.Wait(); close(ended) }()
	eventually(t, "the orphan is ready", func() bool { return readPostmaster(first.cluster()).status == "ready" })

	requireRow(t, startSafe(t, dir).DSN())
	<-ended
}

// The operating system reuses process ids. After a reboot any process, even one of the same user, may have
// the id that the pid file of a dead server contains.
func TestUnrelatedProcessWithTheSameIDIsNotSignalled(t *testing.T) {
	server := start(t, filepath.Join(openFolder(t), "data"))
	commitRow(t, server.DSN())
	left, err := os.ReadFile(pidFile(server.cluster()))
	require.NoError(t, err)
	require.NoError(t, server.Stop())
	for process, args := range map[string][]string{
		"a program of another kind":       {"sh", "-c", "read line"},
		"a server of another data folder": {"postgres", "-c", "read line", "-D", "/"},
	} {
		t.Run(process, func(t *testing.T) {
			unrelated := server.identity.command(&exec.Cmd{Path: "/bin/sh", Args: args})
			input, err := unrelated.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, unrelated.Start())
			_, rest, _ := bytes.Cut(left, []byte("\n"))
			stale := fmt.Appendf(nil, "%d\n%s", unrelated.Process.Pid, rest)
			require.NoError(t, os.WriteFile(pidFile(server.cluster()), stale, 0o600))
			require.NoError(t, os.Chown(pidFile(server.cluster()), server.identity.uid, server.identity.gid))

			requireRow(t, start(t, server.DataDir()).DSN())
			_, err = fmt.Fprintln(input, "end")
			require.NoError(t, err)
			require.NoError(t, unrelated.Wait(), "the process must end by itself, without a signal")
		})
	}
}

func TestStopSucceedsWhileTheServerIsDown(t *testing.T) {
	server := start(t, filepath.Join(openFolder(t), "data"))
	require.NoError(t, syscall.Kill(readPostmaster(server.cluster()).pid, syscall.SIGKILL))
	require.NoError(t, server.Stop())
}

func TestCancelledStartLeavesNothingRunning(t *testing.T) {
	dir := filepath.Join(openFolder(t), "data")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Start(ctx, Config{DataDir: dir})
	require.ErrorIs(t, err, context.Canceled)
	commitRow(t, startSafe(t, dir).DSN())
}
