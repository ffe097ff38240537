package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/loadaware/loadaware/internal/pglocal"
)

// benchEnv has a private PostgreSQL with fsync, servers of the built binary with authentication, and echo servers.
type benchEnv struct {
	dir       string
	bin       string
	db        *pglocal.Server
	loadCPU   string // CPU core of the load generators wrk and pgbench
	token     string // of an administrator
	processes []*exec.Cmd
	client    http.Client
}

func newBenchEnv(ctx context.Context, bin, loadCPU string) (*benchEnv, error) {
	dir, err := os.MkdirTemp("", "bench-http-env-")
	if err != nil {
		return nil, err
	}
	// If this process is root, PostgreSQL runs as another user, who must be able to enter the folder.
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // a temporary folder of this process
		return nil, err
	}
	db, err := pglocal.Start(ctx, pglocal.Config{DataDir: filepath.Join(dir, "data"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &benchEnv{dir: dir, bin: bin, db: db, loadCPU: loadCPU, token: rand.Text(), client: http.Client{Timeout: 15 * time.Minute}}, nil
}

func (e *benchEnv) close() error {
	for i := len(e.processes) - 1; i >= 0; i-- {
		end(e.processes[i])
	}
	return errors.Join(e.db.Stop(), pglocal.Remove(context.Background(), e.db.DataDir()), os.RemoveAll(e.dir))
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	_ = cmd.Wait() // the exit code does not matter
}

// pinDatabase pins PostgreSQL to cores, such as "0-1". New backends inherit the cores from the postmaster.
func (e *benchEnv) pinDatabase(ctx context.Context, cpu string) error {
	text, err := os.ReadFile(filepath.Join(e.db.DataDir(), "postgres", "postmaster.pid"))
	if err != nil {
		return err
	}
	postmaster, _, _ := strings.Cut(string(text), "\n")
	children, err := exec.CommandContext(ctx, "ps", "-o", "pid=", "--ppid", postmaster).Output()
	if err != nil {
		return err
	}
	for _, pid := range append(strings.Fields(string(children)), postmaster) {
		// A child may end before taskset reaches it.
		if out, err := exec.CommandContext(ctx, "taskset", "-a", "-p", "-c", cpu, pid).CombinedOutput(); err != nil && pid == postmaster {
			return fmt.Errorf("taskset: %w: %s", err, out)
		}
	}
	return nil
}

type server struct {
	cmd   *exec.Cmd
	url   string
	admin string        // URL of the admin listener
	ready time.Duration // from the start to the readiness
}

// serve starts the service on the core `cpu`, or on any core if `cpu` is empty.
func (e *benchEnv) serve(ctx context.Context, cpu string, dsn string) (*server, error) {
	addr, admin, err := freeAddresses()
	if err != nil {
		return nil, err
	}
	cmd := pinned(ctx, cpu, e.bin, "serve", "--addr", addr, "--admin-addr", admin, "--database", dsn, "--search-every", "0")
	cmd.Env = append(os.Environ(), fmt.Sprintf("LOADAWARE_TOKENS=admin:%x", sha256.Sum256([]byte(e.token))))
	return e.launch(ctx, cmd, addr, admin, "/readyz")
}

func (e *benchEnv) serveEcho(ctx context.Context, cpu string) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	addr, _, err := freeAddresses()
	if err != nil {
		return nil, err
	}
	return e.launch(ctx, pinned(ctx, cpu, self, "-echo", addr), addr, "", "/")
}

// launch starts a server and waits until its readyPath answers with a status below 500.
func (e *benchEnv) launch(ctx context.Context, cmd *exec.Cmd, addr, admin, readyPath string) (*server, error) {
	log, err := os.OpenFile(filepath.Join(e.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	e.processes = append(e.processes, cmd)
	s := &server{cmd: cmd, url: "http://" + addr, admin: "http://" + admin}
	for deadline := start.Add(2 * time.Minute); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(2 * time.Millisecond) {
		r, err := e.client.Get(s.url + readyPath)
		if err != nil {
			continue
		}
		r.Body.Close()
		if r.StatusCode < http.StatusInternalServerError {
			s.ready = time.Since(start)
			return s, nil
		}
	}
	text, _ := os.ReadFile(log.Name())
	return nil, fmt.Errorf("start %s: not ready: %s", cmd.Path, text)
}

func (e *benchEnv) call(ctx context.Context, url string, body, answer any) error {
	return e.post(ctx, url, text(body), answer)
}

func (e *benchEnv) post(ctx context.Context, url, body string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+e.token)
	got, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	answerText, err := io.ReadAll(got.Body)
	if err != nil {
		return err
	}
	if got.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %.500s", url, got.Status, answerText)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(bytes.NewReader(answerText)).Decode(answer)
}

// addTask reports runs in batches, oldest first, and trains a model.
func (e *benchEnv) addTask(ctx context.Context, s *server, seed uint64, task string, runs int) error {
	r := newRandom(seed)
	firstEnd := time.Now().Add(-time.Duration(runs+10) * time.Minute).UTC()
	for first := 0; first < runs; first += 500 {
		var batch []object
		for i := first; i < min(runs, first+500); i++ {
			batch = append(batch, observeRequest(r, task, fmt.Sprintf("history-%06d", i), firstEnd.Add(time.Duration(i)*time.Minute)))
		}
		if err := e.call(ctx, s.url+"/observe/batch", object{"observations": batch}, nil); err != nil {
			return err
		}
	}
	return e.call(ctx, s.url+"/tasks/"+dagID+"/"+task+"/train", object{}, nil)
}

func (s *server) residentMemory() (int64, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if kib, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kib), " kB"), 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("read resident memory: no VmRSS in /proc/PID/status")
}

// cpuTime returns the CPU time of the server since its start: user and system time.
func (s *server) cpuTime() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/stat")
	if err != nil {
		return 0, err
	}
	_, afterName, _ := strings.Cut(string(stat), ") ") // the name may contain spaces
	fields := strings.Fields(afterName)
	if len(fields) < 13 {
		return 0, fmt.Errorf("read CPU time: unexpected /proc/PID/stat: %q", stat)
	}
	user, errUser := strconv.ParseInt(fields[11], 10, 64)
	system, errSystem := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // USER_HZ is 100 on Linux
	return time.Duration(user+system) * tick, errors.Join(errUser, errSystem)
}

func freeAddresses() (first, second string, err error) {
	a, errA := net.Listen("tcp", "127.0.0.1:0")
	b, errB := net.Listen("tcp", "127.0.0.1:0")
	if err := errors.Join(errA, errB); err != nil {
		return "", "", err
	}
	defer a.Close()
	defer b.Close()
	return a.Addr().String(), b.Addr().String(), nil
}
