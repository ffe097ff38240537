package pglocal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/testwait"
)

// ownerEnv is an environment variable with a data folder. If it is set, this test binary runs no tests: it
// only runs a server in that folder until its input ends. Tests kill such a process, or run it as another
// user.
const ownerEnv = "PGLOCAL_TEST_OWNER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerEnv); dir != "" {
		useFolder(dir)
		return
	}
	os.Exit(m.Run())
}

func useFolder(dir string) {
	server, err := Start(context.Background(), Config{DataDir: dir, Addr: "127.0.0.1:8080", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println(server.DSN())
	io.Copy(io.Discard, os.Stdin)
	if err := server.Stop(); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

type owner struct {
	*exec.Cmd
	DSN   string
	input io.Closer
}

func startOwner(t *testing.T, dir string, as *syscall.Credential) owner {
	t.Helper()
	cmd := exec.Command(publicCopyOfThisBinary(t))
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), ownerEnv+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { input.Close(); cmd.Wait() })

	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(line, "postgres://"), line)
	return owner{cmd, strings.TrimSpace(line), input}
}

// publicCopyOfThisBinary copies the test binary into a folder that every user can enter. go test
// stores the binary in a folder that only its owner can enter.
func publicCopyOfThisBinary(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	content, err := os.ReadFile(self)
	require.NoError(t, err)
	path := filepath.Join(openFolder(t), "owner")
	require.NoError(t, os.WriteFile(path, content, 0o755))
	return path
}

// openFolder returns a temporary folder, with spaces and quotes in its path, that every user can enter. When root
// runs the tests, the server's user cannot enter the folders of t.TempDir.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "a folder with 'quotes' ")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

func start(t *testing.T, dir string) *Server {
	t.Helper()
	return startWith(t, Config{DataDir: dir, Unsafe: true})
}

func startSafe(t *testing.T, dir string) *Server {
	t.Helper()
	return startWith(t, Config{DataDir: dir})
}

func startWith(t *testing.T, cfg Config) *Server {
	t.Helper()
	cfg.Log = slog.New(slog.DiscardHandler)
	server, err := Start(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	return server
}

func query(dsn, sql string) (answer string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, sql).Scan(&answer)
	return answer, err
}

func commitRow(t *testing.T, dsn string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE TABLE committed AS SELECT 'naïve 雪' AS word")
	require.NoError(t, err)
}

func requireRow(t *testing.T, dsn string) {
	t.Helper()
	word, err := query(dsn, "SELECT word FROM committed")
	require.NoError(t, err)
	require.Equal(t, "naïve 雪", word)
}

func eventually(t *testing.T, description string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, testwait.Limit, 20*time.Millisecond, description)
}
