package testcluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Replica is one process of `loadaware serve`. Restarts do not change its addresses.
type Replica struct {
	URL   string // of the API, without a trailing slash
	Admin string // URL of the admin listener with /metrics and /debug/pprof
	Log   string // path of its log file

	Binary   string // path of the program; a test may change it while the replica does not run
	Database string // DATABASE_URL; as in the Config of the cluster if empty; a test may change it while the replica does not run
	cluster  *Cluster
	addr     string
	proc     *process
}

func newReplica(cluster *Cluster, binary string) (*Replica, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	admin, err := FreePort()
	if err != nil {
		return nil, err
	}
	return &Replica{
		URL: "http://127.0.0.1:" + port, Admin: "http://127.0.0.1:" + admin, addr: "127.0.0.1:" + port,
		Log:    filepath.Join(cluster.Dir, fmt.Sprintf("replica-%d.log", len(cluster.Replicas)+1)),
		Binary: binary, cluster: cluster,
	}, nil
}

// Start starts the replica, unless it runs, and returns when /readyz answers 200.
func (r *Replica) Start(ctx context.Context) error {
	if err := r.Launch(); err != nil {
		return err
	}
	return r.WaitReady(ctx)
}

// Launch starts the replica, unless it runs. It does not wait until the replica is ready.
func (r *Replica) Launch() (err error) {
	if r.proc.running() {
		return nil
	}
	cfg := r.cluster.cfg
	command := append(append([]string(nil), cfg.Wrap...), r.Binary, "serve", "--addr", r.addr, "--admin-addr", strings.TrimPrefix(r.Admin, "http://"))
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.cluster.Dir, "DATABASE_URL=" + cmp.Or(r.Database, cfg.Database, r.cluster.Postgres.DSN())}
	if memory := os.Getenv("LOADAWARE_MODEL_MEMORY"); memory != "" { // to repeat a test with few models in memory
		env = append(env, "LOADAWARE_MODEL_MEMORY="+memory)
	}
	r.proc, err = launch(append(command, cfg.Args...), append(env, cfg.Env...), r.Log)
	return err
}

// WaitReady waits until /readyz answers 200.
func (r *Replica) WaitReady(ctx context.Context) error {
	for {
		status, answer, _ := r.Call(ctx, http.MethodGet, "/readyz", nil)
		switch {
		case status == http.StatusOK:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("wait for %s: not ready (status %d %s); see %s: %w", r.URL, status, answer, r.Log, ctx.Err())
		case !r.proc.running():
			return fmt.Errorf("wait for %s: the process ended by itself; see %s", r.URL, r.Log)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// PID returns the process id, or 0 if the replica does not run.
func (r *Replica) PID() int {
	if !r.proc.running() {
		return 0
	}
	return r.proc.cmd.Process.Pid
}

// Kill sends SIGKILL and waits until the replica has ended.
func (r *Replica) Kill() {
	_ = r.proc.end(syscall.SIGKILL, time.Minute) // no process survives SIGKILL
}

// Terminate sends SIGTERM and waits until the replica has ended. It returns an error if this took more than
// 20 s, if the exit code was not 0, or if the replica had ended by itself.
func (r *Replica) Terminate() error {
	if r.proc == nil || r.proc.terminated {
		return nil
	}
	if !r.proc.running() {
		return fmt.Errorf("terminate %s: the process ended by itself; see %s", r.URL, r.Log)
	}
	if err := r.proc.end(syscall.SIGTERM, 20*time.Second); err != nil {
		return err
	}
	if code := r.proc.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("terminate %s: exit code %d after SIGTERM; see %s", r.URL, code, r.Log)
	}
	return nil
}

// client keeps enough idle connections for many concurrent callers.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024, IdleConnTimeout: 30 * time.Second}}

// Call sends body as JSON and returns the status and the body of the answer. It sends a []byte
// unchanged, and no body for nil. Without an answer it returns the status 0 and an error.
func (r *Replica) Call(ctx context.Context, method, path string, body any) (int, []byte, error) {
	raw, ok := body.([]byte)
	if !ok && body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, r.URL+path, bytes.NewReader(raw))
	if err != nil {
		return 0, nil, err
	}
	if raw != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err // a truncated answer counts as no answer
	}
	return response.StatusCode, answer, nil
}
