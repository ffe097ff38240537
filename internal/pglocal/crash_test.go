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

func TestNothingCommittedIsLostWhenWeAreKilled(t *testing.T) {
	for claim, name := range map[string]string{"socket in the folder": "data", "socket elsewhere": strings.Repeat("long ", 30)} {
		t.Run(claim, func(t *testing.T) {
			dir := filepath.Join(openFolder(t), name)
			killed := startHolder(t, dir, nil)
			keepSomething(t, killed.DSN)
			server := readPostmaster(filepath.Join(dir, "postgres")).pid
			before, err := os.ReadFile(filepath.Join(dir, "lock"))
			require.NoError(t, err)

			require.NoError(t, killed.Process.Kill())
			if runtime.GOOS == "linux" {
				eventually(t, "the server ends with us", func() bool { return commandLine(server) == nil })
			}
			again := startSafe(t, dir)
			requireKept(t, again.DSN())
			if !strings.HasPrefix(again.socket, dir) {
				assert.NoDirExists(t, socketIn(t, before), "the socket of the killed is tidied away")
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
	socket := readNote(file).Socket
	require.NotEmpty(t, socket)
	return socket
}

func TestAServerThatDiesIsStartedAgain(t *testing.T) {
	server := startSafe(t, filepath.Join(openFolder(t), "data"))
	keepSomething(t, server.DSN())
	for range 2 {
		died := readPostmaster(server.cluster()).pid
		require.NoError(t, syscall.Kill(died, syscall.SIGKILL))
		eventually(t, "another server takes connections", func() bool {
			_, err := ask(server.DSN(), "SELECT 'here'")
			return err == nil && readPostmaster(server.cluster()).pid != died
		})
		requireKept(t, server.DSN())
	}
}

func TestAServerLeftRunningIsStopped(t *testing.T) {
	dir := filepath.Join(openFolder(t), "data")
	first := startSafe(t, dir)
	keepSomething(t, first.DSN())
	require.NoError(t, first.Stop())

	require.NoError(t, os.MkdirAll(first.socket, 0o700))
	require.NoError(t, first.footing.give(first.socket))
	orphan := first.footing.command(exec.Command(first.bin.path("postgres"), first.settings()...))
	require.NoError(t, orphan.Start())
	gone := make(chan struct{})
	go func() { orphan.Wait(); close(gone) }()
	eventually(t, "the orphan serves", func() bool { return readPostmaster(first.cluster()).status == "ready" })

	requireKept(t, startSafe(t, dir).DSN())
	<-gone
}

// Numbers come round again: after a reboot the number of the dead server may be
// that of anything, of our own user too.
func TestAnUnrelatedProcessOfTheSameNumberIsSpared(t *testing.T) {
	server := start(t, filepath.Join(openFolder(t), "data"))
	keepSomething(t, server.DSN())
	left, err := os.ReadFile(pidFile(server.cluster()))
	require.NoError(t, err)
	require.NoError(t, server.Stop())
	for claim, args := range map[string][]string{
		"a program of another kind":       {"sh", "-c", "read line"},
		"a server of another data folder": {"postgres", "-c", "read line", "-D", "/"},
	} {
		t.Run(claim, func(t *testing.T) {
			bystander := server.footing.command(&exec.Cmd{Path: "/bin/sh", Args: args})
			input, err := bystander.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, bystander.Start())
			_, rest, _ := bytes.Cut(left, []byte("\n"))
			stale := fmt.Appendf(nil, "%d\n%s", bystander.Process.Pid, rest)
			require.NoError(t, os.WriteFile(pidFile(server.cluster()), stale, 0o600))
			require.NoError(t, os.Chown(pidFile(server.cluster()), server.footing.uid, server.footing.gid))

			requireKept(t, start(t, server.DataDir()).DSN())
			_, err = fmt.Fprintln(input, "you may go")
			require.NoError(t, err)
			require.NoError(t, bystander.Wait(), "it lived on, and ended of its own accord")
		})
	}
}

func TestStopWhileTheServerIsDown(t *testing.T) {
	server := start(t, filepath.Join(openFolder(t), "data"))
	require.NoError(t, syscall.Kill(readPostmaster(server.cluster()).pid, syscall.SIGKILL))
	require.NoError(t, server.Stop())
}

func TestAStartThatIsGivenUpLeavesNothingRunning(t *testing.T) {
	dir := filepath.Join(openFolder(t), "data")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Start(ctx, Config{DataDir: dir})
	require.ErrorIs(t, err, context.Canceled)
	keepSomething(t, startSafe(t, dir).DSN())
}
