package main

import (
	"bytes"
	"encoding/json"
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
)

// learner is the process that learns beside a server; 0 if none does now.
func (p *process) learner() int {
	children, _ := exec.Command("pgrep", "-P", strconv.Itoa(p.cmd.Process.Pid)).Output() // fails where there are none
	pid, _ := strconv.Atoi(strings.TrimSpace(string(children)))
	return pid
}

func gone(pid int) func() bool {
	return func() bool { return syscall.Kill(pid, 0) != nil }
}

// trained is a server that knows a task, and the process that learned it.
func trained(t *testing.T, args ...string) (*process, int) {
	server := startServer(t, database(t), args...)
	for n := range 30 {
		server.post("/observe", report("load", n), nil)
	}
	assert.Equal(t, 1, server.train(t).Version)
	learner := server.learner()
	require.NotZero(t, learner)
	return server, learner
}

type trainedTo struct {
	Trained bool
	Version int
}

func (p *process) train(t *testing.T) (got trainedTo) {
	t.Helper()
	p.post("/tasks/crash/load/train", struct{}{}, &got)
	return got
}

func TestKilledTrainerIsRestarted(t *testing.T) {
	server, learner := trained(t)
	require.NoError(t, syscall.Kill(learner, syscall.SIGKILL))
	server.post("/predict", map[string]any{"dag_id": "crash", "task_id": "load", "features": map[string]any{"n": 3}}, nil)
	server.said.await(t, "trainer ended; restarting it")
	assert.Greater(t, server.train(t).Version, 1, "an order waits for the next one")
	assert.NotEqual(t, learner, server.learner())
}

func TestTrainerMetrics(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is told on Linux")
	}
	server, _ := trained(t, "--admin-addr", "127.0.0.1:0")
	told := scrape(t, "http://"+server.said.await(t, "metrics are at http://"))
	for _, name := range []string{"cpu_seconds_total", "resident_memory_bytes"} {
		assert.Regexp(t, `(?m)^loadaware_learner_process_`+name+` [0-9.]*[1-9]`, told)
	}
}

func TestTrainerStopsWithServer(t *testing.T) {
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
		server, learner := trained(t)
		server.signal(end)
		_ = server.wait() // an error where it was killed
		assert.Eventually(t, gone(learner), 10*time.Second, 20*time.Millisecond, end.String())
	}
}

func TestTrainerHasLowerPriority(t *testing.T) {
	server, learner := trained(t)
	nice := func(pid int) int {
		raw, err := exec.Command("ps", "-o", "ni=", "-p", strconv.Itoa(pid)).Output()
		require.NoError(t, err)
		n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		require.NoError(t, err)
		return n
	}
	assert.Greater(t, nice(learner), nice(server.cmd.Process.Pid))
}

// What the learner refuses is told in the words of whoever asked.
func TestTrainingOfUnknownTask(t *testing.T) {
	server, _ := trained(t)
	response, err := http.Post(server.url+"/tasks/crash/nobody/train", "application/json", bytes.NewReader([]byte("{}")))
	require.NoError(t, err)
	defer response.Body.Close()
	var problem struct{ Detail string }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&problem))
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	assert.Contains(t, problem.Detail, "crash/nobody")
}
