package dashboard_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/campaign"
	"github.com/loadaware/loadaware/internal/dashboard"
	"github.com/loadaware/loadaware/internal/insight/whatif"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/testwait"
)

func TestPagesShowOwnersOfTasks(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 3, rows)
	assert.NotContains(t, e.page("/ui/tasks"), "sort=owner", "no report names an owner")
	other := sizing.TaskKey{Namespace: key.Namespace, DAG: "etl", Task: "owned"}
	_, err := e.svc.Observe(t.Context(), []sizing.Observation{{Try: sizing.TryKey{TaskKey: other, RunID: "r", MapIndex: sizing.NoMap, Number: 1}, Outcome: sizing.Success,
		MemoryMax: sizing.GiB, Duration: time.Hour, Allocated: sizing.Resources{Memory: 2 * sizing.GiB}, Metadata: sizing.Metadata{"owner": {"team-a"}}, Features: sizing.Features{}}})
	require.NoError(t, err)
	e.serve(withoutTokens) // without cached lists
	assert.Contains(t, e.page("/ui/tasks"), "sort=owner")
	assert.Contains(t, e.page("/ui/tasks?owner=team-a"), "1 of 2 tasks")
	assert.Contains(t, e.page("/ui/task?dag_id=etl&task_id=owned"), "owner <a")
	assert.Contains(t, e.page("/ui/savings?by=owner"), ">team-a<")
}

func TestCountsOfOneUseTheSingular(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 3, rows)
	for _, path := range []string{"/ui/", "/ui/tasks", "/ui/tasks?q=none"} {
		assert.NotRegexp(t, `(^|[^\d,.])1 (tasks|tries|receipts)\b`, e.page(path), path)
	}
	assert.Contains(t, e.page("/ui/"), "All tasks</a> (1)")
}

func TestTryPageRejectsNumbersOutOfRange(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 1, rows)
	for query, status := range map[string]int{
		"try_number=0": http.StatusOK, "try_number=1": http.StatusOK, "try_number=2": http.StatusNotFound, "map_index=3": http.StatusNotFound,
		"try_number=-1": http.StatusUnprocessableEntity, "try_number=-9223372036854775808": http.StatusUnprocessableEntity,
		"try_number=9223372036854775807": http.StatusUnprocessableEntity, "map_index=-9": http.StatusUnprocessableEntity, "try_number=1e3": http.StatusUnprocessableEntity,
	} {
		assert.Equal(t, status, e.get("/ui/try?dag_id=etl&task_id=load&run_id=run_0&"+query).Code, query)
	}
}

// The peaks of a task double in the middle of its history.
func TestTaskPageMarksAChangeOfLevel(t *testing.T) {
	e := newEnv(t, withoutTokens)
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var reports []sizing.Observation
	for run := range 80 {
		o := sizing.Observation{Try: sizing.TryKey{TaskKey: key, RunID: fmt.Sprintf("run_%d", run), MapIndex: sizing.NoMap, Number: 1}, Outcome: sizing.Success,
			MemoryMax: sizing.GiB + sizing.Bytes(run%7)*20*sizing.MiB, Duration: time.Hour, EndedAt: start.AddDate(0, 0, run), Allocated: sizing.Resources{Memory: 8 * sizing.GiB}, Features: sizing.Features{}}
		if run >= 40 {
			o.MemoryMax *= 2
		}
		reports = append(reports, o)
	}
	_, err := e.svc.Observe(t.Context(), reports)
	require.NoError(t, err)
	page := e.page("/ui/task?dag_id=etl&task_id=load")
	assert.Contains(t, page, "The peaks changed on 2026-04-10")
	assert.Contains(t, page, "(× 2)")
	assert.Contains(t, page, "change of level")
}

func TestRunTimesOfATask(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 1, rows)
	assert.Contains(t, e.page("/ui/runtime?dag_id=etl&task_id=load"), "No run time is known yet")
	assert.Equal(t, http.StatusNotFound, e.get("/ui/runtime?dag_id=etl&task_id=unknown").Code)
	e.observe(key, 60, rows)
	_, err := e.svc.Train(t.Context(), key)
	require.NoError(t, err)
	e.serve(withoutTokens)
	page := e.page("/ui/runtime?dag_id=etl&task_id=load&timeout=3000&risk_percent=2")
	assert.Contains(t, page, "Suggested timeout")
	assert.Contains(t, page, "too tight: stops", "every run took an hour")
	assert.Contains(t, e.page("/ui/runtime?dag_id=etl&task_id=load&timeout=soon&risk_percent=-1"), "risk must be 0.1 to 50 %")
}

func TestAskExplainsTheGrantOfARun(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 60, rows)
	_, err := e.svc.Train(t.Context(), key)
	require.NoError(t, err)
	page := e.page("/ui/ask?dag_id=etl&task_id=load")
	assert.Contains(t, page, `name="f.rows" value="9"`, "the form has the features of the newest try")
	assert.Contains(t, page, "Why this number")
	page = e.page("/ui/ask?dag_id=etl&task_id=load&memory=8Gi&f.rows=2&f.region=us")
	assert.Contains(t, page, `name="f.rows" value="2"`)
	assert.Contains(t, page, "Most similar past runs")
	assert.Contains(t, e.page("/ui/ask?dag_id=etl&task_id=load&memory=much"), `role="alert"`)
	assert.Equal(t, http.StatusNotFound, e.get("/ui/ask?dag_id=etl&task_id=unknown").Code)
}

func TestForecastOfADAG(t *testing.T) {
	e := newEnv(t, withoutTokens)
	later := sizing.TaskKey{Namespace: key.Namespace, DAG: key.DAG, Task: "publish"}
	for _, task := range []sizing.TaskKey{key, later} {
		e.observe(task, 30, rows)
		_, err := e.svc.Train(t.Context(), task)
		require.NoError(t, err)
	}
	assert.Contains(t, e.page("/ui/forecast?dag_id=etl"), "There is no forecast yet")
	require.NoError(t, e.svc.SetStructure(t.Context(), sizing.Structure{Namespace: key.Namespace, DAG: key.DAG, Tasks: []sizing.StructureTask{
		{TaskID: key.Task, Upstream: []string{}}, {TaskID: later.Task, Upstream: []string{key.Task}}, {TaskID: "never_ran", Upstream: []string{}}}}))
	page := e.page("/ui/forecast?dag_id=etl&features=rows%3D3")
	assert.Contains(t, page, "Ends after")
	assert.Contains(t, page, "counted as 0 s: never_ran")
	assert.Contains(t, page, "Memory of the run")
	assert.Contains(t, e.page("/ui/forecast?dag_id=etl&features=rows"), "must be pairs")
}

func TestTheForecastStatesItsCorrection(t *testing.T) {
	e := newEnv(t, withoutTokens)
	for runs, text := range map[int]string{18: "not corrected: fewer than 19 past runs", 19: "corrected by 19 past runs"} {
		task := sizing.TaskKey{Namespace: key.Namespace, DAG: fmt.Sprintf("dag%d", runs), Task: "load"}
		e.observe(task, runs, rows)
		_, err := e.svc.Train(t.Context(), task)
		require.NoError(t, err)
		require.NoError(t, e.svc.SetStructure(t.Context(), sizing.Structure{Namespace: task.Namespace, DAG: task.DAG, Tasks: []sizing.StructureTask{
			{TaskID: task.Task, Upstream: []string{}}}}))
		assert.Contains(t, e.page("/ui/forecast?dag_id="+task.DAG), text)
	}
}

func TestCampaignsShowProgressAndFailures(t *testing.T) {
	e := newEnv(t, withoutTokens)
	c, err := e.svc.CreateCampaign(t.Context(), campaign.Campaign{Namespace: key.Namespace, DAG: key.DAG, Name: "spring", Pool: "sandbox", Budget: campaign.Budget{Runs: 9}})
	require.NoError(t, err)
	assert.Contains(t, e.page("/ui/campaign?id=1"), "No run is registered yet")
	failCampaignRun(t, e, c.ID, "image not found")
	e.serve(withoutTokens)
	list := e.page("/ui/campaigns")
	assert.Contains(t, list, ">spring<")
	assert.Contains(t, list, `data-value="0">0 <small>`, "the column is sorted by the number of profiled runs, without their share")
	assert.NotContains(t, e.page("/ui/audit"), "/ui/task?", "a campaign is no task")
	page := e.page("/ui/campaign?id=1")
	assert.Contains(t, page, "image not found")
	assert.Contains(t, page, "deployment failed")
	form := url.Values{"id": {"1"}, "pause": {"on"}, "form_key": {html.UnescapeString(regexp.MustCompile(`name="form_key" value="([^"]+)"`).FindStringSubmatch(page)[1])}}
	require.Equal(t, http.StatusSeeOther, e.post("/ui/campaign/pause", form).Code)
	assert.Contains(t, e.page("/ui/campaign?id=1"), "Resume")
	for _, target := range []string{"/ui/campaign?id=2", "/ui/campaign"} {
		assert.Equal(t, http.StatusNotFound, e.get(target).Code, target)
	}
	e.serve(withTokens)
	e.signIn("ml") // a token for other DAGs
	assert.Equal(t, http.StatusNotFound, e.get("/ui/campaign?id=1").Code)
	assert.NotContains(t, e.page("/ui/campaigns"), "spring")
	e.signIn("etl")
	assert.Contains(t, e.page("/ui/campaign?id=1"), "spring")
	assert.NotContains(t, e.page("/ui/campaign?id=1"), "<button class=\"second\">", "only an admin may resume the campaign")
	assert.Equal(t, http.StatusForbidden, e.post("/ui/campaign/pause", form).Code)
}

// The campaign reproduces runs whose inputs are outside the known range. After the campaign, their inputs are in the
// known range.
func TestACampaignShowsWhatWasLearned(t *testing.T) {
	e := newEnv(t, withoutTokens)
	report := func(runID string, rows int) sizing.Observation {
		return sizing.Observation{Try: sizing.TryKey{TaskKey: key, RunID: runID, MapIndex: sizing.NoMap, Number: 1}, Outcome: sizing.Success,
			MemoryMax: sizing.Bytes(rows) * 10 * sizing.MiB, Duration: time.Hour, Allocated: sizing.Resources{Memory: 64 * sizing.GiB},
			Features: sizing.Features{"rows": sizing.NumberValue(float64(rows))}}
	}
	learn := func(reports []sizing.Observation) {
		_, err := e.svc.Observe(t.Context(), reports)
		require.NoError(t, err)
		_, err = e.svc.Train(t.Context(), key)
		require.NoError(t, err)
	}
	var known, reproduced []sizing.Observation
	for run := range 80 {
		known = append(known, report(fmt.Sprintf("run_%d", run), 100+run))
	}
	learn(known)
	c, err := e.svc.CreateCampaign(t.Context(), campaign.Campaign{Namespace: key.Namespace, DAG: key.DAG, Name: "spring", Pool: "sandbox"})
	require.NoError(t, err)
	var archived []campaign.ArchivedRun
	for run := range 40 {
		conf := fmt.Sprintf(`{"rows": %d}`, 1500+50*run)
		archived = append(archived, campaign.ArchivedRun{Scenario: fmt.Sprint(run), ExecutionDate: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Conf: []byte(conf)})
		reproduced = append(reproduced, report(campaign.RunID(c.ID, archived[run].Hash(), archived[run].ExecutionDate, 1), 1500+50*run))
	}
	_, _, err = e.svc.RegisterRuns(t.Context(), c.ID, archived)
	require.NoError(t, err)
	learn(reproduced)

	page := e.page("/ui/campaign?id=1")
	assert.Contains(t, page, "What was learned")
	learned, err := e.svc.CampaignLearned(t.Context(), c.ID)
	require.NoError(t, err)
	require.Len(t, learned, 1)
	before, after := learned[0].Before, learned[0].After
	assert.Equal(t, []int{80, 120, 40, 40}, []int{before.Observations, after.Observations, before.Runs, before.Unstated})
	assert.Zero(t, after.Unstated, "the reproduced inputs are in the known range")
	assert.InDelta(t, 1, after.Width, .1, "the peaks follow the inputs exactly")
}

// The history has more days than the page waits for. The first HTML page is shown at once, without the chart of the
// sums by day; the JSON page waits for the sums.
func TestOverviewDoesNotWaitForManyDays(t *testing.T) {
	e := newEnv(t, withoutTokens)
	for _, at := range []time.Time{time.Date(2005, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, err := e.svc.Observe(t.Context(), []sizing.Observation{{Try: sizing.TryKey{TaskKey: key, RunID: at.String(), MapIndex: sizing.NoMap, Number: 1}, Outcome: sizing.Success,
			MemoryMax: sizing.GiB, Duration: time.Hour, EndedAt: at, Allocated: sizing.Resources{Memory: 2 * sizing.GiB}, Requested: sizing.Resources{Memory: 3 * sizing.GiB}, Features: sizing.Features{}}})
		require.NoError(t, err)
	}
	page := e.page("/ui/")
	assert.Contains(t, page, "is being computed")
	assert.Contains(t, page, `http-equiv="refresh"`)
	assert.Contains(t, page, "of 6.44 GB·h requested")
	assert.NotContains(t, page, "<svg")
	assert.Contains(t, e.get("/ui/?format=json").Body.String(), `"recent_percent": 0`)
	page = e.page("/ui/")
	assert.NotContains(t, page, "is being computed")
	assert.Contains(t, page, "<svg")
}

// Tries with equal inputs have equal factors, and tries with other inputs have other factors. The 60 runs have 63 tries,
// because three of them are killed once.
func TestFactorsOfRecentTriesFollowTheirInputs(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 60, func(run int) sizing.Features { return sizing.Features{"rows": sizing.NumberValue(float64(1 + run%4))} })
	_, err := e.svc.Train(t.Context(), key)
	require.NoError(t, err)
	tries, err := e.svc.RecentFactors(t.Context(), key, 40)
	require.NoError(t, err)
	require.Equal(t, 32, len(tries), "every second of the 63 tries")
	factors := map[string]string{}
	for _, try := range tries {
		input, terms := fmt.Sprint(try.Features), fmt.Sprint(try.Terms)
		require.Equal(t, terms, cmp.Or(factors[input], terms))
		factors[input] = terms
	}
	values := slices.Compact(slices.Sorted(maps.Values(factors)))
	require.Len(t, factors, 4)
	require.Equal(t, 4, len(values))
}

func TestAuditShowsTheFieldsOfAPolicyAsPeopleTypeThem(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 3, rows)
	require.NoError(t, e.svc.SetPolicy(t.Context(), key, sizing.Policy{Mode: sizing.Shadow, Cap: 384 * sizing.GiB, RiskTarget: 0.005}))
	require.NoError(t, e.svc.SetPolicy(t.Context(), key, sizing.Policy{CPUUnmanaged: true}))
	page := e.page("/ui/audit")
	for _, change := range []string{
		"mode default → shadow", "cap none → 384Gi", "risk_target default → 0.005", "mode shadow → default", "cap 384Gi → none",
		"risk_target 0.005 → default", "cpu_unmanaged false → true",
	} {
		assert.Contains(t, page, "<div>"+change+"</div>")
	}
	assert.NotContains(t, page, "limit_ratio", "an unchanged field is not shown")
}

func TestWhatIfWaitsWhileTooManyReplaysRun(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 60, rows)
	cfg := withoutTokens
	cfg.WhatIfs = whatif.NewJobs(e.svc)
	e.serve(cfg)
	question := &whatif.Question{Task: key}
	for _, target := range []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05} {
		question.Settings = append(question.Settings, whatif.Settings{RiskTarget: &target})
	}
	fill := func() { // starts replays until no other may start
		for {
			job, err := cfg.WhatIfs.Start(t.Context(), question)
			if err != nil {
				require.Equal(t, sizing.Exhausted, sizing.KindOf(err))
				return
			}
			t.Cleanup(func() { cfg.WhatIfs.Cancel(job) })
		}
	}
	page := ""
	for attempt := 1; attempt <= 20 && !strings.Contains(page, "Other replays wait or run"); attempt++ { // a replay may end before the page starts its own
		fill()
		page = e.page(fmt.Sprintf("/ui/whatif?dag_id=etl&task_id=load&risk_percent=%d", attempt))
	}
	assert.Contains(t, page, "Other replays wait or run")
	assert.Contains(t, page, `http-equiv="refresh"`)
}

func TestThePreviewReplaysWithTheWholePolicy(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 60, rows)
	cfg := withoutTokens
	cfg.WhatIfs = whatif.NewJobs(e.svc)
	e.serve(cfg)
	onBins := sizing.Policy{Grid: sizing.OnBins, Edges: sizing.Bins{64 * sizing.GiB}}
	// The grid of a policy is the set of amounts to which grants are rounded up: whole MiB (fine), or the edges of bins.
	for change, c := range map[string]struct {
		current sizing.Policy
		form    string
	}{
		"bins to whole MiB":          {onBins, "&grid=fine"},
		"bins to bins without edges": {onBins, "&grid=bins"},
		"never above the request":    {sizing.Policy{Floor: 16 * sizing.GiB}, "&grid=fine&floor=16Gi&never_above=on"},
		"a removed cap":              {sizing.Policy{Cap: sizing.GiB}, "&grid=fine"},
		"a removed floor":            {sizing.Policy{Floor: 16 * sizing.GiB}, "&grid=fine"},
	} {
		require.NoError(t, e.svc.SetPolicy(t.Context(), key, c.current))
		var shown dashboard.PolicyPage
		require.Eventually(t, func() bool {
			body := e.get("/ui/policy?dag_id=etl&task_id=load&mode=enforce&format=json" + c.form).Body.Bytes()
			shown = dashboard.PolicyPage{}
			require.NoError(t, json.Unmarshal(body, &shown), "%s", body)
			return len(shown.Results) == 2
		}, testwait.Limit, 10*time.Millisecond, change)
		assert.NotEqual(t, shown.Results[0].WastedGBH, shown.Results[1].WastedGBH, change)
	}
}

// With a cap below its peak, a run never succeeds and has used nothing. This is no saving, so the preview says how many
// such runs there are.
func TestThePreviewOfALowCapSaysThatRunsNeverSucceed(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 60, rows) // 3 of the 60 successes are above 2.8 GiB
	cfg := withoutTokens
	cfg.WhatIfs = whatif.NewJobs(e.svc)
	e.serve(cfg)
	const target = "/ui/policy?dag_id=etl&task_id=load&mode=enforce&cap="
	page := ""
	require.Eventually(t, func() bool {
		page = e.page(target + "2900Mi")
		return strings.Contains(page, "new policy</th>")
	}, testwait.Limit, 10*time.Millisecond)
	assert.Contains(t, page, `<p class="error">With the new policy 3 runs would never have got enough memory.</p>`)
	require.Eventually(t, func() bool {
		page = e.page(target + "4Gi")
		return strings.Contains(page, "new policy</th>")
	}, testwait.Limit, 10*time.Millisecond)
	assert.NotContains(t, page, "never have got enough")
}

// A caller may ask about the same try again after its end. The page of the try shows the answer with which it ran.
func TestThePageOfATryShowsTheAnswerWithWhichItRan(t *testing.T) {
	e := newEnv(t, withoutTokens)
	try := sizing.TryKey{TaskKey: key, RunID: "asked_twice", MapIndex: sizing.NoMap, Number: 1}
	answer := func(requested sizing.Bytes) sizing.Bytes {
		a, err := e.svc.Predict(t.Context(), &sizing.Ask{Try: try, Requested: sizing.Resources{Memory: requested}, Features: rows(1)})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			_, err := e.st.Receipt(t.Context(), a.PredictionID)
			return err == nil
		}, testwait.Limit, 10*time.Millisecond)
		return a.Memory.Limit
	}
	first := answer(8 * sizing.GiB)
	_, err := e.svc.Observe(t.Context(), []sizing.Observation{{Try: try, Outcome: sizing.OOMKilled, Allocated: sizing.Resources{Memory: first}, EndedAt: time.Now(), Features: rows(1)}})
	require.NoError(t, err)
	require.Greater(t, answer(64*sizing.GiB), first)
	var shown dashboard.Try
	require.NoError(t, json.Unmarshal(e.get("/ui/try?dag_id=etl&task_id=load&run_id=asked_twice&try_number=1&format=json").Body.Bytes(), &shown))
	assert.True(t, shown.IsAnswered)
	assert.Equal(t, first, shown.Granted)
	require.NotNil(t, shown.Outcome)
	assert.Equal(t, shown.Outcome.Allocated, shown.Granted)
}

// A list reads the realised risks of 200 tasks. The overview says how many tasks are missing, and reads their risks.
func TestOverviewReadsTheRisksOfAllTasks(t *testing.T) {
	e := newEnv(t, withoutTokens)
	var obs []sizing.Observation
	for i := range 205 {
		obs = append(obs, sizing.Observation{
			Try:     sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: "default", DAG: "many", Task: fmt.Sprintf("task%03d", i)}, RunID: "r", MapIndex: sizing.NoMap, Number: 1},
			Outcome: sizing.Success, MemoryMax: sizing.GiB, Duration: time.Hour, EndedAt: time.Now(), Allocated: sizing.Resources{Memory: 2 * sizing.GiB}, Features: sizing.Features{},
		})
	}
	_, err := e.svc.Observe(t.Context(), obs)
	require.NoError(t, err)
	first := e.page("/ui/")
	assert.Contains(t, first, "5 tasks of 205 are not counted yet.")
	assert.Contains(t, first, `http-equiv="refresh"`)
	require.Eventually(t, func() bool { return !strings.Contains(e.page("/ui/"), "not counted yet") }, testwait.Limit, 20*time.Millisecond)
}
