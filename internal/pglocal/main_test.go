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
)

// holdEnv makes this test binary a process that holds the data folder it names,
// until its input ends: something to be killed, or to be run as somebody else.
const holdEnv = "PGLOCAL_TEST_HOLD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(holdEnv); dir != "" {
		hold(dir)
		return
	}
	os.Exit(m.Run())
}

func hold(dir string) {
	server, err := Start(context.Background(), Config{DataDir: dir, Holder: "127.0.0.1:8080", Log: slog.New(slog.DiscardHandler)})
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

// A holder is such a process.
type holder struct {
	*exec.Cmd
	DSN   string
	input io.Closer
}

// startHolder runs the test binary as a holder of dir; as is nil for this user.
func startHolder(t *testing.T, dir string, as *syscall.Credential) holder {
	t.Helper()
	cmd := exec.Command(publicCopyOfThisBinary(t))
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), holdEnv+"="+dir)
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
	return holder{cmd, strings.TrimSpace(line), input}
}

// publicCopyOfThisBinary is one that every user may run: go test keeps its own in
// a folder closed to others.
func publicCopyOfThisBinary(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	content, err := os.ReadFile(self)
	require.NoError(t, err)
	path := filepath.Join(openFolder(t), "holder")
	require.NoError(t, os.WriteFile(path, content, 0o755))
	return path
}

// openFolder is a temporary folder with spaces in its path, which every user may
// enter; those of t.TempDir are closed to the user that root's server runs as.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "a folder with 'quotes' ")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// start starts a fast server that is stopped at the end of the test.
func start(t *testing.T, dir string) *Server {
	t.Helper()
	return startWith(t, Config{DataDir: dir, Unsafe: true})
}

// startSafe starts one as for production, which may be killed.
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

// ask runs one statement that answers with one text.
func ask(dsn, sql string) (answer string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	return answer, conn.QueryRow(ctx, sql).Scan(&answer)
}

// keepSomething commits a row, and requireKept finds it again.
func keepSomething(t *testing.T, dsn string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	require.NoError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "CREATE TABLE kept AS SELECT 'naïve 雪' AS word")
	require.NoError(t, err)
}

func requireKept(t *testing.T, dsn string) {
	t.Helper()
	word, err := ask(dsn, "SELECT word FROM kept")
	require.NoError(t, err)
	require.Equal(t, "naïve 雪", word)
}

// eventually waits for what happens outside of this process.
func eventually(t *testing.T, claim string, holds func() bool) {
	t.Helper()
	require.Eventually(t, holds, 30*time.Second, 20*time.Millisecond, claim)
}
