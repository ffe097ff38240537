package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
)

// fakeAirflow answers like Airflow 3 with runs of the DAG etl: the task load launches a pod, and the
// task begin does not. In every tenth run, load has two tries. The peak of run n is (100 + n) · 2 MiB. The
// tests of internal/source/airflow check the responses of real versions.
type fakeAirflow struct {
	url         string
	runs        int
	unavailable bool // returns 404 instead of the list of task instances
	denied      bool // returns 403 instead of the list of task instances
}

// firstStart is the start of the first run of a fakeAirflow. The other runs follow hourly.
const firstStart = "2025-03-01T06:00:00Z"

func startFakeAirflow(t *testing.T, runs int) *fakeAirflow {
	p := &fakeAirflow{runs: runs}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request map[string]any
		_ = json.NewDecoder(r.Body).Decode(&request)
		response, status := p.respond(r, request), http.StatusOK
		switch {
		case r.URL.Path == "/auth/token" && request["password"] != password:
			response, status = map[string]any{"detail": "Invalid credentials"}, http.StatusUnauthorized
		case p.denied && strings.HasSuffix(r.URL.Path, "/taskInstances/list"):
			response, status = map[string]any{"detail": "Forbidden"}, http.StatusForbidden
		case response == nil:
			status = http.StatusNotFound
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(response)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	t.Setenv("LOADAWARE_AIRFLOW_PASSWORD", password)
	return p
}

func (p *fakeAirflow) respond(r *http.Request, request map[string]any) any {
	switch path := strings.TrimPrefix(r.URL.Path, "/api/v2"); {
	case path == "/version", path == "/dags":
		return map[string]any{"version": "3.3.2"}
	case path == "/auth/token":
		return map[string]any{"access_token": "t"}
	case path == "/dags/etl/tasks":
		begin := map[string]any{"task_id": "begin", "downstream_task_ids": []any{"load"}}
		return map[string]any{"tasks": []any{begin, map[string]any{"task_id": "load", "owner": "pricing", "params": map[string]any{"rows": map[string]any{"value": 5}}}}}
	case path == "/dags/etl":
		return map[string]any{"tags": []any{map[string]any{"name": "nightly"}}}
	case path == "/dags/~/dagRuns/list":
		var rows []any
		for n := range p.runs {
			if end := p.endedAt(n); end >= request["end_date_gte"].(string) {
				rows = append(rows, map[string]any{"dag_id": "etl", "dag_run_id": fmt.Sprint(n), "start_date": p.startedAt(n), "end_date": end, "conf": map[string]any{"rows": 100 + n}})
			}
		}
		return pageOf("dag_runs", rows, request)
	case path == "/dags/~/dagRuns/~/taskInstances/list" && !p.unavailable:
		var rows []any
		for n := range p.runs {
			if slices.Contains(request["dag_run_ids"].([]any), any(fmt.Sprint(n))) {
				rows = append(rows, p.instance(n, "load", "KubernetesPodOperator", p.tries(n)), p.instance(n, "begin", "EmptyOperator", 1))
			}
		}
		return pageOf("task_instances", rows, request)
	case strings.HasSuffix(path, "/taskInstances/load/tries"):
		var n int
		_, _ = fmt.Sscanf(path, "/dags/etl/dagRuns/%d/", &n)
		first := p.instance(n, "load", "KubernetesPodOperator", 1)
		first["state"] = "failed"
		return map[string]any{"task_instances": []any{first, p.instance(n, "load", "KubernetesPodOperator", 2)}, "total_entries": 2}
	}
	return nil
}

func pageOf(name string, rows []any, request map[string]any) any {
	from := min(int(request["page_offset"].(float64)), len(rows))
	return map[string]any{name: rows[from:min(from+100, len(rows))], "total_entries": len(rows)}
}

func (p *fakeAirflow) startedAt(n int) time.Time {
	t, _ := time.Parse(time.RFC3339, firstStart)
	return t.Add(time.Duration(n) * time.Hour)
}

func (p *fakeAirflow) endedAt(n int) string {
	return p.startedAt(n).Add(30 * time.Minute).Format("2006-01-02T15:04:05-07:00")
}

func (p *fakeAirflow) tries(n int) int {
	if n%10 == 0 {
		return 2
	}
	return 1
}

func (p *fakeAirflow) instance(n int, task, operator string, try int) map[string]any {
	return map[string]any{
		"dag_id": "etl", "task_id": task, "dag_run_id": fmt.Sprint(n), "map_index": -1, "try_number": try, "state": "success", "operator": operator,
		"start_date": p.startedAt(n), "end_date": p.startedAt(n).Add(time.Minute), "duration": 60.0, "pool": "heavy",
		"rendered_fields": map[string]any{"image": "registry/load:1", "container_resources": map[string]any{"limits": map[string]any{"memory": "8Gi"}}},
	}
}

// usageLogs writes a usage log for the last try of each run n with from ≤ n < to.
func (p *fakeAirflow) usageLogs(t *testing.T, from, to int) (folder string) {
	folder = t.TempDir()
	for n := from; n < to; n++ {
		name := filepath.Join(folder, "dag_id=etl", "task_id=load", fmt.Sprintf("run_id=%d", n), fmt.Sprintf("attempt=%d.csv", p.tries(n)))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		text := fmt.Sprintf("timestamp,memory_bytes\n1740819660,1000000\n1740819665,%d\n1740819670,1000000\n", (100+n)*2<<20)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return folder
}

func TestImportOfAirflowAndUsageLogsTrainsModel(t *testing.T) {
	server, airflow := startServer(t, append(database(t), onlyRequested)), startFakeAirflow(t, 120)
	importArgs := []string{"import", "airflow", "--url", airflow.url, "--user", "u", "--into", server.url, "--rate", "1e6"}
	code, out, stderr := invoke(t, "", importArgs...)
	require.Equal(t, 0, code, out+stderr)
	assert.Contains(t, out, "132 tries read: 132 new, 0 already there, 0 amended, 0 rejected\n")
	assert.Contains(t, out, "120 × skipped: EmptyOperator launches no pod (--operators): etl/begin, …\n")
	assert.Contains(t, out, "Airflow stores no peaks")
	assert.Contains(t, out, "the last run ended at 2025-03-06T05:30:00Z; continue with --since and that time\n")
	code, out, stderr = invoke(t, "", "import", "usage-log", "--url", server.url, "--train", airflow.usageLogs(t, 0, 120))
	require.Equal(t, 0, code, out+stderr)
	assert.Contains(t, out, "120 tries read: 0 new, 0 already there, 120 amended, 0 rejected\n")
	assert.Contains(t, out, "etl/load: model 1")

	response, err := http.Get(server.url + "/predict?dag_id=etl&task_id=load&rows=150&memory=8Gi")
	require.NoError(t, err)
	defer response.Body.Close()
	var answer struct {
		Source string `json:"source"`
		Memory struct {
			Bytes sizing.Bytes `json:"request_bytes"`
		} `json:"memory"`
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	assert.Equal(t, "model", answer.Source)
	assert.Greater(t, answer.Memory.Bytes, 300*sizing.MiB, "the grant must exceed 300 MiB, the peak of a run with 150 rows")
	assert.Less(t, answer.Memory.Bytes, sizing.GiB)

	code, out, stderr = invoke(t, "", append(importArgs, "--usage-log", airflow.usageLogs(t, 0, 120))...)
	require.Equal(t, 0, code, out+stderr)
	assert.Contains(t, out, "132 tries read: 0 new, 132 already there, 0 amended, 0 rejected\n", "earlier reports stay")
	assert.Contains(t, out, "tries with an earlier report that has other values: 120; the earlier values stay\n")

	series, err := http.Get(server.url + "/tasks/etl/load/series?run_id=7&try_number=" + strconv.Itoa(airflow.tries(7)))
	require.NoError(t, err)
	defer series.Body.Close()
	text, err := io.ReadAll(series.Body)
	require.NoError(t, err)
	low, high := "1000000,1000000,1000000,1000000,1000000", strconv.Itoa((100+7)*2<<20)
	assert.JSONEq(t, `{"step_seconds": 1, "memory_bytes": [`+low+strings.Repeat(","+high, 5)+`,1000000]}`, string(text))
}

func TestUnjoinedTriesAreCounted(t *testing.T) {
	server, airflow := startServer(t, database(t)), startFakeAirflow(t, 30)
	folder := airflow.usageLogs(t, 5, 33) // no log of the first five runs, and logs of three unknown runs
	require.NoError(t, os.WriteFile(filepath.Join(folder, "broken.csv"), []byte("timestamp,memory_bytes\n"), 0o600))
	code, out, stderr := invoke(t, "", "import", "airflow", "--url", airflow.url, "--user", "u", "--into", server.url, "--usage-log", folder)
	assert.Equal(t, 3, code, "the exit code must be 3, because one file was rejected")
	assert.Contains(t, stderr, "broken.csv: invalid usage log: dag_id is required")
	// The 3 failed tries and the last tries of the first 5 runs have no log.
	assert.Contains(t, out, "8 × without usage: no file has the try: etl/load run 0 try 1, etl/load run 0 try 2, etl/load run 1 try 1, …\n")
	assert.Contains(t, out, "3 × with usage, but Airflow did not return the try")
	assert.Contains(t, out, "removed): etl/load run 30 try 2, etl/load run 31 try 1, etl/load run 32 try 1\n")
	assert.Contains(t, out, "30 runs; a peak was joined to 25 tries\n")
	assert.Equal(t, 33, server.observations("etl", "load"))
}

func TestAirflowImportResumes(t *testing.T) {
	server, airflow := startServer(t, database(t)), startFakeAirflow(t, 30)
	importArgs := []string{"import", "airflow", "--url", airflow.url, "--user", "u", "--into", server.url}
	airflow.unavailable = true
	code, _, stderr := invoke(t, "", importArgs...)
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "not found in airflow")
	airflow.unavailable = false
	_, out, _ := invoke(t, "", append(importArgs, "--since", "2025-03-02T11:30:00Z")...)
	assert.Contains(t, out, "1 run;", "--since must select only the last run")
	assert.Contains(t, out, "1 try read:")
	assert.Equal(t, 1, server.observations("etl", "load"))
	code, out, _ = invoke(t, "", importArgs...)
	assert.Equal(t, 0, code)
	assert.Contains(t, out, "33 tries read: 32 new, 1 already there")
}

func TestAirflowPasswordIsNotPrinted(t *testing.T) {
	airflow := startFakeAirflow(t, 1)
	t.Setenv("LOADAWARE_AIRFLOW_PASSWORD", "wrong-and-secret")
	code, out, stderr := invoke(t, "", "import", "airflow", "--url", airflow.url, "--user", "u", "--dry-run")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "Invalid credentials")
	assert.Contains(t, stderr, "LOADAWARE_AIRFLOW_PASSWORD")
	assert.Empty(t, leaks(out+stderr, "wrong-and-secret"))
}

func TestTheErrorOfADeniedRequestGivesAdvice(t *testing.T) {
	airflow := startFakeAirflow(t, 1)
	airflow.denied = true
	code, _, stderr := invoke(t, "", "import", "airflow", "--url", airflow.url, "--user", "u", "--dry-run")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "Forbidden")
	assert.Contains(t, stderr, "set --user with LOADAWARE_AIRFLOW_PASSWORD")
}

func TestPeaksOfCSVAreJoinedByTry(t *testing.T) {
	server, airflow := startServer(t, database(t)), startFakeAirflow(t, 11)
	file := filepath.Join(t.TempDir(), "peaks.csv")
	require.NoError(t, os.WriteFile(file, []byte(`dag_id,task_id,run_id,try_number,memory_max_bytes,outcome,feature.size
etl,load,0,1,9000000000,oom_killed,7
etl,load,0,2,1000000,,7
etl,load,1,1,2000000,oom_killed,8
etl,load,2,1,many,,8
`), 0o600))
	code, out, stderr := invoke(t, "", "import", "airflow", "--url", airflow.url, "--user", "u", "--into", server.url, "--usage", file)
	assert.Equal(t, 3, code)
	assert.Contains(t, stderr, "peaks.csv: line 5: memory_max_bytes")
	assert.Contains(t, out, "a peak was joined to 3 tries\n")
	code, out, stderr = invoke(t, strings.Join([]string{
		`{"dag_id":"etl","task_id":"load","run_id":"0","outcome":"oom_killed","memory_max_bytes":9000000000,"duration_seconds":60,"features":{"rows":100,"size":7}}`,
		`{"dag_id":"etl","task_id":"load","run_id":"0","try_number":2,"outcome":"success","memory_max_bytes":1000000,"features":{"rows":100,"size":7},"allocated":{"memory":"8Gi"}}`,
		`{"dag_id":"etl","task_id":"load","run_id":"1","outcome":"success","memory_max_bytes":2000000,"features":{"rows":101,"size":8}}`,
	}, "\n"), "import", "--url", server.url, "-")
	assert.Equal(t, 0, code, stderr)
	assert.Contains(t, out, "3 rows read: 0 new, 3 already there", "the file of peaks must have turned the failed try into an OOM kill, and left the success")
}

func TestAirflowImportStoresMetadataWithAndWithoutUsage(t *testing.T) {
	dsn := database(t)
	server, airflow := startServer(t, dsn), startFakeAirflow(t, 3)
	file := filepath.Join(t.TempDir(), "peaks.csv")
	require.NoError(t, os.WriteFile(file, []byte("dag_id,task_id,run_id,memory_max_bytes,metadata.tier,metadata.owner,usage.read_bytes,node_type\netl,load,1,2000000,gold,finance,7,m5\n"), 0o600))
	code, out, stderr := invoke(t, "", "import", "airflow", "--url", airflow.url, "--user", "u", "--into", server.url, "--usage", file)
	require.Equal(t, 0, code, out+stderr)

	_, address, _ := strings.Cut(dsn[0], "=")
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	stored := func(run string) (metadata sizing.Metadata, read *float64, node *string) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT entries, read_bytes, node_type FROM observation
			JOIN observation_context AS c USING (task, seq) JOIN metadata_set AS m ON m.task = c.task AND m.id = c.metadata WHERE run_id = $1`, run).Scan(&metadata, &read, &node))
		return metadata, read, node
	}
	want := sizing.Metadata{
		"operator": {"KubernetesPodOperator"}, "owner": {"pricing"}, "pool": {"heavy"}, "tags": {"nightly"},
		"params": {"rows"}, "image": {"registry/load"},
	}
	metadata, read, node := stored("2")
	assert.Equal(t, want, metadata)
	assert.Nil(t, read)
	assert.Nil(t, node)
	want["tier"], want["owner"] = []string{"gold"}, []string{"finance"}
	metadata, read, node = stored("1")
	assert.Equal(t, want, metadata, "the metadata of the file must override those of Airflow, each name separately")
	assert.InEpsilon(t, 7, *read, 1e-9)
	assert.Equal(t, "m5", *node)
}

func TestInvalidCommandLinesOfImports(t *testing.T) {
	for want, args := range map[string][]string{
		"name the Airflow with --url":      {"airflow"},
		"takes flags only":                 {"airflow", "--url", "http://127.0.0.1:1", "file"},
		"--batch must be":                  {"airflow", "--url", "http://127.0.0.1:1", "--batch", "0"},
		"--rate must be":                   {"airflow", "--url", "http://127.0.0.1:1", "--rate", "0"},
		`--since "soon" is not a time`:     {"airflow", "--url", "http://127.0.0.1:1", "--since", "soon"},
		"name a folder or files of usage":  {"usage-log"},
		"--batch must be 1 to 10000, not ": {"usage-log", "--batch", "10001", "x"},
	} {
		code, _, stderr := invoke(t, "", append([]string{"import"}, args...)...)
		assert.Equal(t, 2, code, want)
		assert.Contains(t, stderr, want)
	}
}
