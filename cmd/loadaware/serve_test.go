package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/testwait"
)

func TestDemoPredictsFromModel(t *testing.T) {
	server := startServer(t, emptyDatabase(t), "--demo")
	server.output.await(t, "Try:")
	assert.Equal(t, 150, server.observations("pricing", "predict_demand"))
	var answer struct {
		Source string
		Memory struct {
			LimitBytes int64 `json:"limit_bytes"`
		}
	}
	server.post("/predict", map[string]any{
		"dag_id": "pricing", "task_id": "predict_demand", "requested": map[string]any{"memory": "350Gi"},
		"features": map[string]any{"product_count": 400, "region": "apac", "sale_start": "2020-02-05", "sale_end": "2020-02-25"},
	}, &answer)
	assert.Equal(t, "model", answer.Source)
	assert.Less(t, answer.Memory.LimitBytes, int64(100<<30))
}

func TestDemoDoesNotChangeFilledStore(t *testing.T) {
	env := database(t)
	server := startServer(t, env)
	server.post("/observe", report("own", 0), nil)
	server.signal(syscall.SIGTERM)
	require.NoError(t, server.wait())
	server = startServer(t, env, "--demo")
	server.output.await(t, "Try:")
	response, err := http.Get(server.url + "/tasks/pricing/predict_demand")
	require.NoError(t, err)
	defer response.Body.Close()
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
}

func report(task string, n int) map[string]any {
	return map[string]any{
		"dag_id": "crash", "task_id": task, "run_id": fmt.Sprintf("r%06d", n), "outcome": "success",
		"memory_max_bytes": 1_000_000_000 + n, "features": map[string]any{"n": n},
	}
}

func TestSecondServerReportsAddressOfFirst(t *testing.T) {
	dir := dataFolder(t)
	first := startServer(t, nil, "--data", dir)
	addr := strings.TrimPrefix(first.url, "http://")
	for name, args := range map[string][]string{
		"on another address":  {"serve", "--addr", "127.0.0.1:0", "--admin-addr", "", "--data", dir},
		"on the same address": {"serve", "--addr", addr, "--admin-addr", "", "--data", dir},
	} {
		code, _, stderr := invoke(t, "", args...)
		assert.Equal(t, 1, code, name)
		assert.Contains(t, stderr, "serves at "+addr, name)
		assert.Contains(t, stderr, fmt.Sprint(first.cmd.Process.Pid), name)
	}
	t.Run("an import into the folder uses the first server", func(t *testing.T) {
		code, out, stderr := invoke(t, "dag_id,task_id,run_id,memory_max_bytes\ncrash,imported,r1,1000000000\n", "import", "--data", dir, "-")
		assert.Equal(t, 0, code, stderr)
		assert.Contains(t, out, "1 new")
		assert.Equal(t, 1, first.observations("crash", "imported"))
	})
}

func TestAddressInUseByOtherProgram(t *testing.T) {
	first := startServer(t, database(t))
	addr := strings.TrimPrefix(first.url, "http://")
	code, _, stderr := invoke(t, "", "serve", "--addr", addr, "--data", dataFolder(t))
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "another program serves on "+addr)
}

// startReport sends the head of a report request, without its body.
func startReport(t *testing.T, server *process, body string) net.Conn {
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "POST /observe HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body))
	// The server sends 100 Continue when the handler reads the body.
	line, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100")
	return conn
}

func TestShutdownFinishesRequestsInFlight(t *testing.T) {
	const body = `{"dag_id":"crash","task_id":"drained","run_id":"r","outcome":"success","memory_max_bytes":1000}`
	for _, s := range []os.Signal{syscall.SIGTERM, os.Interrupt, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			server := startServer(t, database(t))
			conn := startReport(t, server, body)
			server.signal(s)
			server.output.await(t, "stopping")
			fmt.Fprint(conn, body)
			response, err := io.ReadAll(conn)
			require.NoError(t, err)
			assert.Contains(t, string(response), `"recorded":true`)
			assert.NoError(t, server.wait(), server.output.String())
		})
	}
}

func TestSecondSignalStopsAtOnce(t *testing.T) {
	server := startServer(t, database(t))
	startReport(t, server, "{}") // a request that never ends
	server.signal(syscall.SIGTERM)
	server.output.await(t, "stopping")
	server.signal(syscall.SIGTERM)
	var ended *exec.ExitError
	require.ErrorAs(t, server.wait(), &ended)
	assert.Equal(t, syscall.SIGTERM, ended.Sys().(syscall.WaitStatus).Signal())
}

func TestShutdownStoresReceipts(t *testing.T) {
	env := database(t)
	server := startServer(t, env)
	var answer struct {
		PredictionID string `json:"prediction_id"`
	}
	server.post("/predict", map[string]any{"dag_id": "d", "task_id": "t", "run_id": "r", "requested": map[string]any{"memory": "1Gi"}}, &answer)
	server.signal(syscall.SIGTERM)
	require.NoError(t, server.wait())
	server = startServer(t, env)
	response, err := http.Get(server.url + "/predictions/" + answer.PredictionID)
	require.NoError(t, err)
	defer response.Body.Close()
	assert.Equal(t, http.StatusOK, response.StatusCode)
}

func TestTokensAreRequired(t *testing.T) {
	code, out, _ := invoke(t, "", "token", "--role", "observe")
	require.Zero(t, code)
	fields := strings.Fields(out) // token: TOKEN granted: GRANT
	require.Len(t, fields, 4)
	server := startServer(t, append(database(t), "LOADAWARE_TOKENS="+fields[3]))
	row := "dag_id,task_id,run_id,memory_max_bytes\nd,t,r1,1000000000\n"
	code, _, stderr := invoke(t, row, "import", "--url", server.url, "-")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "--token")
	code, out, stderr = invoke(t, row, "import", "--url", server.url, "--token", fields[1], "-")
	assert.Equal(t, 0, code, stderr)
	assert.Contains(t, out, "1 new")
}

// The test kills the server under load. Every acknowledged report must exist after the restart, and repeated reports count
// once.
func TestKillDuringReportsLosesNothing(t *testing.T) {
	const senders, batch, enough = 4, 25, 600
	dir := dataFolder(t)
	server := startServer(t, nil, "--data", dir)
	var next, acked atomic.Int64
	batches := make(chan [2]int, 10_000) // number of the first report of a batch, and 1 if the batch was acknowledged
	ctx, cancel := context.WithTimeout(t.Context(), testwait.Limit)
	defer cancel()
	done := make(chan struct{})
	for range senders {
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil {
				first := int(next.Add(batch)) - batch
				if !sendBatch(ctx, server.url, first, batch) {
					batches <- [2]int{first, 0}
					return // killed
				}
				acked.Add(batch)
				batches <- [2]int{first, 1}
			}
		}()
	}
	for acked.Load() < enough && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	server.kill()
	for range senders {
		<-done
	}
	close(batches)
	require.GreaterOrEqual(t, acked.Load(), int64(enough), "enough reports are acknowledged before the kill")

	server = startServer(t, nil, "--data", dir)
	lost, sent := 0, 0
	for b := range batches {
		for n := b[0]; n < b[0]+batch; n++ {
			var answer struct{ Duplicate bool }
			server.post("/observe", report("load", n), &answer)
			sent++
			if b[1] == 1 && !answer.Duplicate {
				lost++
			}
		}
	}
	assert.Zero(t, lost, "no acknowledged report is lost")
	assert.Equal(t, sent, server.observations("crash", "load"), "each report counts once")
	t.Logf("%d reports were acknowledged before the kill, and %d were sent in all", acked.Load(), sent)
}

// sendBatch reports whether the server acknowledges the batch.
func sendBatch(ctx context.Context, url string, first, n int) bool {
	var reports []any
	for i := range n {
		reports = append(reports, report("load", first+i))
	}
	status, _, err := post(ctx, url+"/observe/batch", map[string]any{"observations": reports})
	return err == nil && status == http.StatusOK
}
