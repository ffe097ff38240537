package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
)

// asCommand makes this test binary the command itself: something to be killed.
const asCommand = "LOADAWARE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// A process is the command, running on its own.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	said *transcript
	once sync.Once
	err  error
}

// startServer starts `serve` with the arguments on a free port of loopback, and
// waits until it says its address.
func startServer(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, said: newTranscript()}
	p.cmd = exec.Command(os.Args[0], append([]string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", ""}, args...)...)
	p.cmd.Env = append(cleanEnv(), append(env, asCommand+"=1")...)
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // ended already, as a rule
		_ = p.wait()
	})
	p.url = p.said.await(t, "loadaware serves at ")
	return p
}

// cleanEnv is the environment without what would change the command.
func cleanEnv() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "LOADAWARE_") && !strings.HasPrefix(pair, "DATABASE_URL=") {
			env = append(env, pair)
		}
	}
	return env
}

// wait is the error that the process ended with.
func (p *process) wait() error {
	p.once.Do(func() { p.err = p.cmd.Wait() })
	return p.err
}

func (p *process) signal(s os.Signal) { require.NoError(p.t, p.cmd.Process.Signal(s)) }

// kill ends the process without a chance to tidy up.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	_ = p.wait() // says that it was killed
}

// post sends a body and reads the answer into got, unless that is nil.
func (p *process) post(path string, body, got any) {
	p.t.Helper()
	status, answer, err := post(context.Background(), p.url+path, body)
	require.NoError(p.t, err)
	require.Equal(p.t, http.StatusOK, status, string(answer))
	if got != nil {
		require.NoError(p.t, json.Unmarshal(answer, got), string(answer))
	}
}

// observations is how many the server counts of a task.
func (p *process) observations(dag, task string) int {
	p.t.Helper()
	response, err := http.Get(p.url + "/tasks/" + dag + "/" + task)
	require.NoError(p.t, err)
	defer response.Body.Close()
	var profile struct{ Observations int }
	require.NoError(p.t, json.NewDecoder(response.Body).Decode(&profile))
	return profile.Observations
}

func post(ctx context.Context, url string, body any) (status int, answer []byte, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// transcript is what a process says, line by line.
type transcript struct {
	in    *io.PipeWriter
	lines chan string
	mu    sync.Mutex
	text  strings.Builder
}

func newTranscript() *transcript {
	out, in := io.Pipe()
	tr := &transcript{in: in, lines: make(chan string, 1000)}
	go func() {
		for scan := bufio.NewScanner(out); scan.Scan(); {
			tr.lines <- scan.Text()
		}
	}()
	return tr
}

func (tr *transcript) Write(p []byte) (int, error) {
	tr.mu.Lock()
	tr.text.Write(p)
	tr.mu.Unlock()
	return tr.in.Write(p)
}

// String is all that was said.
func (tr *transcript) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text.String()
}

// await waits for a line with the mark, and returns what stands behind it.
func (tr *transcript) await(t *testing.T, mark string) string {
	t.Helper()
	for bound := time.After(time.Minute); ; {
		select {
		case line := <-tr.lines:
			if _, behind, found := strings.Cut(line, mark); found {
				return behind
			}
		case <-bound:
			require.FailNow(t, "never said: "+mark, tr.String())
		}
	}
}

// invoke runs a verb to its end, in this process.
func invoke(t *testing.T, in string, args ...string) (code int, out, stderr string) {
	t.Helper()
	var outText, errText bytes.Buffer
	code = run(t.Context(), console{in: strings.NewReader(in), out: &outText, err: &errText}, args)
	return code, outText.String(), errText.String()
}

// database is the environment that names an empty database.
func database(t *testing.T) []string { return []string{"DATABASE_URL=" + pgtest.DSN(t)} }

// dataFolder is a temporary folder that the private server's user may enter,
// unlike those of t.TempDir.
func dataFolder(t *testing.T) string {
	dir, err := os.MkdirTemp("", "loadaware test")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // what is left is in the folder for temporary files
	return filepath.Join(dir, "data")
}
