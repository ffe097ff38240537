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

// Replica is one `loadaware serve`. Its addresses stay the same through restarts.
type Replica struct {
	URL   string // of the API, without a final slash
	Admin string // of /metrics and /debug/pprof
	Log   string // the file that it writes to

	Binary   string // may be changed between Kill and Start
	Database string // DATABASE_URL, likewise; that of the cluster if empty
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

// Start starts the replica and returns once /readyz says so. It does nothing while
// the replica runs.
func (r *Replica) Start(ctx context.Context) error {
	if err := r.Launch(); err != nil {
		return err
	}
	return r.Ready(ctx)
}

// Launch starts the replica without waiting for it.
func (r *Replica) Launch() (err error) {
	if r.proc.running() {
		return nil
	}
	cfg := r.cluster.cfg
	command := append(append([]string(nil), cfg.Wrap...), r.Binary, "serve", "--addr", r.addr, "--admin-addr", strings.TrimPrefix(r.Admin, "http://"))
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.cluster.Dir, "DATABASE_URL=" + cmp.Or(r.Database, cfg.Database, r.cluster.Postgres.DSN())}
	r.proc, err = launch(append(command, cfg.Args...), append(env, cfg.Env...), r.Log)
	return err
}

// Ready waits until /readyz says 200.
func (r *Replica) Ready(ctx context.Context) error {
	for {
		status, says, _ := r.Call(ctx, http.MethodGet, "/readyz", nil)
		switch {
		case status == http.StatusOK:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s is not ready (%d %s), see %s: %w", r.URL, status, says, r.Log, ctx.Err())
		case !r.proc.running():
			return fmt.Errorf("%s ended by itself, see %s", r.URL, r.Log)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// PID is the process id; 0 while it does not run.
func (r *Replica) PID() int {
	if !r.proc.running() {
		return 0
	}
	return r.proc.cmd.Process.Pid
}

// Kill is kill -9.
func (r *Replica) Kill() {
	_ = r.proc.end(syscall.SIGKILL, time.Minute) // nothing outlives it
}

// Term is SIGTERM, and waits for the end. An error if it took longer than the drain
// may, or ended otherwise than well, or had ended by itself.
func (r *Replica) Term() error {
	if r.proc == nil || r.proc.told {
		return nil
	}
	if !r.proc.running() {
		return fmt.Errorf("%s ended by itself, see %s", r.URL, r.Log)
	}
	if err := r.proc.end(syscall.SIGTERM, 20*time.Second); err != nil {
		return err
	}
	if code := r.proc.cmd.ProcessState.ExitCode(); code != 0 {
		return fmt.Errorf("%s ended with exit code %d after SIGTERM, see %s", r.URL, code, r.Log)
	}
	return nil
}

// client keeps enough connections alive for many callers at once.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024, IdleConnTimeout: 30 * time.Second}}

// Call sends body as JSON ([]byte as it is; nil: no body) and returns the status and
// the answer; status 0 and an error when there was none.
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
	says, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil, err // an answer that broke off is none
	}
	return response.StatusCode, says, nil
}
