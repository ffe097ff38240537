package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/doctor"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
	"github.com/loadaware/loadaware/internal/testwait"
	"github.com/loadaware/loadaware/migrations"
)

// startDeployment starts a server whose database has a task with a model.
func startDeployment(t *testing.T) (dsn string, server *process) {
	dsn = pgtest.Migrated(t)
	server = startServer(t, []string{"DATABASE_URL=" + dsn, onlyRequested})
	for n := range 30 {
		server.post("/observe", report("known", n), nil)
	}
	server.post("/tasks/crash/known/train", nil, nil)
	return dsn, server
}

func execute(t *testing.T, dsn string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	for _, sql := range statements {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
}

func runDoctor(t *testing.T, args ...string) (code int, found map[string]doctor.Finding) {
	t.Helper()
	code, out, stderr := invoke(t, "", append([]string{"doctor", "-o", "json"}, args...)...)
	var d doctor.Report
	require.NoError(t, json.Unmarshal([]byte(out), &d), stderr)
	assert.NotEmpty(t, d.Checks)
	found = map[string]doctor.Finding{}
	for _, f := range d.Findings {
		assert.NotEmpty(t, f.Advice)
		assert.Contains(t, d.Checks, f.Check)
		found[f.Check] = f
	}
	return code, found
}

func TestDoctorOfHealthyDeployment(t *testing.T) {
	dsn, server := startDeployment(t)
	code, found := runDoctor(t, "--database", dsn, "--url", server.url)
	assert.Empty(t, found)
	assert.Zero(t, code)
	code, out, _ := invoke(t, "", "doctor", "--database", dsn)
	assert.Zero(t, code)
	assert.Contains(t, out, "0 errors, 0 warnings")
}

func TestDoctorReportsDatabaseFaults(t *testing.T) {
	dsn, server := startDeployment(t)
	server.kill()
	for _, fault := range []struct {
		check, want   string
		cause, repair []string
	}{
		{"models", "crash/known version 1", []string{"UPDATE model SET blob = set_byte(blob, 60, get_byte(blob, 60) # 1)"},
			[]string{"UPDATE model SET blob = set_byte(blob, 60, get_byte(blob, 60) # 1)"}},
		{"models", "version 99, want", []string{"UPDATE model SET blob = set_byte(blob, 5, 99)"}, []string{"UPDATE model SET blob = set_byte(blob, 5, 3)"}},
		{"models", "crash/many-7 version 1 (", []string{ // the message names every model, however many there are
			"INSERT INTO task (namespace, dag_id, task_id, active_version) SELECT 'default', 'crash', 'many-' || n, 1 FROM generate_series(1, 7) n",
			"INSERT INTO tally (task) SELECT id FROM task WHERE task_id LIKE 'many-%'",
			"INSERT INTO lease (task) SELECT id FROM task WHERE task_id LIKE 'many-%'",
			`INSERT INTO model (task, version, family, format, observations, last_seq, trained_at, blob)
				SELECT id, 1, 'experts', 3, 0, 0, now() - interval '9 years', 'lost' FROM task WHERE task_id LIKE 'many-%'`,
		}, []string{"DELETE FROM task WHERE task_id LIKE 'many-%'"}},
		{"models", "pinned by ada", []string{"UPDATE model SET blob = set_byte(blob, 5, 99)", "UPDATE task SET pinned_version = 1, pinned_by = 'ada'"},
			[]string{"UPDATE model SET blob = set_byte(blob, 5, 3)", "UPDATE task SET pinned_version = NULL, pinned_by = NULL"}},
		{"cohorts", "blue version 4 (decode a cohort", []string{`INSERT INTO cohort (namespace, version, format, runs, kills, trained_at, blob)
			VALUES ('blue', 4, 1, 0, 0, now(), 'lost')`}, []string{"DELETE FROM cohort"}},
		{"cohorts", "blue version 4 (format 9, want 1)", []string{`INSERT INTO cohort (namespace, version, format, runs, kills, trained_at, blob)
			VALUES ('blue', 4, 9, 0, 0, now(), '')`}, []string{"DELETE FROM cohort"}},
		{"tables", "step 1 of", []string{"UPDATE schema_migrations SET version = 1"}, nil},
		{"tables", "is incomplete", []string{"UPDATE schema_migrations SET dirty = true"}, nil},
		{"tables", "do not exist", []string{"ALTER TABLE schema_migrations RENAME TO renamed"}, []string{"ALTER TABLE renamed RENAME TO schema_migrations"}},
		{"tasks without models", "crash/untrained", []string{
			"INSERT INTO task (namespace, dag_id, task_id) VALUES ('default', 'crash', 'untrained')",
			"INSERT INTO tally (task, observations) SELECT id, 5 FROM task WHERE task_id = 'untrained'",
			"INSERT INTO lease (task) SELECT id FROM task WHERE task_id = 'untrained'",
		}, []string{"DELETE FROM task WHERE task_id = 'untrained'"}},
		{"tasks without models", "waited for the first training", []string{
			"UPDATE task SET active_version = NULL", "UPDATE tally SET due_at = now() - interval '1 hour'",
		}, []string{"UPDATE task SET active_version = 1", "UPDATE tally SET due_at = NULL"}},
		{"unreported tries", "40 were never reported", []string{`INSERT INTO receipt (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number, at, body)
			SELECT lpad(n::text, 8, '0'), 'default', 'crash', 'known', 'lost' || n, -1, 1, now() - interval '2 days', '{}' FROM generate_series(1, 40) n`}, []string{"DELETE FROM receipt"}},
	} {
		execute(t, dsn, fault.cause...)
		code, found := runDoctor(t, "--database", dsn)
		assert.Equal(t, 1, code, fault.check)
		assert.True(t, found[fault.check].IsError, "%s: %v", fault.want, found)
		assert.Contains(t, found[fault.check].Message, fault.want)
		assert.Len(t, found, 1, "%v", found)
		if fault.repair == nil {
			newest, err := migrations.Newest()
			require.NoError(t, err)
			fault.repair = []string{fmt.Sprintf("UPDATE schema_migrations SET version = %d, dirty = false", newest)}
		}
		execute(t, dsn, fault.repair...)
		_, found = runDoctor(t, "--database", dsn)
		assert.Empty(t, found, "doctor must find nothing after the repair")
	}
	newest, err := migrations.Newest()
	require.NoError(t, err)
	execute(t, dsn, fmt.Sprintf("UPDATE schema_migrations SET version = %d", newest+1))
	code, found := runDoctor(t, "--database", dsn)
	assert.Zero(t, code, "a newer schema must be only a warning")
	assert.Contains(t, found["tables"].Message, "a newer build migrated them")
}

func TestDoctorReportsUnusableDatabase(t *testing.T) {
	dsn, _ := startDeployment(t)
	with := func(change func(*url.URL)) string {
		u, err := url.Parse(dsn)
		require.NoError(t, err)
		change(u)
		return u.String()
	}
	setting := func(name, value string) string {
		return with(func(u *url.URL) {
			q := u.Query()
			q.Set(name, value)
			u.RawQuery = q.Encode()
		})
	}
	role := fmt.Sprintf("weak_%d", time.Now().UnixNano())
	execute(t, dsn, "CREATE ROLE "+role, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+role)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), dsn)
		if err == nil {
			defer conn.Close(context.Background())
			_, _ = conn.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role) // an error does not matter: the PostgreSQL server ends with the tests
		}
	})
	for want, c := range map[string]struct{ check, dsn string }{
		`database "none" does not`: {"database", with(func(u *url.URL) { u.Path = "/none" })},
		`role "stranger" does not`: {"database", with(func(u *url.URL) { u.User = url.UserPassword("stranger", "secret") })},
		"connection refused":       {"database", "postgres://reader:secret@127.0.0.1:1/none?connect_timeout=2"},
		"accepts no writes":        {"database", setting("default_transaction_read_only", "on")},
		"may not read and write ":  {"permissions", setting("role", role)},
	} {
		code, found := runDoctor(t, "--database", c.dsn)
		assert.Equal(t, 1, code)
		assert.Contains(t, found[c.check].Message, want)
		assert.NotContains(t, fmt.Sprint(found), "secret")
	}
	code, found := runDoctor(t, "--data", filepath.Join(t.TempDir(), "none"), "--addr", "127.0.0.1:1")
	assert.Equal(t, 1, code)
	assert.Contains(t, found["database"].Message, "no database to check")
}

// Commands that need an existing database must not create one in an empty data folder.
func TestReadingCommandsCreateNoDatabase(t *testing.T) {
	t.Setenv("LOADAWARE_ADDR", "127.0.0.1:1")
	dir := dataFolder(t)
	require.NoError(t, os.Mkdir(dir, 0o755))
	for _, c := range []struct {
		want string
		args []string
	}{
		{"no database to check", []string{"doctor"}}, {"has no database", []string{"migrate", "status"}}, {"has no database", []string{"migrate", "down"}},
		{"no history", []string{"experiment", "run"}}, {"no saved experiments", []string{"experiment", "list"}},
	} {
		code, out, stderr := invoke(t, "", append(c.args, "--data", dir)...)
		assert.Equal(t, 1, code, c.args)
		assert.Contains(t, out+stderr, c.want, c.args)
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, files, c.args)
	}
}

func TestDoctorWarnsOfFewConnections(t *testing.T) {
	dsn, _ := startDeployment(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var available int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')").Scan(&available))
	for range available - 17 { // 17 connections remain: enough for a replica, but its trainer takes 6 more
		idle, err := pgx.Connect(t.Context(), dsn)
		require.NoError(t, err)
		defer idle.Close(context.Background())
	}
	code, found := runDoctor(t, "--database", dsn)
	assert.Zero(t, code)
	assert.Contains(t, found["connections"].Message, "one more replica may get too few")
}

func TestDoctorChecksSettings(t *testing.T) {
	dsn := pgtest.Migrated(t)
	own := newAuthority(t, "own")
	message := func(check string, args ...string) string {
		_, found := runDoctor(t, append(args, "--database", dsn)...)
		return found[check].Message
	}
	assert.Contains(t, message("tokens", "--addr", "0.0.0.0:8080"), "no token is required")
	assert.Contains(t, message("tokens", "--tokens", "observe:abc"), "grant 1")
	assert.Contains(t, message("address", "--addr", "nowhere"), "is not an address")
	for want, validFor := range map[string]time.Duration{"expired on": -time.Hour, "expires on": time.Hour, "": 90 * 24 * time.Hour} {
		f := newTLSFiles(t, own.sign(7, -2*time.Hour, validFor))
		got := message("certificate", "--tls-cert", f.cert, "--tls-key", f.key)
		assert.Contains(t, got, want)
		assert.Equal(t, want == "", got == "")
	}
	assert.Contains(t, message("certificate", "--tls-cert", "none", "--tls-key", "none"), "is unusable")

	t.Setenv("LOADAWARE_KEEP_RECEIPTS", "0")
	assert.Contains(t, message("retention"), "receipts grows without limit")
}

func TestDoctorOfDataFolderInUse(t *testing.T) {
	dir := dataFolder(t)
	server := startServer(t, nil, "--data", dir)
	awaitNoFinding := func(args ...string) {
		t.Helper()
		require.Eventually(t, func() bool {
			_, found := runDoctor(t, append(args, "--data", dir)...)
			delete(found, "disk") // the disk of the test may be nearly full
			return len(found) == 0
		}, testwait.Limit, 50*time.Millisecond)
	}
	awaitNoFinding() // the server is ready
	_, out, _ := invoke(t, "", "doctor", "--data", dir, "-o", "json")
	for _, check := range []string{"database", "tables", "server"} {
		assert.Contains(t, out, `"`+check+`"`, "the doctor must check the database of the server, and the server")
	}
	server.kill()
	awaitNoFinding("--addr", "127.0.0.1:0") // PostgreSQL stops a moment after the server
}

// The user calls the doctor without settings while a server runs, as after `make run`.
func TestDoctorWithoutSettingsChecksRunningServer(t *testing.T) {
	server := startServer(t, database(t))
	absent := filepath.Join(t.TempDir(), "none")
	var found map[string]doctor.Finding
	require.Eventually(t, func() bool {
		var code int
		code, found = runDoctor(t, "--data", absent, "--addr", strings.TrimPrefix(server.url, "http://"))
		return code == 0 // the server is ready
	}, testwait.Limit, 50*time.Millisecond, "%v", found)
	assert.Contains(t, found["database"].Message, "only the server at "+server.url)
	assert.Len(t, found, 1)

	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	code, found := runDoctor(t, "--data", absent, "--addr", strings.TrimPrefix(other.URL, "http://"))
	assert.Equal(t, 1, code, "a program other than loadaware at --addr must be an error")
	assert.Contains(t, found["database"].Message, "no server answers")
}
