package main

import (
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

// fuzzSchema runs schemathesis against the server without a proxy, because an httputil.ReverseProxy can truncate a correct
// answer (golang/go#40747).
func fuzzSchema(ctx context.Context, cluster *testcluster.Cluster, p options) error {
	root, err := testcluster.Root()
	if err != nil {
		return err
	}
	if err := install(ctx, root); err != nil {
		return err
	}
	target := cluster.Replicas[0].URL
	if err := reportsFailures(ctx, root, target, p.seed); err != nil {
		return err
	}
	report, err := runSchemathesis(ctx, root, target, p.seed, "--max-examples", strconv.Itoa(p.examples), "--continue-on-failure")
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		fmt.Printf("%s\n", report)
		return fmt.Errorf("schemathesis found faults: %w\n%s", err, findings(report))
	}
	for line := range strings.Lines(report) {
		if strings.Contains(line, "generated") || strings.Contains(line, "passed") {
			fmt.Println(" ", strings.TrimSpace(line))
		}
	}
	return err
}

// reportsFailures checks that schemathesis reports a proxy that answers every tenth request with 500.
func reportsFailures(ctx context.Context, root, target string, seed uint64) error {
	forward, err := newFailingProxy(target)
	if err != nil {
		return err
	}
	proxy := httptest.NewServer(forward)
	defer proxy.Close()
	_, err = runSchemathesis(ctx, root, proxy.URL, seed, "--include-path", "/tasks", "--max-examples", "20", "--phases", "fuzzing")
	switch exit := (*exec.ExitError)(nil); {
	case err == nil:
		return fmt.Errorf("schemathesis did not report that every tenth of %d answers was a 500", forward.requests.Load())
	case !errors.As(err, &exit):
		return err
	}
	fmt.Printf("after %d requests, schemathesis reported the server that fails every tenth request\n", forward.requests.Load())
	return nil
}

func install(ctx context.Context, root string) error {
	if _, err := os.Stat(environment(root)); err != nil {
		if err := runQuietly(exec.CommandContext(ctx, "python3", "-m", "venv", environment(root))); err != nil {
			return err
		}
	}
	return runQuietly(exec.CommandContext(ctx, filepath.Join(environment(root), "bin", "pip"), "install", "-q", "--disable-pip-version-check",
		"-r", filepath.Join(root, "scripts", "fuzz", "requirements.txt")))
}

func environment(root string) string { return filepath.Join(root, ".cache", "fuzz") }

// runQuietly runs a command. Its error contains the output of the command.
func runQuietly(cmd *exec.Cmd) error {
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", cmd.Args, err, output)
	}
	return nil
}

// runSchemathesis runs schemathesis and returns its report. The error is an exec.ExitError if schemathesis found faults.
func runSchemathesis(ctx context.Context, root, target string, seed uint64, args ...string) (string, error) {
	dir, err := os.MkdirTemp("", "loadaware-schema-") // schemathesis writes files into its working directory
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	args = append([]string{
		"--config-file", filepath.Join(root, "scripts", "fuzz", "schemathesis.toml"), "run", filepath.Join(root, "openapi.yaml"),
		"--url", target, "--seed", strconv.FormatUint(seed, 10), "--no-color",
	}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(environment(root), "bin", "schemathesis"), args...)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// findings returns the first 20 non-empty lines of the failures and errors in a report, or of the report if it has none.
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

// failingProxy is a proxy whose every tenth answer is a 500.
type failingProxy struct {
	forward  *httputil.ReverseProxy
	requests atomic.Int64
}

func newFailingProxy(target string) (*failingProxy, error) {
	address, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	return &failingProxy{forward: httputil.NewSingleHostReverseProxy(address)}, nil
}

func (t *failingProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if t.requests.Add(1)%10 == 0 {
		http.Error(w, "deliberate failure", http.StatusInternalServerError)
		return
	}
	t.forward.ServeHTTP(w, r)
}
