// Package prometheustest starts a real Prometheus with given samples for a test, and
// records and replays its responses for machines without Prometheus.
//
// The server listens on the loopback interface, has its own folder and stops with the
// test. Debian and Ubuntu provide it in the package prometheus.
package prometheustest

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Start starts a server with the samples in `text`, in the OpenMetrics format with
// timestamps, and returns its URL. It skips the test if prometheus or promtool is missing.
func Start(t testing.TB, text string) string {
	t.Helper()
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: apt-get install prometheus; the tests with recorded responses run without it", program)
		}
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	blocks := filepath.Join(dir, "blocks")
	out, err := exec.CommandContext(t.Context(), "promtool", "tsdb", "create-blocks-from", "openmetrics", write("samples", text), blocks).CombinedOutput()
	require.NoError(t, err, string(out))

	addr := freeAddr(t)
	logPath := filepath.Join(dir, "log")
	log, err := os.Create(logPath)
	require.NoError(t, err)
	server := exec.CommandContext(context.Background(), "prometheus",
		"--config.file="+write("prometheus.yml", "global: {}\n"), "--storage.tsdb.path="+blocks,
		"--storage.tsdb.retention.time=100y", "--web.listen-address="+addr)
	server.Stdout, server.Stderr = log, log
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill() // it may have ended by itself
		_ = server.Wait()         // "signal: killed"
		_ = log.Close()
	})
	url := "http://" + addr
	if !assert.Eventually(t, func() bool { return isReady(t, url) }, time.Minute, 50*time.Millisecond) {
		text, _ := os.ReadFile(logPath) // empty if it cannot be read
		require.FailNow(t, "Prometheus is not ready", string(text))
	}
	return url
}

func freeAddr(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func isReady(t testing.TB, url string) bool {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/-/ready", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}
