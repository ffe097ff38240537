package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of database/sql with which TestWaitingMigrationRollsBackOnSignal locks a table
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/interrupt"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/testwait"
)

type launchedProcess struct {
	*process
	in io.WriteCloser
}

func launch(t *testing.T, env []string, args ...string) *launchedProcess {
	t.Helper()
	p := &process{t: t, output: new(transcript)}
	p.cmd = exec.Command(os.Args[0], args...)
	p.cmd.Env = append(cleanEnv(), append(env, asCommand+"=1")...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	in, err := p.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // a failed test leaves it running
		_ = p.wait()
	})
	return &launchedProcess{p, in}
}

// requireEndBy sends a signal. It requires that the process ends with the exit code of the signal, and prints the name of
// the signal.
func (l *launchedProcess) requireEndBy(s syscall.Signal) {
	l.t.Helper()
	l.signal(s)
	ended := make(chan struct{})
	go func() { _ = l.wait(); close(ended) }()
	select {
	case <-ended:
		assert.Equal(l.t, 128+int(s), l.cmd.ProcessState.ExitCode(), l.output.String())
		assert.Contains(l.t, l.output.String(), "interrupted by "+interrupt.SignalName(s))
	case <-time.After(testwait.Limit):
		require.FailNow(l.t, "the process ignores "+interrupt.SignalName(s), l.output.String())
	}
}

var bothSignals = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}

// longHistory returns a history of one task as CSV. Its runs do not overlap. To replay or fit 30,000 rows takes more than
// 10 s of CPU time.
func longHistory(rows int) string {
	var text strings.Builder
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	text.WriteString("dag_id,task_id,run_id,started_at,duration_s,memory_max_bytes,feature.rows\n")
	for i := range rows {
		at := start.Add(time.Duration(i) * time.Minute).Format(time.RFC3339)
		fmt.Fprintf(&text, "d,a,r%d,%s,30,%d,%d\n", i, at, 1_000_000_000+i*7919%100_003*10_000, i*7919%100_003)
	}
	return text.String()
}

// The test writes more than 1 MiB of input and leaves the pipe open. A pipe buffers less, so the command has read the
// beginning and waits for more.
func TestCommandsReadingStandardInputStopOnSignal(t *testing.T) {
	server := startServer(t, database(t))
	history := longHistory(30_000)
	require.Greater(t, len(history), 1<<20)
	for _, args := range [][]string{
		{"import", "--url", server.url, "-"}, {"import", "--dry-run", "-"},
		{"backtest", "-"}, {"experiment", "run", "--trace", "-"},
	} {
		for _, s := range bothSignals {
			t.Run(strings.Join(args[:2], " ")+" "+interrupt.SignalName(s), func(t *testing.T) {
				l := launch(t, nil, args...)
				_, err := io.WriteString(l.in, history)
				require.NoError(t, err, l.output.String())
				l.requireEndBy(s)
			})
		}
	}
}

// The test writes more than 1 MiB of input. A pipe buffers little of it, so the command has read nearly all and begins to
// compute.
func TestComputingCommandsStopOnSignal(t *testing.T) {
	history := longHistory(30_000)
	for _, args := range [][]string{
		{"backtest", "-"},
		{"backtest", "--policies", "loadaware", "--feedback", "delayed", "-"},
		{"experiment", "run", "--trace", "-", "--trials", "1000", "--seeds", "50"},
	} {
		for _, s := range bothSignals {
			t.Run(strings.Join(args[:2], " ")+" "+interrupt.SignalName(s), func(t *testing.T) {
				l := launch(t, nil, args...)
				_, err := io.WriteString(l.in, history)
				require.NoError(t, err, l.output.String())
				require.NoError(t, l.in.Close())
				l.requireEndBy(s)
			})
		}
	}
}

// hangingServer starts a server that accepts connections and never responds. reached receives one value for each connection.
func hangingServer(t *testing.T) (addr string, reached <-chan struct{}) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	connected := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			connected <- struct{}{}
		}
	}()
	t.Cleanup(func() { l.Close() })
	return l.Addr().String(), connected
}

func TestCommandsWaitingForServerStopOnSignal(t *testing.T) {
	file := demoFile(t)
	for _, args := range [][]string{
		{"import", "--url", "http://SERVER", file},
		{"import", "airflow", "--url", "http://SERVER", "--dry-run"},
		{"import", "prometheus", "--url", "http://SERVER", "--from", "2026-01-01", "--dry-run"},
		{"doctor", "--url", "http://SERVER", "--data", "absent"},
		{"import", "--strict", "--url", "http://SERVER", file},
		{"tasks", "--url", "http://SERVER"},
		{"predict", "d/t", "--url", "http://SERVER"},
		{"policy", "set", "d/t", "--mode", "off", "--url", "http://SERVER"},
		{"train", "d/t", "--url", "http://SERVER"},
		{"experiment", "list", "--url", "http://SERVER"},
		{"experiment", "run", "--trace", "absent", "--save", "x", "--url", "http://SERVER"},
		{"experiment", "list", "--database", "postgres://u@SERVER/d"},
		{"experiment", "run", "--database", "postgres://u@SERVER/d"},
		{"migrate", "up", "--database", "postgres://u@SERVER/d"},
		{"train", "--database", "postgres://u@SERVER/d"},
	} {
		for _, s := range bothSignals {
			t.Run(strings.Join(args[:2], " ")+" "+interrupt.SignalName(s), func(t *testing.T) {
				addr, reached := hangingServer(t)
				replaced := make([]string, len(args))
				for i := range args {
					replaced[i] = strings.ReplaceAll(args[i], "SERVER", addr)
				}
				l := launch(t, nil, replaced...)
				select {
				case <-reached:
				case <-time.After(testwait.Limit):
					require.FailNow(t, "the command does not connect to the server", l.output.String())
				}
				l.requireEndBy(s)
			})
		}
	}
}

// The interruption must also stop the private PostgreSQL, so that the next process can use the folder.
func TestInterruptedImportReleasesDataFolder(t *testing.T) {
	dir := dataFolder(t)
	for _, s := range bothSignals {
		l := launch(t, nil, "import", "--data", dir, "-")
		_, err := io.WriteString(l.in, longHistory(30_000))
		require.NoError(t, err, l.output.String())
		l.requireEndBy(s)
	}
	code, _, stderr := invoke(t, "", "experiment", "list", "--data", dir)
	assert.Zero(t, code, stderr)
}

// The server answers the first batch only.
func TestInterruptedImportPrintsCounts(t *testing.T) {
	blocked := make(chan struct{}, 10)
	batches := 0
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct{ Observations []json.RawMessage }
		_ = json.NewDecoder(r.Body).Decode(&request)
		if batches++; batches > 1 {
			blocked <- struct{}{}
			<-r.Context().Done()
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"results": make([]struct{}, len(request.Observations))})
	}))
	t.Cleanup(slow.Close)
	for _, s := range bothSignals {
		batches = 0
		l := launch(t, nil, "import", "--url", slow.URL, "--batch", "100", demoFile(t))
		<-blocked
		l.requireEndBy(s)
		assert.Contains(t, l.output.String(), "100 new")
		assert.Contains(t, l.output.String(), "stored rows stay; repeat the import")
	}
}

// This trainer has no server. serve ends the trainer that it starts; see TestTrainerStopsWithServer.
func TestStandaloneTrainerStopsOnSignal(t *testing.T) {
	env := database(t)
	for _, s := range bothSignals {
		l := launch(t, env, "train")
		_, err := io.WriteString(l.in, `{"id": 1, "task": {"Namespace": "default", "DAG": "d", "Task": "absent"}}`+"\n")
		require.NoError(t, err)
		l.output.await(t, "{") // the trainer answers
		l.requireEndBy(s)
	}
}

// The migration waits for a locked table.
func TestWaitingMigrationRollsBackOnSignal(t *testing.T) {
	for _, s := range bothSignals {
		dsn := pgtest.Migrated(t)
		code, _, stderr := invoke(t, "", "migrate", "down", "--database", dsn)
		require.Zero(t, code, stderr)
		db, err := sql.Open("pgx", dsn)
		require.NoError(t, err)
		other, err := db.Begin()
		require.NoError(t, err)
		_, err = other.Exec("LOCK TABLE task IN ACCESS SHARE MODE; LOCK TABLE observation IN ACCESS EXCLUSIVE MODE; LOCK TABLE receipt IN ACCESS EXCLUSIVE MODE; LOCK TABLE model IN ACCESS EXCLUSIVE MODE")
		require.NoError(t, err)
		l := launch(t, nil, "migrate", "down", "100", "--database", dsn)
		require.Eventually(t, func() bool {
			var waiting int
			require.NoError(t, db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()").Scan(&waiting))
			return waiting > 0
		}, testwait.Limit, 10*time.Millisecond, "%s", l.output)
		l.requireEndBy(s)
		require.NoError(t, other.Rollback())
		require.NoError(t, db.Close())
		code, _, stderr = invoke(t, "", "migrate", "up", "--database", dsn)
		assert.Zero(t, code, stderr)
	}
}

// One signal must end serve while it imports and trains the demo.
func TestServeStopsOnSignalDuringDemoImport(t *testing.T) {
	for _, s := range bothSignals {
		server := startServer(t, database(t), "--demo")
		server.signal(s)
		require.NoError(t, server.wait(), server.output.String())
	}
}
