package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func manyFeatures(n int) string {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"f%d": %d`, i, i)
	}
	return "{" + strings.Join(members, ",") + "}"
}

const (
	key       = `"dag_id": "d", "task_id": "t"`
	try       = key + `, "run_id": "r"`
	succeeded = try + `, "outcome": "success"`
	killed    = try + `, "reason": "oom_killed"`
)

func TestInvalidInputIsRejectedWithItsFields(t *testing.T) {
	e := newTestEnv(t, noAuth)
	for _, c := range []struct {
		name, call, body string
		status           int
		fields           []string
	}{
		// malformed bodies
		{"an empty body", "POST /predict", " ", 400, nil},
		{"an incomplete body", "POST /predict", `{"dag_id": "d"`, 400, nil},
		{"not JSON", "POST /observe", `dag_id=d`, 400, nil},
		{"trailing garbage", "POST /predict", `{` + key + `} {}`, 400, nil},
		{"two bodies", "POST /observe", `{` + succeeded + `}{` + succeeded + `}`, 400, nil},
		{"a trailing comma", "POST /predict", `{` + key + `,}`, 400, nil},
		{"NaN", "POST /predict", `{` + key + `, "features": {"a": NaN}}`, 400, nil},
		{"-Infinity", "POST /observe", `{` + succeeded + `, "duration_seconds": -Infinity}`, 400, nil},
		{"bad UTF-8 in an id", "POST /predict", "{\"dag_id\": \"d\xff\", \"task_id\": \"t\"}", 400, nil},
		{"bad UTF-8 in a feature", "POST /observe", "{" + succeeded + ", \"features\": {\"a\": \"\xc3\x28\"}}", 400, nil},
		{"half a surrogate pair", "POST /predict", `{"dag_id": "\ud800", "task_id": "t"}`, 400, nil},
		{"a byte order mark", "POST /predict", "\xef\xbb\xbf{" + key + "}", 400, nil},
		{"a duplicate name", "POST /predict", `{` + key + `, "dag_id": "e"}`, 400, []string{"dag_id"}},
		{"a duplicate feature", "POST /predict", `{` + key + `, "features": {"a": 1, "a": 2}}`, 400, []string{"features.a"}},
		{"a list for a body", "POST /predict", `[]`, 400, nil},
		{"a string for a body", "POST /observe", `"x"`, 400, nil},
		{"null for a body whose fields are optional", "POST /campaigns/1/release", ` null `, 400, nil},
		{"null for a policy", "PUT /tasks/d/t/policy", `null`, 400, nil},
		{"very deep nesting", "POST /predict", `{` + key + `, "features": ` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + `}`, 400, nil},
		{"deep nesting", "POST /predict", `{` + key + `, "features": {"a": ` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}`, 422, []string{"features.a"}},
		{"a body above the limit", "POST /predict", `{` + key + `, "features": {"a": "` + strings.Repeat("x", 10<<20) + `"}}`, 413, nil},
		{"a batch above the limit", "POST /observe/batch", `{"observations": ["` + strings.Repeat("x", 33<<20) + `"]}`, 413, nil},

		// field names
		{"an unknown field", "POST /predict", `{` + key + `, "run": 1}`, 422, []string{"run"}},
		{"an unknown nested field", "POST /predict", `{` + key + `, "requested": {"memry": 1}}`, 422, []string{"requested.memry"}},
		{"a field in the wrong case", "POST /predict", `{` + key + `, "Features": {}}`, 422, []string{"Features"}},
		{"no dag_id", "POST /predict", `{"task_id": "t"}`, 422, []string{"dag_id"}},
		{"null for dag_id", "POST /predict", `{"dag_id": null, "task_id": "t"}`, 422, []string{"dag_id"}},
		{"an empty object", "POST /predict", `{}`, 422, []string{"dag_id", "task_id"}},
		{"an empty task_id", "POST /observe", `{"dag_id": "d", "task_id": "", "run_id": "r", "outcome": "success"}`, 422, []string{"task_id"}},
		{"an empty namespace", "POST /predict", `{` + key + `, "namespace": ""}`, 422, []string{"namespace"}},
		{"a slash in an id", "POST /predict", `{"dag_id": "a/b", "task_id": "t"}`, 422, []string{"dag_id"}},
		{"a control character in an id", "POST /predict", `{"dag_id": "a\u0000b", "task_id": "t"}`, 422, []string{"dag_id"}},
		{"an id of 251 characters", "POST /predict", `{"dag_id": "` + strings.Repeat("é", 251) + `", "task_id": "t"}`, 422, []string{"dag_id"}},
		{"no run_id in a report", "POST /observe", `{` + key + `, "outcome": "success"}`, 422, []string{"run_id"}},
		{"an empty run_id in a prediction request", "POST /predict", `{` + key + `, "run_id": ""}`, 422, []string{"run_id"}},
		{"no run_id in a lift", "POST /retry-lift", `{` + key + `, "reason": "oom_killed", "failed": {"memory": "1Gi"}}`, 422, []string{"run_id"}},
		{"a prediction_id with a NUL", "POST /observe", `{` + succeeded + `, "prediction_id": "a\u0000"}`, 422, []string{"prediction_id"}},

		// types
		{"a number for an id", "POST /predict", `{"dag_id": 7, "task_id": "t"}`, 422, []string{"dag_id"}},
		{"a string for a number of bytes", "POST /observe", `{` + succeeded + `, "memory_max_bytes": "7340032000"}`, 422, []string{"memory_max_bytes"}},
		{"a number for a quantity", "POST /predict", `{` + key + `, "requested": {"memory": 350}}`, 422, []string{"requested.memory"}},
		{"a list for features", "POST /predict", `{` + key + `, "features": [1]}`, 422, []string{"features"}},
		{"a string for features", "POST /predict", `{` + key + `, "features": "x"}`, 422, []string{"features"}},
		{"an object in a feature", "POST /predict", `{` + key + `, "features": {"a": {"b": 1}}}`, 422, []string{"features.a"}},
		{"a number for requested", "POST /predict", `{` + key + `, "requested": 5}`, 422, []string{"requested"}},
		{"a fraction of a byte", "POST /observe", `{` + succeeded + `, "memory_max_bytes": 1.5}`, 422, []string{"memory_max_bytes"}},
		{"a fractional try number", "POST /predict", `{` + key + `, "try_number": 1.5}`, 422, []string{"try_number"}},
		{"an unknown outcome", "POST /observe", `{` + try + `, "outcome": "ok"}`, 422, []string{"outcome"}},
		{"no outcome", "POST /observe", `{` + try + `}`, 422, []string{"outcome"}},
		{"an unknown reason", "POST /retry-lift", `{` + try + `, "reason": "tired", "failed": {"memory": "1Gi"}}`, 422, []string{"reason"}},
		{"a day for a time", "POST /observe", `{` + succeeded + `, "started_at": "2020-01-03"}`, 422, []string{"started_at"}},
		{"a time without a zone", "POST /observe", `{` + succeeded + `, "ended_at": "2020-01-03T02:15:00"}`, 422, []string{"ended_at"}},
		{"a number for a time", "POST /observe", `{` + succeeded + `, "started_at": 1578017700}`, 422, []string{"started_at"}},
		{"the 30th of February", "POST /observe", `{` + succeeded + `, "started_at": "2020-02-30T00:00:00Z"}`, 422, []string{"started_at"}},

		// values
		{"1e400 in a feature", "POST /predict", `{` + key + `, "features": {"a": 1e400}}`, 422, []string{"features.a"}},
		{"1e400 seconds", "POST /observe", `{` + succeeded + `, "duration_seconds": 1e400}`, 422, []string{"duration_seconds"}},
		{"1e300 seconds", "POST /observe", `{` + succeeded + `, "duration_seconds": 1e300}`, 422, []string{"duration_seconds"}},
		{"a negative duration", "POST /observe", `{` + succeeded + `, "duration_seconds": -1}`, 422, []string{"duration_seconds"}},
		{"1e30 bytes", "POST /observe", `{` + succeeded + `, "memory_max_bytes": 1e30}`, 422, []string{"memory_max_bytes"}},
		{"negative bytes", "POST /observe", `{` + succeeded + `, "memory_max_bytes": -5}`, 422, []string{"memory_max_bytes"}},
		{"zero bytes", "POST /predict", `{` + key + `, "requested": {"memory_bytes": 0}}`, 422, []string{"requested.memory_bytes"}},
		{"an exbibyte", "POST /predict", `{` + key + `, "max_memory_bytes": 1152921504606846976}`, 422, []string{"max_memory_bytes"}},
		{"an unknown unit", "POST /predict", `{` + key + `, "requested": {"memory": "350GiB"}}`, 422, []string{"requested.memory"}},
		{"a unit alone", "POST /predict", `{` + key + `, "max_memory": "Gi"}`, 422, []string{"max_memory"}},
		{"an unreadable CPU quantity", "POST /predict", `{` + key + `, "requested": {"cpu": "six"}}`, 422, []string{"requested.cpu"}},
		{"negative cores", "POST /observe", `{` + succeeded + `, "cpu_max_cores": -0.5}`, 422, []string{"cpu_max_cores"}},
		{"two amounts that disagree", "POST /predict", `{` + key + `, "requested": {"memory": "10Gi", "memory_bytes": 5}}`, 422, []string{"requested.memory"}},
		{"two peaks that disagree", "POST /observe", `{` + succeeded + `, "memory_max": "10Gi", "memory_max_bytes": 5}`, 422, []string{"memory_max"}},
		{"two amounts of CPU that disagree", "POST /predict", `{` + key + `, "requested": {"cpu": "6", "cpu_cores": 5}}`, 422, []string{"requested.cpu"}},
		{"a lift without a failed amount", "POST /retry-lift", `{` + killed + `, "failed": {}}`, 422, []string{"failed.memory_bytes"}},
		{"a lift from a negative amount", "POST /retry-lift", `{` + killed + `, "failed": {"memory_bytes": -1}}`, 422, []string{"failed.memory_bytes"}},
		{"an OOM without an allocation", "POST /observe", `{` + try + `, "outcome": "oom_killed"}`, 422, []string{"allocated.memory_bytes"}},
		{"a map index below -1", "POST /predict", `{` + key + `, "map_index": -2}`, 422, []string{"map_index"}},
		{"a try number of 0", "POST /predict", `{` + key + `, "try_number": 0}`, 422, []string{"try_number"}},
		{"a try number beyond 64 bits", "POST /predict", `{` + key + `, "try_number": 99999999999999999999}`, 422, []string{"try_number"}},
		{"the year 9999", "POST /observe", `{` + succeeded + `, "started_at": "9999-01-01T00:00:00Z"}`, 422, []string{"started_at"}},
		{"the year 1", "POST /observe", `{` + succeeded + `, "ended_at": "0001-01-01T00:00:00Z"}`, 422, []string{"ended_at"}},
		{"an end before the start", "POST /observe", `{` + succeeded + `, "started_at": "2020-01-03T02:15:00Z", "ended_at": "2020-01-03T02:14:00Z"}`, 422, []string{"ended_at"}},
		{"201 features", "POST /predict", `{` + key + `, "features": ` + manyFeatures(201) + `}`, 422, []string{"features"}},
		{"10,000 features", "POST /observe", `{` + succeeded + `, "features": ` + manyFeatures(10_000) + `}`, 422, []string{"features"}},
		{"a feature without a name", "POST /predict", `{` + key + `, "features": {"": 1}}`, 422, []string{"features"}},
		{"a category of 501 characters", "POST /predict", `{` + key + `, "features": {"a": "` + strings.Repeat("é", 501) + `"}}`, 422, []string{"features.a"}},
		{"a NUL in a category", "POST /observe", `{` + succeeded + `, "features": {"a": "x\u0000"}}`, 422, []string{"features.a"}},
		{"an empty series", "POST /observe", `{` + succeeded + `, "usage_series": {}}`, 422, []string{"usage_series.step_seconds", "usage_series.memory_bytes"}},
		{"a series without points", "POST /observe", `{` + succeeded + `, "usage_series": {"step_seconds": 1, "memory_bytes": []}}`, 422, []string{"usage_series.memory_bytes"}},
		{"a series of 121 points", "POST /observe", `{` + succeeded + `, "usage_series": {"step_seconds": 1, "memory_bytes": [1` + strings.Repeat(",1", 120) + `]}}`, 422, []string{"usage_series.memory_bytes"}},
		{"a point below zero", "POST /observe", `{` + succeeded + `, "usage_series": {"step_seconds": 1, "memory_bytes": [1, -1]}}`, 422, []string{"usage_series.memory_bytes"}},
		{"a point of an exbibyte", "POST /observe", `{` + succeeded + `, "usage_series": {"step_seconds": 1, "memory_bytes": [1152921504606846976]}}`, 422, []string{"usage_series.memory_bytes"}},
		{"a point that is null", "POST /observe", `{` + succeeded + `, "usage_series": {"step_seconds": 1, "memory_bytes": [1, null]}}`, 422, []string{"usage_series.memory_bytes[1]"}},
		{"a fractional point", "POST /observe", `{` + succeeded + `, "usage_series": {"step_seconds": 1, "memory_bytes": [1.5]}}`, 422, []string{"usage_series.memory_bytes[0]"}},
		{"a step of zero seconds", "POST /observe", `{` + succeeded + `, "usage_series": {"step_seconds": 0, "memory_bytes": [1]}}`, 422, []string{"usage_series.step_seconds"}},
		{"a step of 1e300 seconds", "POST /observe", `{` + succeeded + `, "usage_series": {"step_seconds": 1e300, "memory_bytes": [1]}}`, 422, []string{"usage_series.step_seconds"}},
		{"fewer cores than points", "POST /observe", `{` + succeeded + `, "usage_series": {"step_seconds": 1, "memory_bytes": [1, 2], "cpu_cores": [1]}}`, 422, []string{"usage_series.cpu_cores"}},
		{"cores that are null", "POST /observe", `{` + succeeded + `, "usage_series": {"step_seconds": 1, "memory_bytes": [1], "cpu_cores": [null]}}`, 422, []string{"usage_series.cpu_cores[0]"}},
		{"cores below zero", "POST /observe", `{` + succeeded + `, "usage_series": {"step_seconds": 1, "memory_bytes": [1], "cpu_cores": [-1]}}`, 422, []string{"usage_series.cpu_cores"}},
		{"an unknown field of a series", "POST /observe", `{` + succeeded + `, "usage_series": {"step_seconds": 1, "memory_mib": [1]}}`, 422, []string{"usage_series.memory_mib"}},
		{"a series without run_id", "GET /tasks/d/t/series", "", 422, []string{"run_id"}},
		{"the series of try 0", "GET /tasks/d/t/series?run_id=r&try_number=0", "", 422, []string{"try_number"}},
		{"an unknown field of a list", "POST /whatif", `{"settings": [{}, {}, {"floor": 1}], ` + key + `}`, 422, []string{"settings[2].floor"}},
		{"an unknown field whose name is a number", "POST /predict", `{` + key + `, "7": 1}`, 422, []string{"7"}},
		{"an invalid feature whose name is a number", "POST /predict", `{` + key + `, "features": {"7": {}}}`, 422, []string{"features.7"}},
		{"several errors at once", "POST /observe", `{"dag_id": "", "task_id": "t", "run_id": "r", "outcome": "ok", "memory_max": "lots", "duration_seconds": -1}`, 422, []string{"memory_max", "duration_seconds", "dag_id", "outcome"}},

		// batches
		{"an empty batch", "POST /predict/batch", `{"tasks": []}`, 422, []string{"tasks"}},
		{"a missing batch", "POST /observe/batch", `{}`, 422, []string{"observations"}},
		{"10,001 reports", "POST /observe/batch", `{"observations": [` + strings.Repeat(`{},`, 10_000) + `{}]}`, 422, []string{"observations"}},
		{"a batch that is not an array", "POST /observe/batch", `{"observations": {}}`, 422, []string{"observations"}},
		{"a batch under another name", "POST /observe/batch", `{"tasks": []}`, 422, []string{"tasks"}},

		// queries and paths
		{"NaN for a timeout", "GET /predict?dag_id=d&task_id=t&memory=1Gi&execution_timeout_seconds=NaN", "", 422, []string{"execution_timeout_seconds"}},
		{"NaN for an elapsed time", "GET /tasks/d/t/runtime?elapsed_seconds=NaN", "", 422, []string{"elapsed_seconds"}},
		{"an infinite elapsed time", "GET /tasks/d/t/runtime?elapsed_seconds=Inf", "", 422, []string{"elapsed_seconds"}},
		{"NaN for a risk", "GET /tasks/d/t/runtime?risk=NaN", "", 422, []string{"risk"}},
		{"an unknown node type", "GET /tasks/d/t/runtime/whatif?node_type=x", "", 422, []string{"node_type"}},
		{"a load above 1", "GET /tasks/d/t/runtime/whatif?cluster_load=1.5", "", 422, []string{"cluster_load"}},
		{"a load without a known effect", "GET /tasks/d/t/runtime/whatif?cluster_load=0.5", "", 422, []string{"cluster_load"}},
		{"a seed below zero", "GET /dags/d/forecast?seed=-1", "", 422, []string{"seed"}},
		{"a seed above 31 bits", "GET /dags/d/forecast?seed=2147483648", "", 422, []string{"seed"}},
		{"a seed above 64 bits", "GET /dags/d/forecast?seed=99999999999999999999", "", 422, []string{"seed"}},
		{"an unknown state of a run", "GET /campaigns/1/runs?state=3", "", 422, []string{"state"}},
		{"a cursor above every run number", "GET /campaigns/1/runs?cursor=3000000000", "", 422, []string{"cursor"}},
		{"an incomplete escape in a query", "GET /predict?dag_id=d&task_id=t&memory=1Gi&a=%zz", "", 400, nil},
		{"a semicolon in a query", "GET /predict?dag_id=d&task_id=t&memory=1Gi&a=1;b=2", "", 400, nil},
		{"no ids in a query", "GET /predict?memory=1Gi", "", 422, []string{"dag_id"}},
		{"an empty id in a query", "GET /predict?dag_id=&task_id=t&memory=1Gi", "", 422, []string{"dag_id"}},
		{"a duplicate parameter", "GET /predict?dag_id=d&task_id=t&memory=1Gi&n=1&n=2", "", 422, []string{"n"}},
		{"a word for a try number", "GET /predict?dag_id=d&task_id=t&try_number=one", "", 422, []string{"try_number"}},
		{"an unreadable amount in a query", "GET /predict?dag_id=d&task_id=t&memory=lots", "", 422, []string{"memory"}},
		{"an integer of 501 digits in a query", "GET /predict?dag_id=d&task_id=t&memory=1Gi&a=" + strings.Repeat("7", 501), "", 422, []string{"features.a"}},
		{"a page size of 0", "GET /tasks?limit=0", "", 422, []string{"limit"}},
		{"a page size above the maximum", "GET /tasks?limit=1001", "", 422, []string{"limit"}},
		{"a misspelled filter", "GET /report?dag=x", "", 422, []string{"dag"}},
		{"several unknown parameters", "GET /tasks?namespce=a&limit=5&dag_id=d", "", 422, []string{"dag_id", "namespce"}},
		{"a parameter in the wrong case", "GET /tasks?Limit=5", "", 422, []string{"Limit"}},
		{"a misspelled namespace of a policy", "PUT /tasks/d/t/policy?namespce=a", `{}`, 422, []string{"namespce"}},
		{"an incomplete escape in a filter", "GET /tasks?namespace=%zz", "", 400, nil},
		{"a word for a limit", "GET /tasks?limit=all", "", 422, []string{"limit"}},
		{"an invalid cursor", "GET /tasks?cursor=abc", "", 422, []string{"cursor"}},
		{"a NUL in a namespace", "GET /tasks?namespace=%00", "", 422, []string{"namespace"}},
		{"a slash in a path's id", "GET /tasks/a%2Fb/t", "", 422, []string{"dag_id"}},
		{"a NUL in a path's id", "GET /tasks/a%00/t", "", 422, []string{"dag_id"}},
		{"bad UTF-8 in a path's id", "GET /tasks/%ff/t/policy", "", 422, []string{"dag_id"}},
		{"an empty id in a path", "GET /tasks//t", "", 422, []string{"dag_id"}},
		{"version 0", "POST /tasks/d/t/models/0/activate", "", 422, []string{"version"}},
		{"a version that is not a number", "POST /tasks/d/t/models/last/activate", "", 422, []string{"version"}},
		{"a version beyond 32 bits", "POST /tasks/d/t/models/99999999999/activate", "", 422, []string{"version"}},
		{"a NUL in a prediction's id", "GET /predictions/a%00", "", 422, []string{"prediction_id"}},

		// order of several invalid fields
		{"zeros for a phase", "POST /phase", `{` + key + `, "run_id": "r", "limit_bytes": 1, "max_memory_bytes": 0, "memory_max_bytes": 0, "static_bytes": 0}`, 422,
			[]string{"elapsed_seconds", "static_bytes", "memory_max_bytes", "max_memory_bytes"}},
		{"amounts above the limits for a phase", "POST /phase", `{` + key + `, "run_id": "r", "elapsed_seconds": 1, "limit_bytes": 1, "max_memory_bytes": 9100000000000000,
			"memory_max_bytes": 9100000000000000, "static_bytes": 9100000000000000, "static_cpu_millicores": -1, "cpu_millicores": -1}`, 422,
			[]string{"static_bytes", "memory_max_bytes", "max_memory_bytes", "cpu_millicores", "static_cpu_millicores"}},
		{"an empty model", "POST /experiments", `{"models": [{"blob": "", "family": "", "task": ""}]}`, 422,
			[]string{"models[0].task", "models[0].family", "models[0].blob"}},

		// policies
		{"an unknown mode", "PUT /tasks/d/t/policy", `{"mode": "dry-run"}`, 422, []string{"mode"}},
		{"empty texts of a policy", "PUT /tasks/d/t/policy", `{"mode": "", "grid": "", "phases": ""}`, 422, []string{"mode", "grid", "phases"}},
		{"a risk of zero", "PUT /tasks/d/t/policy", `{"risk_target": 0}`, 422, []string{"risk_target"}},
		{"a risk above a half", "PUT /tasks/d/t/policy", `{"risk_target": 0.9}`, 422, []string{"risk_target"}},
		{"a floor above the cap", "PUT /tasks/d/t/policy", `{"floor": "2Gi", "cap": "1Gi"}`, 422, []string{"floor"}},
		{"floor_bytes above the cap", "PUT /tasks/d/t/policy", `{"floor_bytes": 2097152, "cap": "1Mi", "mode": ""}`, 422, []string{"mode", "floor_bytes"}},
		{"a floor beyond all bounds", "PUT /tasks/d/t/policy", `{"floor_bytes": 1152921504606846976, "cap_bytes": 1048576}`, 422, []string{"floor_bytes"}},
		{"a floor and a cap without a unit", "PUT /tasks/d/t/policy", `{"floor_bytes": 64, "cap": "350"}`, 422, []string{"floor_bytes", "cap_bytes"}},
		{"21 lifts", "PUT /tasks/d/t/policy", `{"max_lifts": 21}`, 422, []string{"max_lifts"}},
		{"an unknown field of a policy", "PUT /tasks/d/t/policy", `{"ceiling": "1Gi"}`, 422, []string{"ceiling"}},

		// missing objects
		{"an unknown task", "GET /tasks/d/unknown", "", 404, nil},
		{"an unknown task's models", "GET /tasks/d/unknown/models", "", 404, nil},
		{"a training of an unknown task", "POST /tasks/d/unknown/train", "", 404, nil},
		{"the deletion of an unknown task", "DELETE /tasks/d/unknown", "", 404, nil},
		{"the renaming of an unknown task", "POST /tasks/d/unknown/rename", `{"dag_id": "d", "task_id": "other"}`, 404, nil},
		{"an unknown prediction", "GET /predictions/nothing", "", 404, nil},
		{"a void without a report", "POST /observe/void", `{` + try + `}`, 404, nil},
		{"an unknown task without a request", "POST /predict", `{` + key + `}`, 404, nil},
		{"no such path", "GET /predictt", "", 404, nil},
		{"an unknown task's policy", "GET /tasks/d/unknown/policy", "", 404, nil},
		{"another method", "DELETE /predict", "", 405, nil},
		{"another method for a task", "PATCH /tasks/d/t", "", 405, nil},
		{"a made-up method", "BREW /predict", "", 405, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			e.t = t
			method, target, _ := strings.Cut(c.call, " ")
			a := e.do(method, target, c.body)
			require.Equal(t, c.status, a.status, "%.300s", a.body)
			assert.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
			if c.fields != nil {
				assert.Equal(t, c.fields, a.fields(), "%s", a.body)
			}
			p := a.json()
			assert.Greater(t, len(p["detail"].(string)), 10, "the problem has a detail")
			assert.Less(t, len(a.body), 4000, "the answer does not repeat a long request")
		})
	}
	e.t = t
	assert.Zero(t, e.log.Len(), "no request caused an internal error: %s", e.log)
	var page struct{ Tasks []any }
	e.do(http.MethodGet, "/tasks", "").into(&page)
	assert.Empty(t, page.Tasks, "nothing was stored")
}

func TestBodiesMustBeUncompressedJSON(t *testing.T) {
	e := newTestEnv(t, noAuth)
	const body = `{` + key + `, "requested": {"memory": "1Gi"}}`
	for name, c := range map[string]struct {
		header, value string
		status        int
	}{
		"curl's default":    {"Content-Type", "application/x-www-form-urlencoded", 415},
		"text":              {"Content-Type", "text/plain", 415},
		"no type":           {"Content-Type", "", 415},
		"another charset":   {"Content-Type", "application/json; charset=latin1", 415},
		"a malformed type":  {"Content-Type", "application/json; charset", 415},
		"compressed":        {"Content-Encoding", "gzip", 415},
		"UTF-8":             {"Content-Type", "application/json; charset=UTF-8", 200},
		"identity encoding": {"Content-Encoding", "identity", 200},
	} {
		t.Run(name, func(t *testing.T) {
			e.t = t
			assert.Equal(t, c.status, e.do(http.MethodPost, "/predict", body, header(c.header, c.value)).status)
		})
	}
}

func TestMethodNotAllowedListsTheMethods(t *testing.T) {
	e := newTestEnv(t, noAuth)
	a := e.do(http.MethodDelete, "/predict", "")
	assert.Equal(t, "GET, POST", a.header.Get("Allow"))
	assert.Equal(t, http.StatusOK, e.do(http.MethodHead, "/healthz", "").status, "HEAD is served like GET")
}

func TestALiftConflictsOnlyWithASuccess(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.post("/observe", `{`+try+`, "outcome": "oom_killed", "allocated": {"memory": "2Gi"}}`)
	for _, request := range []string{
		`{` + killed + `, "failed": {"memory": "4Gi"}, "features": {"rows": 7}}`,
		`{` + try + `, "reason": "app_oom", "failed": {"memory": "2Gi"}, "requested": {"memory": "64Gi"}}`,
	} {
		assert.Equal(t, http.StatusOK, e.do(http.MethodPost, "/retry-lift", request).status, request)
	}
	e.post("/observe/void", `{`+try+`}`)
	e.post("/observe", `{`+try+`, "outcome": "success", "memory_max": "1Gi"}`)
	lift := e.do(http.MethodPost, "/retry-lift", `{`+killed+`, "failed": {"memory": "2Gi"}}`)
	assert.Equal(t, http.StatusConflict, lift.status)
	assert.Equal(t, []string{"reason"}, lift.fields(), "the error must name the field of the lift")
	assert.NotContains(t, string(lift.body), "outcome")
}

func TestErrorsOfQueriesAndBatchesSayWhatIsExpected(t *testing.T) {
	e := newTestEnv(t, noAuth)
	for target, detail := range map[string]string{
		"/predict?dag_id=d&task_id=t&try_number=x":                    "try_number must be an integer",
		"/predict?dag_id=d&task_id=t&try_number=1.5":                  "try_number must be an integer",
		"/predict?dag_id=d&task_id=t&try_number=99999999999999999999": "try_number must be an integer of at most 18 digits",
		"/predict?dag_id=d&task_id=t&execution_timeout_seconds=1h":    "execution_timeout_seconds must be a number",
		"/report?dag=x":             "dag is not a query parameter of this operation; it has from, to, static, namespace, dag_id, task_id",
		"/report?static=maybe":      "static must be true or false",
		"/campaigns/1/runs?state=3": "state must be one of [0 10 11 15 17 30 31 35 37 50 51 55 57]",
	} {
		assert.Contains(t, e.do(http.MethodGet, target, "").json()["detail"], detail, target)
	}
	for body, detail := range map[string]string{
		`{"floor": "2Gi", "cap": "1Gi"}`:                 "floor must not be above cap",
		`{"floor": "2Gi", "cap_bytes": 1048576}`:         "floor must not be above cap_bytes",
		`{"floor_bytes": 2097152, "cap_bytes": 1048576}`: "floor_bytes must not be above cap_bytes",
		`{"floor": "2Gi", "cap": "350"}`:                 "cap_bytes must be 1Mi to 8Pi: 350 bytes is less than any container uses: check the unit",
	} {
		assert.Equal(t, detail, e.do(http.MethodPut, "/tasks/d/t/policy", body).json()["detail"], body)
	}
	batch := e.do(http.MethodPost, "/predict/batch", `{"predictions": [{`+key+`}]}`)
	assert.Equal(t, []string{"predictions"}, batch.fields())
	assert.Contains(t, batch.json()["detail"], "predictions is not a field of this request; send the items in the only field, tasks")
	assert.Contains(t, e.do(http.MethodPost, "/observe/batch", `{"tasks": []}`).json()["detail"], "the only field, observations")
}

func TestAQueryWithoutParametersIsIgnored(t *testing.T) {
	e := newTestEnv(t, noAuth)
	assert.Equal(t, http.StatusOK, e.do(http.MethodGet, "/tasks?=1", "").status, "a value without a name is no parameter")
	report := e.do(http.MethodPost, "/observe?trace=1", `{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "success", "memory_max_bytes": 1000000000, "duration_seconds": 60}`)
	assert.Less(t, report.status, 300, "a parameter that a proxy adds must not lose a report: %s", report.body)
}
