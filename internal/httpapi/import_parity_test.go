package httpapi

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
)

// fieldSamples are values of each field of POST /observe; the first value is valid. TestImportReadsALineLikeTheServer
// requires an entry for each field of api.Observation, so that imports read every field.
var fieldSamples = map[string][]string{
	"namespace":            {`"emea"`, `null`, `""`, `"a/b"`, `7`},
	"dag_id":               {`"d"`, `null`, `""`, `"a/b"`, `7`},
	"task_id":              {`"t"`, `null`, `" "`, `7`},
	"run_id":               {`"r"`, `null`, `""`, `"a/b"`, `"\u0000"`, `{}`},
	"map_index":            {`4`, `null`, `-1`, `4.0`, `4e0`, `-2`, `4.5`, `"4"`, `1e99`},
	"try_number":           {`2`, `null`, `2.0`, `0`, `-1`, `99999999`, `"2"`, `true`},
	"outcome":              {`"oom_killed"`, `"success"`, `null`, `""`, `" success"`, `"Success"`, `"oom"`, `1`},
	"memory_max":           {`"4Gi"`, `null`, `"4096Mi"`, `"4 Gi"`, `"4GB"`, `"lots"`, `""`, `"0"`, `"-1Gi"`, `4294967296`},
	"memory_max_bytes":     {`4294967296`, `null`, `4.294967296e9`, `4294967296.0`, `"4294967296"`, `"4Gi"`, `0`, `-1`, `1e30`, `1.5`},
	"memory_sampled_bytes": {`1000`, `null`, `0`, `"1000"`, `-5`},
	"cpu_max_cores":        {`1.02`, `null`, `0`, `-1`, `1e9`, `"250m"`, `"1"`},
	"duration_seconds":     {`391.5`, `null`, `0`, `-1`, `1e308`, `"391.5"`},
	"started_at":           {`"2020-01-03T02:00:00Z"`, `null`, `"2020-01-03T02:00:00+01:00"`, `"2020-01-03T02:00:00.1234567Z"`, `"2020-01-03T02:00:00"`, `"2020-01-03"`, `"2020-01-03 02:00:00Z"`, `"1969-12-31T23:59:59Z"`, `"2200-01-01T00:00:00Z"`, `1578016800`, `""`},
	"ended_at":             {`"2020-01-03T03:00:00Z"`, `null`, `"2020-01-03T01:00:00Z"`, `"2019-01-03T03:00:00"`, `"now"`},
	"allocated":            {`{"memory": "8Gi"}`, `null`, `{}`, `{"memory": null}`, `{"memory_bytes": 8589934592}`, `{"memory": "8Gi", "memory_bytes": 8589934592}`, `{"memory": "8Gi", "memory_bytes": 1}`, `{"memory": "8Gb"}`, `{"memory_bytes": "8Gi"}`, `{"memory_bytes": 0}`, `{"cpu": "250m", "cpu_cores": 0.25}`, `{"cpu": "1", "cpu_cores": 2}`, `{"disk": 1}`, `"8Gi"`},
	"requested":            {`{"memory": "350Gi", "cpu": "6"}`, `null`, `{"cpu_cores": 6}`, `{"cpu": 6}`, `{"cpu_cores": -1}`, `{"memory": ""}`, `[]`},
	"features":             {`{"a": 1, "b": "x", "c": true, "d": null, "e": "2020-01-03"}`, `null`, `{}`, `{"a": 1234567890123456789, "b": -1234567890123456, "c": 123456789012345, "d": 1234567890123456.5}`, `{"a": " 1000000\n", "b": "1_000_000", "c": " 007 "}`, `{"a": [1]}`, `{"a": {}}`, `{"a": 1e999}`, `{"": 1}`, `{"a": 1, "a": 2}`, `[]`, `"a"`, `{"` + strings.Repeat("n", 101) + `": null}`, `{"é": "ü"}`},
	"provisional":          {`true`, `false`, `null`, `"true"`, `1`},
	"prediction_id":        {`"0b9f4c52"`, `null`, `""`, `7`, `"` + strings.Repeat("p", 251) + `"`},
	"metadata":             {`{"owner": "a", "tags": ["x", "y"], "n": 1, "none": null}`, `null`, `{}`, `7`, `[]`, `{"a": {"b": 1}}`, `{"a": [["b"]]}`, `{"a": [null, "b", true]}`, `{"": "x"}`, `{"a": []}`, `{"é": "ü"}`},
	"usage":                {`{"memory_mean_bytes": 5e8, "cpu_mean_cores": 0.5}`, `null`, `{}`, `{"read_bytes": -1}`, `{"written_bytes": "1"}`, `{"other": 1}`, `[]`},
	"node_type":            {`"m5.xlarge"`, `null`, `""`, `7`},
	"cluster_load":         {`0.5`, `null`, `0`, `1.5`, `"0.5"`},
	"detailed_series":      {`{"step_seconds": 5, "memory_bytes": [1, 2]}`, `null`, `{}`, `{"step_seconds": 0.1, "memory_bytes": [1]}`, `{"step_seconds": 5, "memory_bytes": [null]}`, `{"step_seconds": 5, "memory_bytes": [1], "cpu_cores": [1, 2]}`},
	"executed_plan":        {`{"version": 1, "mode": "memory", "followed": true, "start_bytes": 1000, "resizes": [{"seconds": 1, "memory_bytes": 2000, "result": "applied", "in_force_seconds": 2}]}`, `null`, `{}`, `{"version": 0, "mode": "memory", "followed": true}`, `{"version": 1, "mode": "x", "followed": true}`, `{"version": 1, "mode": "cpu", "followed": false, "fallback": "refused"}`, `{"version": 1, "mode": "cpu", "followed": true, "resizes": [{"result": "applied"}]}`, `{"version": 1, "mode": "cpu", "followed": true, "resizes": [null]}`},
	"usage_series":         {`{"step_seconds": 1, "memory_bytes": [1, 2]}`, `null`, `{}`, `{"step_seconds": null, "memory_bytes": [1]}`, `{"step_seconds": 1, "memory_bytes": [null]}`, `{"step_seconds": 1, "memory_bytes": [1], "cpu_cores": [1, 2]}`, `{"step_seconds": 0, "memory_bytes": [1]}`},
}

func readAsServer(text string) (sizing.Observation, bool) {
	s := &server{strict: api.Strict()}
	o, err := s.observationItem(adminContext(), []byte(text))
	return o.Observation, err == nil && len(o.Validate()) == 0
}

func readAsImport(t *testing.T, text string) (sizing.Observation, bool) {
	in, err := file.Open(strings.NewReader(text + "\n"))
	if err != nil {
		return sizing.Observation{}, false
	}
	row, err := in.Read()
	if err != nil {
		var rowError *file.RowError
		require.ErrorAs(t, err, &rowError, text)
		require.NotEmpty(t, rowError.Fields)
		return sizing.Observation{}, false
	}
	return row.Observation, true
}

// asImported truncates times and rounds durations to microseconds, and drops missing features, like an import.
func asImported(o sizing.Observation) sizing.Observation {
	o.DeriveDuration() // the service does this
	o.StartedAt, o.EndedAt = o.StartedAt.UTC().Truncate(time.Microsecond), o.EndedAt.UTC().Truncate(time.Microsecond)
	o.Duration = o.Duration.Round(time.Microsecond)
	o.Features = maps.Clone(o.Features)
	maps.DeleteFunc(o.Features, func(_ string, v sizing.Value) bool { return v.Kind == sizing.Missing })
	return o
}

// requireParity requires that an import and POST /observe read the same observation from `text`, or
// both reject it.
func requireParity(t *testing.T, text string) (accepted bool) {
	t.Helper()
	want, accepted := readAsServer(text)
	got, imported := readAsImport(t, text)
	require.Equal(t, accepted, imported, "accepted by the server: %v, by an import: %v: %s", accepted, imported, text)
	if accepted {
		require.Equal(t, fmt.Sprint(want.Usage), fmt.Sprint(got.Usage), text) // NaN, which is unknown, does not equal itself
		want.Usage, got.Usage = nil, nil
		require.Equal(t, asImported(want), got, text)
	}
	return accepted
}

func TestImportReadsALineLikeTheServer(t *testing.T) {
	fields := reflect.VisibleFields(reflect.TypeFor[api.Observation]())
	for _, field := range fields {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		samples := fieldSamples[name]
		if !assert.NotEmpty(t, samples, "fieldSamples must have samples of the field %s of POST /observe", name) {
			continue
		}
		// Each sample is added to the fields of the following map, or replaces one of them.
		for n, sample := range samples {
			text := "{"
			for required, value := range map[string]string{"dag_id": `"d"`, "task_id": `"t"`, "run_id": `"r"`, "outcome": `"success"`, "allocated": `{"memory": "8Gi"}`} {
				if required != name {
					text += `"` + required + `": ` + value + ", "
				}
			}
			text += `"` + name + `": ` + sample + "}"
			accepted := requireParity(t, text)
			if n == 0 {
				assert.True(t, accepted, "the first sample is valid: %s", text)
			}
		}
	}
	assert.Len(t, fieldSamples, len(fields), "fieldSamples must have no field that api.Observation lacks")
	for _, text := range []string{
		`{}`, `{"dag_id": "d"}`, `{"dag_id": "d", "dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "success"}`,
		`{"DAG_ID": "d", "task_id": "t", "run_id": "r", "outcome": "success"}`, `{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "success"} x`,
		`{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "success", "memory": "4Gi"}`,
		`{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "success", "memory_max": "1Gi", "memory_max_bytes": 1073741824}`,
		`{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "success", "memory_max": "1Gi", "memory_max_bytes": 1}`,
		`{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "success",}`, `{"dag_id": "\ud800", "task_id": "t", "run_id": "r", "outcome": "success"}`,
		"{\"dag_id\": \"\xff\", \"task_id\": \"t\", \"run_id\": \"r\", \"outcome\": \"success\"}", `{'dag_id': 'd'}`,
	} {
		requireParity(t, text)
	}
}

func FuzzImportReadsALineLikeTheServer(f *testing.F) {
	for name, samples := range fieldSamples {
		for _, sample := range samples {
			f.Add(`{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "oom_killed", "` + name + `": ` + sample + "}")
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.HasPrefix(text, "{") || strings.ContainsAny(text, "\r\n") {
			return // not a line of JSON
		}
		requireParity(t, text)
	})
}
