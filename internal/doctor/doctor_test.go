package doctor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
)

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

func TestMissingPartitionsAndPrivilegesCauseWarnings(t *testing.T) {
	dsn := pgtest.Migrated(t)
	message := func(dsn string, weeksLater int) string {
		r := NewReport()
		r.now = func() time.Time { return time.Now().AddDate(0, 0, 7*weeksLater) }
		r.database(t.Context(), dsn)
		for _, f := range r.Findings {
			if f.Check == "receipts" {
				assert.False(t, f.IsError)
				return f.Message
			}
		}
		return ""
	}
	assert.Empty(t, message(dsn, 0))
	assert.Empty(t, message(dsn, 3), "the migration creates the partitions of the first weeks")
	assert.Contains(t, message(dsn, 5), "next week have no partition")
	execute(t, dsn, `INSERT INTO receipt (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number, at, body)
		VALUES ('ffff', 'n', 'd', 't', 'r', -1, 1, now(), '{}')`)
	assert.Contains(t, message(dsn, 0), "some receipts are in receipt_other or receipt_compact_other")

	restricted := dsnOfRole(t, dsn, "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public")
	assert.Contains(t, message(restricted, 0), "may not create and drop partitions")
}

// dsnOfRole returns the DSN of a new role that owns nothing and has these privileges.
func dsnOfRole(t *testing.T, dsn, privileges string) string {
	t.Helper()
	role := fmt.Sprintf("restricted_%d", time.Now().UnixNano())
	execute(t, dsn, "CREATE ROLE "+role, "GRANT "+privileges+" TO "+role)
	t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), dsn)
		require.NoError(t, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		require.NoError(t, err)
	})
	u, err := url.Parse(dsn)
	require.NoError(t, err)
	q := u.Query()
	q.Set("role", role)
	u.RawQuery = q.Encode()
	return u.String()
}

func TestMissingPrivilegesOnAnyTableAreFound(t *testing.T) {
	dsn := pgtest.Migrated(t)
	r := NewReport()
	r.database(t.Context(), dsnOfRole(t, dsn, "SELECT ON schema_migrations"))
	var denied string
	for _, f := range r.Findings {
		if f.Check == "permissions" {
			denied = strings.TrimPrefix(f.Message, "the user may not read and write ")
		}
	}

	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	rows, err := conn.Query(t.Context(), `SELECT relname::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
		AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'schema_migrations' ORDER BY relname`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	assert.Subset(t, strings.Split(denied, ", "), tables)
}

// A failed query must be reported as a failed query. The advice for missing tables or missing privileges would not help.
// The doctor may report that the tables do not exist only if schema_migrations is missing or empty.
func TestFailedQueriesOfTablesAreReported(t *testing.T) {
	dsn := pgtest.Migrated(t)
	restricted := dsnOfRole(t, dsn, "SELECT ON schema_migrations")
	execute(t, dsn, "REVOKE SELECT ON pg_catalog.pg_tables FROM PUBLIC")
	r := NewReport()
	r.database(t.Context(), restricted)
	require.Len(t, r.Findings, 1)
	assert.Contains(t, r.Findings[0].Message, "a query failed: ERROR: permission denied for view pg_tables")

	execute(t, dsn, "ALTER TABLE schema_migrations RENAME COLUMN dirty TO other")
	r = NewReport()
	r.database(t.Context(), dsn)
	require.Len(t, r.Findings, 1)
	assert.Contains(t, r.Findings[0].Message, `column "dirty" does not exist`)

	execute(t, dsn, "DROP TABLE schema_migrations")
	r = NewReport()
	r.database(t.Context(), dsn)
	require.Len(t, r.Findings, 1)
	assert.Equal(t, "the tables do not exist", r.Findings[0].Message)
}

func TestMoreThanHalfUnreportedTriesAreAnError(t *testing.T) {
	dsn := pgtest.Migrated(t)
	execute(t, dsn, `INSERT INTO receipt (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number, at, body)
		SELECT lpad(n::text, 8, '0'), 'default', 'd', 't', 'r' || n, -1, 1, now() - interval '2 days', '{}' FROM generate_series(1, 21) n`,
		"INSERT INTO task (namespace, dag_id, task_id) VALUES ('default', 'd', 't')",
		`INSERT INTO observation (task, at, map_index, lot, try_number, outcome, provisional, run_id)
			SELECT id, now(), -1, 0, 1, 1, false, 'r' || n FROM task, generate_series(1, 11) n`)
	find := func() []Finding {
		r := NewReport()
		r.database(t.Context(), dsn)
		return r.Findings
	}
	assert.Empty(t, find(), "10 of 21 are not more than half")
	execute(t, dsn, "DELETE FROM observation WHERE run_id = 'r11'")
	found := find()
	require.Len(t, found, 1, "11 of 21 are more than half")
	assert.Contains(t, found[0].Message, "of the newest 21 first tries predicted more than a day ago, 11 were never reported")
	execute(t, dsn, `INSERT INTO receipt (prediction_id, namespace, dag_id, task_id, run_id, map_index, try_number, at, body)
		SELECT prediction_id || 'again', namespace, dag_id, task_id, run_id, map_index, try_number, at, body FROM receipt WHERE run_id = 'r1'`)
	assert.Equal(t, found, find(), "a try with two predictions counts once")
}

func TestIncompleteMigrationEndsTheChecksOfTables(t *testing.T) {
	dsn := pgtest.Migrated(t)
	execute(t, dsn, "DROP TABLE model CASCADE")
	for _, version := range []string{"version", "-1"} { // -1 marks an unfinished revert of the first step
		execute(t, dsn, "UPDATE schema_migrations SET dirty = true, version = "+version)
		r := NewReport()
		r.database(t.Context(), dsn)
		require.Len(t, r.Findings, 1, "%v", r.Findings)
		assert.Contains(t, r.Findings[0].Message, "is incomplete")
	}
}

func TestClockAndDiskErrors(t *testing.T) {
	dsn := pgtest.Migrated(t)
	r := NewReport()
	r.now = func() time.Time { return time.Now().Add(-time.Minute) }
	r.database(t.Context(), dsn)
	require.Len(t, r.Findings, 1)
	assert.Equal(t, "the clocks of this machine and of the database differ by 1m0s", r.Findings[0].Message)

	r = NewReport()
	r.minFreeDisk = 2 // more than any disk has
	r.disk(t.TempDir())
	require.Len(t, r.Findings, 1)
	assert.Contains(t, r.Findings[0].Message, "% full")
	r.minFreeDisk, r.Findings = -1, nil
	r.disk(t.TempDir())
	assert.Empty(t, r.Findings)
}

// The file system has 252 blocks; 76 are used, 19 are available, and the others are reserved.
func TestReservedBlocksDoNotCountAsUsed(t *testing.T) {
	assert.InDelta(t, .2, freeShare(&syscall.Statfs_t{Blocks: 252, Bfree: 176, Bavail: 19}), 1e-9)
}

func TestReportListsChecksAndCountsFindings(t *testing.T) {
	r := NewReport()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	previous := http.DefaultClient
	http.DefaultClient = server.Client() // trusts the certificate
	defer func() { http.DefaultClient = previous }()
	r.now = func() time.Time { return server.Certificate().NotAfter.Add(-time.Hour) }
	r.tokens(t.Context(), &Config{Addr: "nowhere"})
	r.server(t.Context(), &Config{ServerURL: server.URL})
	assert.Equal(t, []string{"tokens", "address", "server", "certificate"}, r.Checks)
	found := map[string]bool{} // whether the finding is an error
	for _, f := range r.Findings {
		found[f.Check] = f.IsError
	}
	assert.Equal(t, map[string]bool{"address": true, "server": true, "certificate": false}, found)

	var text strings.Builder
	require.EqualError(t, r.Write(&text, "text"), "the doctor found 2 errors")
	assert.Contains(t, text.String(), "4 checks: 2 errors, 1 warning\n")
	r.Findings = r.Findings[:1]
	require.EqualError(t, r.Write(&text, "text"), "the doctor found 1 error")
	assert.Contains(t, text.String(), "4 checks: 1 error, 0 warnings\n")
}

func TestServerWithoutTokensOnAnotherMachineIsAnError(t *testing.T) {
	previous := http.DefaultClient
	defer func() { http.DefaultClient = previous }()
	for _, tasksStatus := range []int{http.StatusOK, http.StatusUnauthorized} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/tasks" {
				w.WriteHeader(tasksStatus)
				return
			}
			fmt.Fprint(w, `{"status": "ready", "observe": "ok"}`)
		}))
		defer server.Close()
		address, err := url.Parse(server.URL)
		require.NoError(t, err)
		http.DefaultClient = &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(address)}} // the test server answers for every host
		r := NewReport()
		r.server(t.Context(), &Config{ServerURL: "http://loadaware.example"})
		if tasksStatus != http.StatusOK {
			assert.Empty(t, r.Findings)
			continue
		}
		require.Len(t, r.Findings, 1)
		assert.True(t, r.Findings[0].IsError)
		assert.Equal(t, "http://loadaware.example requires no token", r.Findings[0].Message)
	}
}

func TestChecksOfOtherServers(t *testing.T) {
	respond := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	unavailable := "http://" + closed.Addr().String()
	for _, c := range []struct{ check, message, url string }{
		{"prometheus", "is unavailable", unavailable}, {"prometheus", "status 401", respond(401, "")}, {"prometheus", "", respond(200, "{}")},
		{"airflow", "is unavailable", unavailable}, {"airflow", "denied access", respond(401, "{}")}, {"airflow", "", respond(200, `{"version": "3"}`)},
		{"server", "does not answer", unavailable}, {"server", "not the response of loadaware", respond(200, "hello")},
		{"server", "not ready: starting", respond(503, `{"status": "starting"}`)},
		{"server", "accepts no reports", respond(200, `{"status": "ready", "observe": "unavailable"}`)},
		{"server", "may have missed model updates for 300 s", respond(200, `{"status": "ready", "observe": "ok", "stale_seconds": 300}`)},
	} {
		cfg := Config{}
		switch c.check {
		case "prometheus":
			cfg.Prometheus.URL = c.url
		case "airflow":
			cfg.Airflow.URL, cfg.Airflow.Token = c.url, "t"
		case "server":
			cfg.ServerURL = c.url
		}
		r := NewReport()
		r.prometheus(t.Context(), &cfg)
		r.airflow(t.Context(), &cfg)
		r.server(t.Context(), &cfg)
		if c.message == "" {
			assert.Empty(t, r.Findings, c.url)
			continue
		}
		require.Len(t, r.Findings, 1, c.message)
		assert.Contains(t, r.Findings[0].Message, c.message)
	}
	assert.False(t, isLoopback("http://10.0.0.1:8080"))
	assert.False(t, isLoopback("https://example.org"))
	for _, local := range []string{"http://[::1]:8080", "http://[::1]", "http://localhost", "http://localhost:8080/path", "http://127.0.0.1/path"} {
		assert.True(t, isLoopback(local), local)
	}
}
