package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/loadaware/loadaware/internal/testcluster"
)

// fuzzSchema runs schemathesis against the server. First it checks that schemathesis reports a proxy
// that answers every tenth request with 500.
func fuzzSchema(ctx context.Context, cluster *testcluster.Cluster, p options) error {
	root, err := testcluster.Root()
	if err != nil {
		return err
	}
	if err := install(ctx, root); err != nil {
		return err
	}
	counter := &countingProxy{target: cluster.Replicas[0].URL}
	broken := &countingProxy{target: cluster.Replicas[0].URL, failEvery: 10}
	if err := runSchemathesis(ctx, root, broken, p.seed, "--include-path", "/tasks", "--max-examples", "20", "--phases", "fuzzing"); err == nil {
		return fmt.Errorf("schemathesis did not report that every tenth of %d answers was a 500", broken.requests.Load())
	}
	fmt.Printf("schemathesis reported a server that fails every tenth request after %d requests\n", broken.requests.Load())
	err = runSchemathesis(ctx, root, counter, p.seed, "--max-examples", strconv.Itoa(p.examples), "--continue-on-failure")
	fmt.Printf("%d requests by schemathesis, 5xx: %d\n", counter.requests.Load(), counter.serverErrors.Load())
	return err
}

// install installs schemathesis in the virtual environment of this command.
func install(ctx context.Context, root string) error {
	if _, err := os.Stat(environment(root)); err != nil {
		if err := runQuietly(exec.CommandContext(ctx, "python3", "-m", "venv", environment(root))); err != nil {
			return err
		}
	}
	return runQuietly(exec.CommandContext(ctx, filepath.Join(environment(root), "bin", "pip"), "install", "-q", "--disable-pip-version-check",
		"-r", filepath.Join(root, "scripts", "fuzz", "requirements.txt")))
}

// environment returns the folder of the virtual environment.
func environment(root string) string { return filepath.Join(root, ".cache", "fuzz") }

// runQuietly runs a command. The error contains the output of the command.
func runQuietly(cmd *exec.Cmd) error {
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", cmd.Args, err, output)
	}
	return nil
}

// runSchemathesis runs schemathesis against a proxy. The error contains the findings.
func runSchemathesis(ctx context.Context, root string, proxy *countingProxy, seed uint64, args ...string) error {
	target, err := url.Parse(proxy.target)
	if err != nil {
		return err
	}
	proxy.forward = httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(proxy)
	defer server.Close()
	dir, err := os.MkdirTemp("", "loadaware-schema-") // schemathesis writes files into its working directory
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	args = append([]string{
		"--config-file", filepath.Join(root, "scripts", "fuzz", "schemathesis.toml"), "run", filepath.Join(root, "openapi.yaml"),
		"--url", server.URL, "--seed", strconv.FormatUint(seed, 10), "--no-color",
	}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(environment(root), "bin", "schemathesis"), args...)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && proxy.failEvery == 0 {
		fmt.Printf("%s\n", output)
		return fmt.Errorf("schemathesis found faults: %w\n%s", err, findings(string(output)))
	}
	for lines := bufio.NewScanner(strings.NewReader(string(output))); proxy.failEvery == 0 && lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); strings.Contains(line, "generated") || strings.Contains(line, "passed") {
			fmt.Println(" ", line)
		}
	}
	return err
}

// findings returns the first 20 lines of the failures and errors in a report.
func findings(report string) string {
	begin := strings.Index(report, "= FAILURES =")
	if errors := strings.Index(report, "= ERRORS ="); begin < 0 || errors >= 0 && errors < begin {
		begin = errors
	}
	var lines []string
	for line := range strings.Lines(report[max(0, begin):]) {
		if line = strings.TrimSpace(line); line != "" && len(lines) < 20 {
			lines = append(lines, fmt.Sprintf("  %.300s", line))
		}
	}
	return strings.Join(lines, "\n")
}

// countingProxy forwards requests and counts them. If failEvery is n, every nth answer is a 500.
type countingProxy struct {
	target       string
	failEvery    int64
	forward      *httputil.ReverseProxy
	requests     atomic.Int64
	serverErrors atomic.Int64 // 5xx answers of the target
}

func (t *countingProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := t.requests.Add(1)
	if t.failEvery > 0 && n%t.failEvery == 0 {
		http.Error(w, "deliberate failure", http.StatusInternalServerError)
		return
	}
	t.forward.ServeHTTP(&statusCounter{w, t}, r)
}

// statusCounter counts the answers with a 5xx status.
type statusCounter struct {
	http.ResponseWriter
	counts *countingProxy
}

func (w *statusCounter) WriteHeader(status int) {
	if status >= 500 {
		w.counts.serverErrors.Add(1)
	}
	w.ResponseWriter.WriteHeader(status)
}
