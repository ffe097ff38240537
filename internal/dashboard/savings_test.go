package dashboard_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/dashboard"
	"github.com/loadaware/loadaware/internal/sizing"
)

// observeMonths reports one run of each task in each month; the last month is 2026-06. A run takes an hour with
// 4 of 8 GiB, which saves 4.295 GB·h.
func (e *env) observeMonths(tasks, months int) {
	e.t.Helper()
	var reports []sizing.Observation
	for month := range months {
		for task := range tasks {
			reports = append(reports, sizing.Observation{
				Try:       sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: key.Namespace, DAG: "etl", Task: fmt.Sprintf("task_%03d", task)}, RunID: fmt.Sprintf("run_%d", month), MapIndex: sizing.NoMap, Number: 1},
				Outcome:   sizing.Success,
				MemoryMax: sizing.GiB, Duration: time.Hour, EndedAt: time.Date(2026, time.Month(6-month), 15, 0, 0, 0, 0, time.UTC),
				Allocated: sizing.Resources{Memory: 4 * sizing.GiB}, Requested: sizing.Resources{Memory: 8 * sizing.GiB}, Features: sizing.Features{},
			})
		}
	}
	results, err := e.svc.Observe(e.t.Context(), reports)
	require.NoError(e.t, err)
	for _, r := range results {
		require.NoError(e.t, r.Err)
	}
}

// The HTML table has at most 500 rows, and the other formats have all rows of the newest 36 months. The chart has
// these months, and the totals are of the whole window.
func TestSavingsPageShowsTheNewestMonths(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observeMonths(220, 5)
	for target, want := range map[string]struct {
		months   []int // rows of each month, the newest first
		isCut    bool
		jsonRows int // number of rows in JSON
	}{
		"/ui/savings?by=task":                                  {[]int{220, 220, 60, 0, 0}, true, 1100},
		"/ui/savings?by=task&from=2026-04-01":                  {[]int{220, 220, 60, 0, 0}, true, 660},
		"/ui/savings?by=task&from=2026-05-01":                  {[]int{220, 220, 0, 0, 0}, false, 440},
		"/ui/savings?by=task&from=2026-02-01&to=2026-04-01":    {[]int{0, 0, 0, 220, 220}, false, 440},
		"/ui/savings?by=dag":                                   {[]int{1, 1, 1, 1, 1}, false, 5},
		"/ui/savings?by=owner&from=2026-03-16&to=2026-05-16":   {[]int{0, 1, 1, 0, 0}, false, 2},
		"/ui/savings?by=dag&from=2030-01-01":                   {[]int{0, 0, 0, 0, 0}, false, 0},
		"/ui/savings?by=task&from=2026-06-01&namespace=absent": {[]int{0, 0, 0, 0, 0}, false, 0},
	} {
		page := e.page(target)
		var shown []int
		for _, month := range []string{"2026-06", "2026-05", "2026-04", "2026-03", "2026-02"} {
			shown = append(shown, strings.Count(page, "<tr><td>"+month+"</td>"))
		}
		assert.Equal(t, want.months, shown, target)
		assert.Equal(t, want.isCut, strings.Contains(page, "Further rows are left out"), target)
		var all dashboard.Savings
		require.NoError(t, json.Unmarshal(e.get(target+"&format=json").Body.Bytes(), &all))
		assert.Len(t, all.Months, want.jsonRows, target)
	}
	page := e.page("/ui/savings?by=task")
	assert.Contains(t, page, "4\u202f724 GB·h saved", "1,100 times 4.295 GB·h")
	assert.Contains(t, page, "2026-02: 945 GB·h saved", "the chart has the months that the table leaves out")
}

// A CSV has no field for the mark that months are left out, so its file name has the mark. A window of at most 36
// months is complete.
func TestTheNameOfACSVSaysThatMonthsAreLeftOut(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observeMonths(1, 38)
	for target, want := range map[string]struct {
		months int
		name   string
	}{
		"/ui/savings?by=dag":                 {36, "loadaware-savings-newest-36-months.csv"},
		"/ui/savings?by=dag&from=2023-07-01": {36, "loadaware-savings.csv"},
		"/ui/savings?by=dag&to=2026-05-01":   {36, "loadaware-savings.csv"},
	} {
		rec := e.get(target + "&format=csv")
		assert.Equal(t, "attachment; filename="+want.name, rec.Header().Get("Content-Disposition"), target)
		assert.Equal(t, want.months+1, strings.Count(rec.Body.String(), "\n"), target)
	}
}

// Months without a try do not count towards the bound, so a gap of years between two tries hides none of the months with tries.
func TestMonthsWithoutATryDoNotHideOlderMonths(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observeMonths(1, 5)
	late := sizing.Observation{Try: sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: key.Namespace, DAG: "etl", Task: "task_000"}, RunID: "late", MapIndex: sizing.NoMap, Number: 1},
		Outcome: sizing.Success, MemoryMax: sizing.GiB, Duration: time.Hour, EndedAt: time.Date(2020, 1, 15, 0, 0, 0, 0, time.UTC),
		Allocated: sizing.Resources{Memory: 4 * sizing.GiB}, Requested: sizing.Resources{Memory: 8 * sizing.GiB}, Features: sizing.Features{}}
	_, err := e.svc.Observe(t.Context(), []sizing.Observation{late})
	require.NoError(t, err)
	for _, by := range []string{"dag", "task"} {
		page := e.page("/ui/savings?by=" + by)
		assert.Equal(t, 6, strings.Count(page, "<tr><td>20"), by)
		assert.Contains(t, page, "<tr><td>2020-01</td>", by)
		assert.NotContains(t, page, "left out", by)
		table := e.get("/ui/savings?format=csv&by=" + by)
		assert.Equal(t, "attachment; filename=loadaware-savings.csv", table.Header().Get("Content-Disposition"), by)
		assert.Equal(t, 7, strings.Count(table.Body.String(), "\n"), by)
	}
}

// After the background read, the first visit of a page of savings needs no query. Therefore the pages do not
// show what was reported after the read.
func TestSavingsAreReadInTheBackground(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observeMonths(3, 2)
	// The clock advances by ever shorter steps, 50 s in all, and stands still after the background read. A result stays
	// fresh for freshFactor (20) times the duration of its query. By this clock every query takes more than a twentieth of
	// the time until the clock stands still, so all results stay fresh, however many queries there are.
	var mu sync.Mutex
	now, step := time.Date(2026, 6, 20, 0, 0, 0, 0, time.UTC), 10*time.Second
	cfg := withoutTokens
	cfg.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now, step = now.Add(step), step*4/5
		return now
	}
	d := dashboard.New(e.svc, cfg)
	require.NoError(t, d.Warm(t.Context()))
	mu.Lock()
	step = 0
	mu.Unlock()
	e.observeMonths(4, 1)
	for _, by := range []string{"dag", "task", "owner", "dag_owner"} {
		r := httptest.NewRequest(http.MethodGet, "/ui/savings?by="+by, nil)
		r.Host = "localhost:8080"
		rec := httptest.NewRecorder()
		d.ServeHTTP(rec, r)
		require.Equal(t, http.StatusOK, rec.Code, rec.Body)
		assert.NotContains(t, rec.Body.String(), "task_003", by)
		assert.Contains(t, rec.Body.String(), "25.8 GB·h saved", by)
	}
}

// Teams that share a DAG have a row each, in the table and in CSV.
func TestSavingsByMonthAndDAGAndOwner(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observeMonths(1, 2)
	_, err := e.svc.Observe(t.Context(), []sizing.Observation{{Try: sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: key.Namespace, DAG: "etl", Task: "owned"}, RunID: "r", MapIndex: sizing.NoMap, Number: 1},
		Outcome: sizing.Success, MemoryMax: sizing.GiB, Duration: time.Hour, EndedAt: time.Date(2026, 6, 15, 0, 0, 0, 0, time.UTC), Allocated: sizing.Resources{Memory: 4 * sizing.GiB},
		Requested: sizing.Resources{Memory: 8 * sizing.GiB}, Metadata: sizing.Metadata{"owner": {"team-a"}}, Features: sizing.Features{}}})
	require.NoError(t, err)
	const target = "/ui/savings?by=dag_owner"
	page := e.page(target)
	assert.Contains(t, page, `<tr><td>2026-06</td><th scope="row">etl</th><td>owner not known</td>`)
	assert.Contains(t, page, `<tr><td>2026-06</td><th scope="row">etl</th><td>team-a</td>`)
	assert.Contains(t, page, `<tr><td>2026-05</td><th scope="row">etl</th><td>owner not known</td>`)
	assert.Equal(t, 3, strings.Count(page, "<tr><td>"))
	assert.Contains(t, page, `<option value="dag_owner" selected>dag and owner</option>`)
	table := e.get(target + "&format=csv").Body.String()
	assert.Contains(t, table, "2026-06,"+key.Namespace+",etl,,team-a,1,0,")
	assert.Contains(t, table, "2026-05,"+key.Namespace+",etl,,,1,0,")
}
