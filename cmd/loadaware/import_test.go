package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/testdata/demo"
)

func demoFile(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "pricing.csv.gz")
	require.NoError(t, os.WriteFile(name, demo.CSV, 0o600))
	return name
}

func TestImportingTwiceAddsNothing(t *testing.T) {
	server, file := startServer(t, database(t)), demoFile(t)
	code, out, stderr := invoke(t, "", "import", "--url", server.url, "--train", file)
	require.Equal(t, 0, code, stderr)
	assert.Contains(t, out, "900 rows read: 900 new, 0 already there, 0 amended, 0 rejected\n")
	assert.Contains(t, out, "pricing/predict_demand: ")
	code, out, _ = invoke(t, "", "import", "--url", server.url, file)
	assert.Equal(t, 0, code)
	assert.Equal(t, "900 rows read: 0 new, 900 already there, 0 amended, 0 rejected\n", out)
	assert.Equal(t, 150, server.observations("pricing", "publish_prices"))
}

// goodAndBad has two valid rows, two invalid ones, and one that only the server rejects: it contradicts the first row.
const goodAndBad = `dag_id,task_id,run_id,memory_max_bytes,outcome
etl,load,r1,1000000000,
etl,load,r2,lots,
etl,load,r3,3000000000,
etl,load,r1,9999999999,
etl,load,r4,,oom_killed
`

func TestBadRowsDoNotStopImport(t *testing.T) {
	server := startServer(t, database(t))
	code, out, stderr := invoke(t, goodAndBad, "import", "--url", server.url, "-")
	assert.Equal(t, 3, code)
	assert.Equal(t, "5 rows read: 2 new, 0 already there, 0 amended, 3 rejected\n", out)
	assert.Contains(t, stderr, `-: line 3: memory_max_bytes: "lots" is not a number of bytes`)
	assert.Contains(t, stderr, "-: line 5: ") // contradicts the first row
	assert.Contains(t, stderr, "-: line 6: memory_allocated_bytes: is required for an OOM")
	assert.Contains(t, stderr, "3 rows rejected")
	assert.Equal(t, 2, server.observations("etl", "load"))
}

func TestDryRunNeedsNoServer(t *testing.T) {
	code, out, stderr := invoke(t, goodAndBad, "import", "--dry-run", "-")
	assert.Equal(t, 3, code)
	assert.Equal(t, "5 rows read: 3 can be imported, 2 rejected; nothing was sent\n", out)
	assert.Contains(t, stderr, "line 3")
}

func TestJSONLinesFromStandardInputInGzip(t *testing.T) {
	server := startServer(t, database(t))
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	fmt.Fprintln(zip, `{"dag_id":"etl","task_id":"load","run_id":"r1","outcome":"oom_killed","allocated":{"memory":"2Gi"}}`)
	fmt.Fprintln(zip, `{"dag_id":"etl","task_id":"load","run_id":"r1","try_number":2,"outcome":"success","memory_max_bytes":3000000000}`)
	require.NoError(t, zip.Close())
	code, out, stderr := invoke(t, zipped.String(), "import", "--url", server.url, "-")
	assert.Equal(t, 0, code, stderr)
	assert.Contains(t, out, "2 new")
}

func TestImportTargets(t *testing.T) {
	file := demoFile(t)
	t.Run("a database", func(t *testing.T) {
		dsn := strings.TrimPrefix(emptyDatabase(t)[0], "DATABASE_URL=")
		code, out, stderr := invoke(t, "", "import", "--database", dsn, file)
		assert.Equal(t, 0, code, stderr)
		assert.Contains(t, out, "900 new")
		server := startServer(t, []string{"DATABASE_URL=" + dsn})
		assert.Equal(t, 150, server.observations("pricing", "clean_sales"))
	})
	t.Run("a data folder that no server uses", func(t *testing.T) {
		code, out, stderr := invoke(t, "", "import", "--data", dataFolder(t), file)
		assert.Equal(t, 0, code, stderr)
		assert.Contains(t, out, "900 new")
	})
	t.Run("the server of LOADAWARE_URL", func(t *testing.T) {
		server := startServer(t, database(t))
		t.Setenv("LOADAWARE_URL", server.url)
		code, out, stderr := invoke(t, "", "import", file)
		assert.Equal(t, 0, code, stderr)
		assert.Contains(t, out, "900 new")
	})
	t.Run("the database of DATABASE_URL if no server answers", func(t *testing.T) {
		t.Setenv("LOADAWARE_ADDR", "127.0.0.1:1")
		t.Setenv("DATABASE_URL", strings.TrimPrefix(database(t)[0], "DATABASE_URL="))
		code, out, stderr := invoke(t, "", "import", file)
		assert.Equal(t, 0, code, stderr)
		assert.Contains(t, out, "900 new")
		assert.Contains(t, stderr, "importing into the database of DATABASE_URL")
	})
	t.Run("no target", func(t *testing.T) {
		t.Setenv("LOADAWARE_ADDR", "127.0.0.1:1")
		t.Setenv("LOADAWARE_DATA", filepath.Join(t.TempDir(), "none"))
		code, _, stderr := invoke(t, "", "import", file)
		assert.Equal(t, 1, code)
		assert.Contains(t, stderr, "start a server with loadaware serve")
	})
}

// startUnreliableProxy starts a proxy of a server and returns its URL. The proxy answers the first `rejected` requests
// with 503. It forwards the next request and loses the response, like a proxy that restarts. Then it forwards all
// requests and responses.
func startUnreliableProxy(t *testing.T, server string, rejected int32) string {
	target, err := url.Parse(server)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	var requests atomic.Int32
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n := requests.Add(1); {
		case n <= rejected:
			http.Error(w, "unavailable", http.StatusServiceUnavailable)
		case n == rejected+1:
			proxy.ServeHTTP(httptest.NewRecorder(), r) // the response is lost
			panic(http.ErrAbortHandler)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	return front.URL
}

func TestRetryAfterLostResponseCountsOnce(t *testing.T) {
	server := startServer(t, database(t))
	target := client.New(startUnreliableProxy(t, server.url, 2), "")
	target.RetryFor = time.Second
	recorded, err := target.Record(t.Context(), []sizing.Observation{successOf("r1"), successOf("r2")})
	require.NoError(t, err)
	assert.Equal(t, []sizing.RecordResult{{Duplicate: true}, {Duplicate: true}}, recorded)
	assert.Equal(t, 2, server.observations("etl", "load"))
}

func TestClientGivesUpOnUnavailableServer(t *testing.T) {
	target := client.New(startUnreliableProxy(t, "http://127.0.0.1:1", 1<<30), "")
	target.RetryFor = 50 * time.Millisecond
	_, err := target.Record(t.Context(), []sizing.Observation{successOf("r1")})
	assert.ErrorContains(t, err, "gave up after")
}

func successOf(run string) sizing.Observation {
	return sizing.Observation{
		Try:     sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "etl", Task: "load"}, RunID: run, MapIndex: sizing.NoMap, Number: 1},
		Outcome: sizing.Success, MemoryMax: sizing.GiB,
	}
}

func TestMigrationsGoUpAndDown(t *testing.T) {
	dsn := strings.TrimPrefix(emptyDatabase(t)[0], "DATABASE_URL=")
	for _, c := range []struct{ direction, want string }{
		{"status", "at step 0 of "}, {"up", ": up to date"}, {"status", ": up to date"}, {"down", "1 to go (the numbers of steps have gaps): loadaware migrate up"}, {"up", ": up to date"},
	} {
		code, out, stderr := invoke(t, "", "migrate", c.direction, "--database", dsn)
		require.Equal(t, 0, code, stderr)
		assert.Contains(t, out, c.want, c.direction)
	}
}
