package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/insight/report"
	"github.com/loadaware/loadaware/internal/insight/savings"
)

func (e *testEnv) savings(query, secret string) (answer savings.Answer) {
	e.t.Helper()
	a := e.do(http.MethodGet, "/savings"+query, "", bearer(secret))
	require.Equal(e.t, http.StatusOK, a.status, "%s", a.body)
	a.into(&answer)
	return answer
}

// tryOf returns a JSON object that names a try of the task pricing/size. `fields` holds the other members of the object.
func tryOf(run string, fields string) string {
	return `{"dag_id": "pricing", "task_id": "size", "run_id": "` + run + `", ` + fields + `}`
}

func TestReportsAndTheirRemovalChangeTheSavings(t *testing.T) {
	cfg := tokens(t, "admin:"+sha("a"))
	cfg.Prices = savings.Prices{GBHour: 0.5, CoreHour: 0.1, Currency: "EUR"}
	e := newTestEnv(t, cfg)
	empty := e.savings("", "a")
	assert.Empty(t, empty.Rows)
	assert.Nil(t, empty.Total.SavedGBH, "unknown is null and not 0")

	e.post("/predict", tryOf("r1", `"requested": {"memory_bytes": 20000000000, "cpu_cores": 4}`), bearer("a"))
	e.post("/retry-lift", tryOf("r1", `"failed": {"memory_bytes": 4000000000}, "requested": {"memory_bytes": 20000000000}`), bearer("a"))
	total := e.savings("", "a").Total
	assert.Equal(t, []int{1, 1, 1}, []int{total.Tries, total.Kills, total.UnaccountedTries}, "the kill that the lift request reported has no duration yet")
	e.post("/observe", tryOf("r1", `"outcome": "oom_killed", "duration_seconds": 3600, "ended_at": "2026-03-01T10:00:00Z",
		"allocated": {"memory_bytes": 4000000000}`), bearer("a"))
	e.post("/observe", tryOf("r1", `"try_number": 2, "outcome": "success", "duration_seconds": 7200, "memory_max_bytes": 5000000000,
		"allocated": {"memory_bytes": 8000000000, "cpu_cores": 1}, "ended_at": "2026-03-02T10:00:00Z"`), bearer("a"))

	total = e.savings("", "a").Total
	for name, pair := range map[string][2]*float64{
		"requested": {new(40.0), total.RequestedGBH}, "granted": {new(16.0), total.GrantedGBH}, "killed": {new(4.0), total.KilledGBH},
		"used": {new(10.0), total.UsedGBH}, "wasted": {new(10.0), total.WastedGBH}, "saved": {new(20.0), total.SavedGBH},
		"cpu": {new(6.0), total.SavedCoreH}, "money": {new(10.6), total.SavedMoney}, // the kill reports no CPU allocation
	} {
		if assert.NotNil(t, pair[1], name) {
			assert.InDelta(t, *pair[0], *pair[1], 1e-9, name)
		}
	}
	byTask := e.savings("?by=task&from=2026-03-01&to=2026-03-02", "a")
	require.Len(t, byTask.Rows, 1)
	assert.InDelta(t, -4, *byTask.Rows[0].SavedGBH, 1e-9, "the first day has only the kill")
	require.Len(t, byTask.Baselines, 1)
	assert.EqualValues(t, 20e9, *byTask.Baselines[0].MemoryBytes)
	assert.Equal(t, "2026-03-01", byTask.From.String())
	assert.Len(t, e.savings("?by=day&to=2026-03-02T00:00:00Z", "a").Rows, 1, "the day that begins at `to` is excluded")
	assert.Len(t, e.savings("?by=day&to=2026-03-02T00:00:01Z", "a").Rows, 2)

	e.post("/observe/void", tryOf("r1", `"try_number": 2`), bearer("a"))
	assert.InDelta(t, -4, *e.savings("", "a").Total.SavedGBH, 1e-9)
}

func TestSavingsAndReportRejectInvalidQueries(t *testing.T) {
	e := newTestEnv(t, tokens(t, "admin:"+sha("a")))
	for query, field := range map[string]string{
		"from=yesterday": "from", "to=2026-13-01": "to", "to=0001-01-01": "to", "from=2026-01-02&to=2026-01-02": "to", "dag_id=a/b": "dag_id",
	} {
		for _, path := range []string{"/savings?", "/report?"} {
			a := e.do(http.MethodGet, path+query, "", bearer("a"))
			assert.Equal(t, http.StatusUnprocessableEntity, a.status, path+query)
			assert.Contains(t, string(a.body), `"field":"`+field+`"`, path+query)
		}
	}
}

func TestSavingsAndReportShowExactlyTheTasksInScope(t *testing.T) {
	e, names := newScopedEnv(t)
	for _, token := range []string{"admin", "observe@blue", "observe@blue/etl_", "observe@/etl_", "observe@/ml_", "observe@red/zz", "two scopes"} {
		var listed []string
		answer := e.savings("?by=task", token)
		for _, row := range answer.Rows {
			listed = append(listed, *row.Namespace+"/"+*row.DagID)
		}
		visible := visibleTo(token, names)
		assert.Equal(t, visible, listed, token)
		assert.Equal(t, len(visible), answer.Total.Tries, token)
		assert.Equal(t, len(visible), e.savings("?by=owner", token).Total.Tries, token)

		a := e.do(http.MethodGet, "/report?static=true", "", bearer(token))
		require.Equal(t, http.StatusOK, a.status, "%s", a.body)
		var r report.Report
		a.into(&r)
		var reported []string
		for _, task := range r.Tasks {
			reported = append(reported, task.Namespace+"/"+task.DagID)
		}
		assert.ElementsMatch(t, visible, reported, token)
	}
	a := e.do(http.MethodGet, "/savings?namespace=red", "", bearer("observe@blue"))
	assert.Equal(t, http.StatusForbidden, a.status)
}

func TestReportSuggestsStaticRequests(t *testing.T) {
	e := newTestEnv(t, tokens(t, "admin:"+sha("a")))
	var rows []string
	for i := range 199 {
		rows = append(rows, tryOf(fmt.Sprint("r", i), fmt.Sprintf(`"outcome": "success", "duration_seconds": 3600, "memory_max_bytes": %d,
			"requested": {"memory_bytes": 20000000000}`, (i+1)<<24)))
	}
	e.post("/observe/batch", `{"observations": [`+strings.Join(rows, ",")+`]}`, bearer("a"))
	a := e.do(http.MethodGet, "/report?static=true", "", bearer("a"))
	require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	var r report.Report
	a.into(&r)
	require.Len(t, r.Tasks, 1)
	task := r.Tasks[0]
	assert.EqualValues(t, 20e9, *task.RequestedBytes)
	assert.InDelta(t, 0, *task.SavedGBH, 1e-9, "a run without a reported allocation counts with its request")
	assert.Equal(t, report.Warning, task.Severity)
	// The next run exceeds the 197th smallest of 199 peaks with a probability of 3/200.
	assert.EqualValues(t, 197<<24, *task.Static.RequestBytes)
	assert.Equal(t, "3152Mi", *task.Static.Request)
	assert.InDelta(t, 0.015, *task.Static.Risk, 1e-12)
	old := 199 * 20.0
	spent := 199*float64(197<<24)/1e9 + 2*20
	assert.InDelta(t, old-spent, *task.Static.SavesGBH, 1e-6)
	require.Len(t, r.Groups, 1)
	assert.InDelta(t, *task.Static.SavesGBH, *r.Groups[0].SavesGBH, 1e-9)
}

// With 199 runs, the risk target of 1.5 % allows two of them to need more than the request.
func TestStaticRequestsCountRunsThatNeverSucceeded(t *testing.T) {
	for _, killed := range []int{2, 3} {
		e := newTestEnv(t, tokens(t, "admin:"+sha("a")))
		var rows []string
		for i := range 199 {
			fields := fmt.Sprintf(`"outcome": "success", "memory_max_bytes": %d`, (i+1)<<24)
			if i < killed {
				fields = `"outcome": "oom_killed"`
				rows = append(rows, tryOf(fmt.Sprint("r", i), `"try_number": 2, "duration_seconds": 3600, "requested": {"memory_bytes": 4000000000}, "allocated": {"memory_bytes": 4000000000}, `+fields))
			}
			rows = append(rows, tryOf(fmt.Sprint("r", i), `"duration_seconds": 3600, "requested": {"memory_bytes": 4000000000}, "allocated": {"memory_bytes": 4000000000}, `+fields))
		}
		e.post("/observe/batch", `{"observations": [`+strings.Join(rows, ",")+`]}`, bearer("a"))
		a := e.do(http.MethodGet, "/report?static=true", "", bearer("a"))
		require.Equal(t, http.StatusOK, a.status, "%s", a.body)
		var r report.Report
		a.into(&r)
		static := r.Tasks[0].Static
		assert.Equal(t, 199, static.Runs)
		assert.Equal(t, killed, static.KilledRuns)
		assert.Equal(t, 66, static.RunsNeeded)
		if killed > 2 {
			assert.Nil(t, static.RequestBytes, "more runs were killed than the risk target allows")
			assert.Equal(t, 1, r.Groups[0].TasksWithoutRequest)
			continue
		}
		assert.EqualValues(t, 199<<24, *static.RequestBytes, "the largest peak of a success")
		assert.InDelta(t, 0.015, *static.Risk, 1e-12)
		request := float64(199<<24) / 1e9
		assert.InDelta(t, 197*(4-request)-2*request, *static.SavesGBH, 1e-6, "each killed run costs one more try")
	}
}

func TestReportRanksTasksAndExplainsMissingSavings(t *testing.T) {
	e := newTestEnv(t, tokens(t, "admin:"+sha("a")))
	var rows []string
	add := func(task, run, fields string) {
		rows = append(rows, fmt.Sprintf(`{"dag_id": "d", "task_id": %q, "run_id": %q, "duration_seconds": 3600, %s}`, task, run, fields))
	}
	for i := range 20 {
		run := fmt.Sprint("r", i)
		add("killed", run, `"outcome": "oom_killed", "requested": {"memory": "10G"}, "allocated": {"memory": "2G"}`)
		add("tight", run, `"outcome": "success", "memory_max_bytes": 9000000000, "requested": {"memory": "20G"}, "allocated": {"memory": "10G"}`)
		add("wasteful", run, `"outcome": "success", "memory_max_bytes": 1000000000, "allocated": {"memory": "90G"}`)
		add("failed", run, `"outcome": "failed"`)
	}
	e.post("/observe/batch", `{"observations": [`+strings.Join(rows, ",")+`]}`, bearer("a"))
	e.do(http.MethodPut, "/tasks/d/tight/policy", `{"mode": "shadow"}`, bearer("a"))
	a := e.do(http.MethodGet, "/report", "", bearer("a"))
	require.Equal(t, http.StatusOK, a.status, "%s", a.body)
	var r report.Report
	a.into(&r)
	var order []string
	tasks := map[string]report.Task{}
	for _, task := range r.Tasks {
		order = append(order, task.TaskID)
		tasks[task.TaskID] = task
	}
	assert.Equal(t, []string{"wasteful", "killed", "tight", "failed"}, order)
	assert.Equal(t, []report.Severity{report.Warning, report.Critical, report.OK, report.Unknown},
		[]report.Severity{tasks["wasteful"].Severity, tasks["killed"].Severity, tasks["tight"].Severity, tasks["failed"].Severity})
	assert.Contains(t, *tasks["tight"].WhyNot, "shadow")
	assert.Contains(t, *tasks["tight"].WhyNot, "too few runs (20)")
	assert.Contains(t, *tasks["wasteful"].WhyNot, "request not known")
	assert.Nil(t, tasks["wasteful"].SavedGBH)
	assert.InDelta(t, 1800, r.Total.NoRequestGBH, 1e-9)
	assert.InDelta(t, 100, *tasks["killed"].KilledPercent, 1e-9)
	assert.InDelta(t, -40, *tasks["killed"].SavedGBH, 1e-9)
	failed := tasks["failed"]
	assert.Equal(t, []any{(*int64)(nil), (*float64)(nil), (*float64)(nil), (*string)(nil)}, []any{failed.UsedBytes, failed.WastedGBH, failed.KilledPercent, failed.Source})
}
