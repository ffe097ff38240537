package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/loadaware/loadaware/internal/cli"
)

// printed answers the requests of a command with the handler and returns the output of the command.
func printed(t *testing.T, handler http.HandlerFunc, args ...string) string {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	var out, failed bytes.Buffer
	require.Zero(t, run(t.Context(), cli.Console{Out: &out, Err: &failed}, append(args, "--url", server.URL)), failed.String())
	return out.String()
}

const savedRow = `"tries": 62, "successes": 60, "kills": 2, "unaccounted_tries": 0, "unmeasured_tries": 0, "success_hours": 15,
	"requested_gbh": 5250, "granted_gbh": 310.5, "used_gbh": 162.25, "used_hours": 15, "killed_gbh": 4.5, "wasted_gbh": 152.75, "saved_gbh": 4935,
	"no_request_gbh": 0, "saved_core_h": null, "saved_money": null`

func TestSavingsCommandSendsItsWindow(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/savings?by=task&dag_id=pricing&from=2026-01-01&to=2026-02-01", r.URL.String())
		_, _ = io.WriteString(w, `{"by": "task", "first_day": "2026-01-01", "last_day": "2026-01-31",
			"rows": [{"namespace": "default", "dag_id": "pricing", "task_id": "size", `+savedRow+`}], "total": {`+savedRow+`}}`)
	}
	window := []string{"savings", "--by", "task", "--dag", "pricing", "--from", "2026-01-01", "--to", "2026-02-01"}
	table := printed(t, answer, window...)
	assert.Contains(t, table, "pricing/size")
	assert.Contains(t, table, "4,935")
	assert.Contains(t, table, "not known", "the saved CPU is not known")
	lines, err := csv.NewReader(bytes.NewBufferString(printed(t, answer, append(window, "-o", "csv")...))).ReadAll()
	require.NoError(t, err)
	assert.Len(t, lines, 2)
	var parsed map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(printed(t, answer, append(window, "-o", "yaml")...)), &parsed))
	require.NoError(t, json.Unmarshal([]byte(printed(t, answer, append(window, "-o", "json")...)), &parsed))
}

func TestReportPrintsUsageAndStaticRequests(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		static := ""
		if r.URL.Query().Get("static") == "true" {
			static = `, "static": {"request_bytes": 64424509440, "request": "60Gi", "risk": 0.0132, "runs": 150, "runs_needed": 66, "saves_gbh": 4200}`
		}
		_, _ = io.WriteString(w, `{"first_day": "2026-01-01", "last_day": "2026-01-31", "total": {`+savedRow+`}, "tasks": [{"namespace": "default", "dag_id": "pricing",
			"task_id": "size", "group": "heavy", "severity": "critical", "tries": 62, "kills": 2, "requested_bytes": 350000000000, "granted_bytes": 20700000000,
			"used_bytes": 10816666667, "saved_gbh": 4935, "killed_gbh": 4.5, "risk": 0.0121, "risk_target": 0.015, "source": "model"`+static+`}]}`)
	}
	table := printed(t, answer, "report")
	assert.Contains(t, table, "350 → 20.7 → 10.8")
	assert.NotContains(t, table, "\x1b[", "a pipe has no colours")
	assert.Contains(t, printed(t, answer, "report", "--static"), `requests={"memory": "60Gi"}`)

	var failed bytes.Buffer
	assert.Equal(t, 2, run(t.Context(), cli.Console{Out: io.Discard, Err: &failed}, []string{"report", "-o", "pdf"}))
	assert.Contains(t, failed.String(), "-o must be one of table, json, yaml, csv, markdown, html")
}
