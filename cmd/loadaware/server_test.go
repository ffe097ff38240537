package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/testwait"
)

// asCommand makes this test binary run as loadaware, so that tests can signal its process.
const asCommand = "LOADAWARE_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string
	output *transcript
	once   sync.Once
	err    error
}

// startServer starts `serve` on a free loopback port and waits until it prints its address.
func startServer(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, output: new(transcript)}
	p.cmd = exec.Command(os.Args[0], append([]string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", ""}, args...)...)
	p.cmd.Env = append(cleanEnv(), append(env, asCommand+"=1")...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // an error if it has ended
		_ = p.wait()
	})
	p.url = p.output.await(t, "loadaware serves at ")
	return p
}

func cleanEnv() []string {
	var env []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "LOADAWARE_") && !strings.HasPrefix(pair, "DATABASE_URL=") {
			env = append(env, pair)
		}
	}
	return env
}

func (p *process) wait() error {
	p.once.Do(func() { p.err = p.cmd.Wait() })
	return p.err
}

func (p *process) signal(s os.Signal) { require.NoError(p.t, p.cmd.Process.Signal(s)) }

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	_ = p.wait() // always an error
}

// post sends a request, requires status 200, and decodes the response into got unless got is nil.
func (p *process) post(path string, body, got any) {
	p.t.Helper()
	status, answer, err := post(context.Background(), p.url+path, body)
	require.NoError(p.t, err)
	require.Equal(p.t, http.StatusOK, status, string(answer))
	if got != nil {
		require.NoError(p.t, json.Unmarshal(answer, got), string(answer))
	}
}

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

type transcript struct {
	mu   sync.Mutex
	text strings.Builder
	next int // index in text of the first line that await has not read
}

func (tr *transcript) Write(p []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text.Write(p)
}

func (tr *transcript) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.text.String()
}

// await waits for a line with the mark, after the lines that earlier calls read, and returns the text after the mark.
func (tr *transcript) await(t *testing.T, mark string) (rest string) {
	t.Helper()
	require.Eventually(t, func() (found bool) {
		rest, found = tr.find(mark)
		return found
	}, testwait.Limit, 5*time.Millisecond, "not printed: %s\n%s", mark, tr)
	return rest
}

// find reads the complete lines up to the first one with the mark, and returns the text after the mark.
func (tr *transcript) find(mark string) (rest string, found bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for {
		line, _, isComplete := strings.Cut(tr.text.String()[tr.next:], "\n")
		if !isComplete {
			return "", false
		}
		tr.next += len(line) + 1
		if _, rest, found := strings.Cut(line, mark); found {
			return rest, true
		}
	}
}

func TestTranscriptContainsLongLinesAndManyLines(t *testing.T) {
	tr := new(transcript)
	_, _ = fmt.Fprintf(tr, "%s\n%s", strings.Repeat("x", 1<<20), strings.Repeat("line\n", 10_000)) // Write returns no error
	_, _ = fmt.Fprint(tr, "address: a\naddress: b\n")
	assert.Equal(t, "a", tr.await(t, "address: "))
	assert.Equal(t, "b", tr.await(t, "address: "))
}

func invoke(t *testing.T, in string, args ...string) (code int, out, stderr string) {
	t.Helper()
	var outText, errText bytes.Buffer
	code = run(t.Context(), cli.Console{In: strings.NewReader(in), Out: &outText, Err: &errText}, args)
	return code, outText.String(), errText.String()
}

// database returns the environment of a server with a migrated database without rows.
func database(t *testing.T) []string { return []string{"DATABASE_URL=" + pgtest.Migrated(t)} }

// onlyRequested makes a server train a task only when a test requests it. Otherwise a training in the background could
// publish a version before or after the one that the test expects.
const onlyRequested = "LOADAWARE_BACKGROUND_TRAINING=false"

// emptyDatabase returns the environment of a server with a database without tables.
func emptyDatabase(t *testing.T) []string { return []string{"DATABASE_URL=" + pgtest.DSN(t)} }

// dataFolder returns a path in a temporary folder that the user of the private PostgreSQL may
// enter, unlike the folders of t.TempDir.
func dataFolder(t *testing.T) string {
	dir, err := os.MkdirTemp("", "loadaware test")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a file that cannot be removed stays in the system's temporary folder
	return filepath.Join(dir, "data")
}
