// Package prometheustest gives a test a real Prometheus that holds what the test
// says, and keeps its answers for machines that have none.
//
// The server runs on the loopback interface with a folder of its own, and ends with
// the test. Debian and Ubuntu have it in the package prometheus.
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

	"github.com/stretchr/testify/require"
)

// Start is the URL of a server that holds what is written in text, in the OpenMetrics
// format with times. The test is skipped where prometheus and promtool are not
// installed.
func Start(t testing.TB, text string) string {
	t.Helper()
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s on this machine: apt-get install prometheus; what one answered once is tested without", program)
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
	log, err := os.Create(filepath.Join(dir, "log"))
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
	require.Eventually(t, func() bool { return ready(t, url) }, time.Minute, 50*time.Millisecond, "see %s", log.Name())
	return url
}

func freeAddr(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func ready(t testing.TB, url string) bool {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/-/ready", nil)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
