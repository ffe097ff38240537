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

// schema runs schemathesis against the server. Before it is believed, it must find
// the fault of a server that answers 500 now and then.
func schema(ctx context.Context, cluster *testcluster.Cluster, p plan) error {
	root, err := testcluster.Root()
	if err != nil {
		return err
	}
	if err := install(ctx, root); err != nil {
		return err
	}
	counter := &through{to: cluster.Replicas[0].URL}
	broken := &through{to: cluster.Replicas[0].URL, breaks: 10}
	if err := schemathesis(ctx, root, broken, p.seed, "--include-path", "/tasks", "--max-examples", "20", "--phases", "fuzzing"); err == nil {
		return fmt.Errorf("schemathesis did not see that every tenth of %d answers was a 500", broken.seen.Load())
	}
	fmt.Printf("a server that breaks every tenth answer was found out in %d requests\n", broken.seen.Load())
	err = schemathesis(ctx, root, counter, p.seed, "--max-examples", strconv.Itoa(p.examples), "--continue-on-failure")
	fmt.Printf("%d requests by schemathesis, 5xx: %d\n", counter.seen.Load(), counter.bad.Load())
	return err
}

// install puts schemathesis into a virtual environment of its own.
func install(ctx context.Context, root string) error {
	if _, err := os.Stat(environment(root)); err != nil {
		if err := quiet(exec.CommandContext(ctx, "python3", "-m", "venv", environment(root))); err != nil {
			return err
		}
	}
	return quiet(exec.CommandContext(ctx, filepath.Join(environment(root), "bin", "pip"), "install", "-q", "--disable-pip-version-check",
		"-r", filepath.Join(root, "scripts", "fuzz", "requirements.txt")))
}

func environment(root string) string { return filepath.Join(root, ".cache", "fuzz") }

// quiet runs a command that is heard only if it fails.
func quiet(cmd *exec.Cmd) error {
	if says, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", cmd.Args, err, says)
	}
	return nil
}

// schemathesis sends what it draws through a counter; an error says what it found.
func schemathesis(ctx context.Context, root string, to *through, seed uint64, args ...string) error {
	target, err := url.Parse(to.to)
	if err != nil {
		return err
	}
	to.proxy = httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(to)
	defer server.Close()
	dir, err := os.MkdirTemp("", "loadaware-schema-") // it leaves files where it runs
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
	says, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && to.breaks == 0 {
		fmt.Printf("%s\n", says)
		return fmt.Errorf("schemathesis found something: %w\n%s", err, findings(string(says)))
	}
	for lines := bufio.NewScanner(strings.NewReader(string(says))); to.breaks == 0 && lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); strings.Contains(line, "generated") || strings.Contains(line, "passed") {
			fmt.Println(" ", line)
		}
	}
	return err
}

// findings are the first lines of what a report says of failures and errors.
func findings(report string) string {
	begin := strings.Index(report, "= FAILURES =")
	if errors := strings.Index(report, "= ERRORS ="); begin < 0 || errors >= 0 && errors < begin {
		begin = errors
	}
	var told []string
	for line := range strings.Lines(report[max(0, begin):]) {
		if line = strings.TrimSpace(line); line != "" && len(told) < 20 {
			told = append(told, fmt.Sprintf("  %.300s", line))
		}
	}
	return strings.Join(told, "\n")
}

// through passes requests on and counts them. Where breaks is set, every so manyth
// answer is a 500: a fault to be found.
type through struct {
	to     string
	breaks int64
	proxy  *httputil.ReverseProxy
	seen   atomic.Int64
	bad    atomic.Int64
}

func (t *through) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := t.seen.Add(1)
	if t.breaks > 0 && n%t.breaks == 0 {
		http.Error(w, "broken on purpose", http.StatusInternalServerError)
		return
	}
	t.proxy.ServeHTTP(&watched{w, t}, r)
}

// watched counts the answers that are errors of the server.
type watched struct {
	http.ResponseWriter
	to *through
}

func (w *watched) WriteHeader(status int) {
	if status >= 500 {
		w.to.bad.Add(1)
	}
	w.ResponseWriter.WriteHeader(status)
}
