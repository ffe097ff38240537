package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/testwait"
)

// password has characters that a URL must escape, so that its plain and its escaped form differ.
const password = "pa55+word/of=loadaware"

// leaks finds the secrets in a text: plain, in Base64, or encoded as in URLs and JSON.
func leaks(text string, secrets ...string) (found []string) {
	for _, secret := range secrets {
		for _, form := range []string{
			secret, url.QueryEscape(secret), url.PathEscape(secret), url.UserPassword("u", secret).String()[2:],
			strings.ReplaceAll(secret, "/", `\/`), base64.StdEncoding.EncodeToString([]byte(secret)),
		} {
			if strings.Contains(text, form) {
				found = append(found, secret)
				break
			}
		}
	}
	return found
}

func TestLeaksFindsEncodedSecrets(t *testing.T) {
	for _, text := range []string{
		password, "postgres://u:" + url.QueryEscape(password) + "@h/d", `{"dsn":"` + strings.ReplaceAll(password, "/", `\/`) + `"}`,
		"Basic " + base64.StdEncoding.EncodeToString([]byte(password)), url.UserPassword("u", password).String(),
	} {
		assert.Equal(t, []string{password}, leaks("level=ERROR msg="+text, "other", password), text)
	}
	assert.Empty(t, leaks("postgres://u:xxxxx@h/d", password))
}

func TestDatabaseErrorOmitsPassword(t *testing.T) {
	inURL := url.UserPassword("u", password).String()
	for _, dsn := range []string{
		"postgres://" + inURL + "@127.0.0.1:1/db",
		"postgres://" + inURL + "@127.0.0.1:notaport/db",
		"postgres://" + inURL + "@127.0.0.1:1/db?sslmode=wat",
		"postgres://" + inURL + "@127.0.0.1:1/db?connect_timeout=soon",
		"postgres://" + inURL + "@[::1/db",
		"postgres://u:%zz" + password + "@127.0.0.1:1/db",
		"postgres://u:" + password + "@127.0.0.1:1/db", // not escaped: parsed as an invalid port
		"postgres://u@127.0.0.1:1/db?password=" + url.QueryEscape(password),
		"mysql://" + inURL + "@127.0.0.1:1/db",
		"://" + inURL + "@127.0.0.1:1/db",
		"host=127.0.0.1 port=1 user=u dbname=d password=" + password,
		"host=127.0.0.1 port=x user=u dbname=d password=" + password,
		"host=127.0.0.1 port=1 sslmode=wat password=" + password,
		"password='" + password,
		password,
	} {
		for _, args := range [][]string{
			{"serve", "--addr", "127.0.0.1:0", "--admin-addr", ""}, {"migrate", "status"}, {"migrate", "up"}, {"import", "-"},
		} {
			t.Setenv("DATABASE_URL", dsn)
			t.Setenv("LOADAWARE_LOG_LEVEL", "debug")
			t.Setenv("LOADAWARE_ADDR", "127.0.0.1:1") // no server listens there
			code, out, stderr := invoke(t, "dag_id,task_id,run_id,memory_max_bytes\nd,t,r,1000000000\n", args...)
			assert.NotZero(t, code, "%s with %s", args, dsn)
			assert.NotEmpty(t, stderr)
			assert.Empty(t, leaks(out+stderr, password), "%s with %s prints: %s%s", args, dsn, out, stderr)
		}
	}
}

func TestTokenErrorOmitsToken(t *testing.T) {
	for _, granted := range []string{password, "predict:" + password, password + ":predict", "owner:" + password, "a=" + password, "predict@" + password} {
		for _, source := range []string{"flag", "environment"} {
			args := []string{"serve", "--addr", "127.0.0.1:0", "--admin-addr", ""}
			t.Setenv("LOADAWARE_TOKENS", "")
			if source == "flag" {
				args = append(args, "--tokens", granted)
			} else {
				t.Setenv("LOADAWARE_TOKENS", granted)
			}
			code, out, stderr := invoke(t, "", args...)
			assert.Equal(t, 2, code, granted)
			assert.Empty(t, leaks(out+stderr, password), stderr)
		}
	}
}

// The requests cause many kinds of errors. No secret may be in the server's log, responses, metrics, pprof profiles, help,
// command line or stack traces.
func TestSecretsAreNeverPrinted(t *testing.T) {
	token, granted := newToken(t, "--role", "admin", "--name", "ops")
	predictToken, predictGrant := newToken(t, "--role", "predict")
	hash := func(secret string) string { h := sha256.Sum256([]byte(secret)); return hex.EncodeToString(h[:]) }
	secrets := []string{password, token, predictToken, hash(token), hash(predictToken)}
	withoutPassword := pgtest.Migrated(t)
	dsn, err := url.Parse(withoutPassword)
	require.NoError(t, err)
	query := dsn.Query()
	query.Set("password", password)
	dsn.RawQuery = query.Encode()
	env := []string{"DATABASE_URL=" + dsn.String(), "LOADAWARE_TOKENS=" + granted + "," + predictGrant, "LOADAWARE_LOG_LEVEL=debug", "GOTRACEBACK=all"}
	server := startServer(t, env, "--admin-addr", "127.0.0.1:0")
	metrics := "http://" + strings.TrimSuffix(server.output.await(t, "metrics are at http://"), "/metrics")

	var responses strings.Builder
	send := func(method, target, body, bearer string) int {
		request, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+bearer)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		fmt.Fprintln(&responses, response.Status, response.Header, string(text))
		return response.StatusCode
	}
	report := `{"dag_id": "d", "task_id": "t", "run_id": "%s", "outcome": "success", "memory_max_bytes": 1000}`
	sendAll := func() map[int]int { // by status
		got := map[int]int{}
		for _, c := range [][3]string{
			{"POST", "/observe", fmt.Sprintf(report, "r")}, {"POST", "/observe", fmt.Sprintf(report, "r2")}, {"POST", "/observe", strings.Replace(fmt.Sprintf(report, "r"), "1000", "2000", 1)},
			{"POST", "/predict", `{"dag_id": "d", "task_id": "t"}`}, {"POST", "/predict", `{"dag_id": `}, {"POST", "/predict", `{"dag_id": 7}`},
			{"POST", "/predict", strings.Repeat(" ", 2<<20)}, {"GET", "/predictions/nothing", ""}, {"GET", "/tasks?cursor=%00", ""}, {"GET", "/no/such/path", ""},
			{"PATCH", "/tasks", ""}, {"GET", "/tasks", ""}, {"PUT", "/tasks/d/t/policy", `{"mode": "shadow"}`}, {"POST", "/tasks/d/t/train", ""}, {"GET", "/readyz", ""}, {"GET", "/docs", ""},
		} {
			for _, bearer := range []string{token, predictToken, hash(token), "unknown"} {
				got[send(c[0], server.url+c[1], c[2], bearer)]++
			}
		}
		for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1"} {
			got[send("GET", metrics+path, "", token)]++
			got[send("GET", metrics+path, "", predictToken)]++
		}
		return got
	}
	got := sendAll()
	for _, status := range []int{200, 400, 401, 403, 404, 405, 409, 413, 422} {
		assert.Positive(t, got[status], "at least one response must have status %d", status)
	}

	// Now the requests that need the table observation fail, and the server must reconnect.
	db, err := pgx.Connect(t.Context(), withoutPassword)
	require.NoError(t, err)
	defer db.Close(t.Context())
	_, err = db.Exec(t.Context(), `DROP TABLE observation CASCADE`)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	require.NoError(t, err)
	got = sendAll()
	assert.Positive(t, got[500]+got[503], "at least one request must fail with a database error: %v", got)

	processList, err := exec.Command("ps", "-o", "args=", "-p", fmt.Sprint(server.cmd.Process.Pid)).CombinedOutput()
	require.NoError(t, err)
	fmt.Fprintln(&responses, string(processList))
	for _, args := range [][]string{{"version"}, {"--help"}, {"serve", "--help"}, {"import", "--help"}, {"token", "--help"}} {
		t.Setenv("DATABASE_URL", dsn.String())
		t.Setenv("LOADAWARE_TOKENS", granted)
		t.Setenv("LOADAWARE_TOKEN", token)
		code, out, stderr := invoke(t, "", args...)
		assert.Zero(t, code)
		responses.WriteString(out + stderr)
	}
	server.signal(syscall.SIGQUIT) // every goroutine's stack, as in a panic
	_ = server.wait()              // an error, because a signal ended it
	require.Eventually(t, func() bool { return strings.Contains(server.output.String(), "goroutine 1 ") }, testwait.Limit, 10*time.Millisecond)

	assert.Empty(t, leaks(server.output.String(), secrets...), server.output.String())
	assert.Empty(t, leaks(responses.String(), secrets...), responses.String())
	t.Logf("%d secrets are searched in %d bytes of log and %d bytes of responses", len(secrets), len(server.output.String()), responses.Len())
}
