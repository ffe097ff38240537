package main

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/testwait"
)

// trainer returns the process id of the trainer of the server, or 0 if no trainer runs.
func (p *process) trainer() int {
	children, _ := exec.Command("pgrep", "-P", strconv.Itoa(p.cmd.Process.Pid)).Output() // fails without children
	pid, _ := strconv.Atoi(strings.TrimSpace(string(children)))
	return pid
}

func hasEnded(pid int) func() bool {
	return func() bool { return syscall.Kill(pid, 0) != nil }
}

// startTrained starts a server, trains a task and returns the server and the process id of its trainer.
func startTrained(t *testing.T, args ...string) (*process, int) {
	server := startServer(t, append(database(t), onlyRequested), args...)
	for n := range 30 {
		server.post("/observe", report("load", n), nil)
	}
	assert.Equal(t, 1, server.train(t).Version)
	trainer := server.trainer()
	require.NotZero(t, trainer)
	return server, trainer
}

type training struct {
	Trained bool
	Version int
}

func (p *process) train(t *testing.T) (got training) {
	t.Helper()
	p.post("/tasks/crash/load/train", struct{}{}, &got)
	return got
}

func TestKilledTrainerIsRestarted(t *testing.T) {
	server, trainer := startTrained(t)
	require.NoError(t, syscall.Kill(trainer, syscall.SIGKILL))
	server.post("/predict", map[string]any{"dag_id": "crash", "task_id": "load", "features": map[string]any{"n": 3}}, nil)
	server.output.await(t, "trainer ended; restarting it")
	assert.Greater(t, server.train(t).Version, 1, "a training request waits for the next process")
	assert.NotEqual(t, trainer, server.trainer())
}

func TestServerExportsMetricsOfTrainer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has these metrics")
	}
	server, _ := startTrained(t, "--admin-addr", "127.0.0.1:0")
	metrics := scrape(t, "http://"+server.output.await(t, "metrics are at http://"))
	for _, name := range []string{"cpu_seconds_total", "resident_memory_bytes"} {
		assert.Regexp(t, `(?m)^loadaware_learner_process_`+name+` [0-9.]*[1-9]`, metrics)
	}
}

func TestTrainerStopsWithServer(t *testing.T) {
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		server, trainer := startTrained(t)
		server.signal(end)
		_ = server.wait() // an error after SIGKILL
		assert.Eventually(t, hasEnded(trainer), testwait.Limit, 20*time.Millisecond, end.String())
	}
}

func TestTrainerHasLowerPriority(t *testing.T) {
	server, trainer := startTrained(t)
	// nice returns the lowest nice value of the threads of a process. The thread of the server that
	// started the trainer may have the trainer's priority.
	nice := func(pid int) int {
		raw, err := exec.Command("ps", "-L", "-o", "ni=", "-p", strconv.Itoa(pid)).Output()
		require.NoError(t, err)
		lowest := math.MaxInt
		for _, value := range strings.Fields(string(raw)) {
			n, err := strconv.Atoi(value)
			require.NoError(t, err)
			lowest = min(lowest, n)
		}
		return lowest
	}
	assert.Greater(t, nice(trainer), nice(server.cmd.Process.Pid))
}

func TestErrorOfTrainingNamesUnknownTask(t *testing.T) {
	server, _ := startTrained(t)
	response, err := http.Post(server.url+"/tasks/crash/absent/train", "application/json", bytes.NewReader([]byte("{}")))
	require.NoError(t, err)
	defer response.Body.Close()
	var problem struct{ Detail string }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&problem))
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	assert.Contains(t, problem.Detail, "crash/absent")
}
