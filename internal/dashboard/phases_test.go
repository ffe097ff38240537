package dashboard_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/dashboard"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/trainer"
)

// growing is the usage of a run of 30 minutes or more with two phases: little memory, then ten times as
// much.
func growing(run int) *sizing.Series {
	s := &sizing.Series{Step: 15 * time.Second}
	for step := range 120 + run%5 {
		memory, cores := sizing.GiB/2, 1.0
		if step >= 80+run%4 {
			memory, cores = 5*sizing.GiB, 3
		}
		s.Memory, s.CPU = append(s.Memory, int64(memory+sizing.Bytes((step*7+run*3)%11)*4*sizing.MiB)), append(s.CPU, cores)
	}
	return s
}

func (e *env) learnPhases(task sizing.TaskKey, runID string) {
	e.t.Helper()
	var reports []sizing.Observation
	for run := range 8 {
		s := growing(run)
		reports = append(reports, sizing.Observation{
			Try:     sizing.TryKey{TaskKey: task, RunID: fmt.Sprintf("%s long_%d", runID, run), MapIndex: sizing.NoMap, Number: 1},
			Outcome: sizing.Success, MemoryMax: 6 * sizing.GiB, Duration: time.Duration(len(s.Memory)) * s.Step, EndedAt: time.Date(2026, 5, 1+run, 0, 0, 0, 0, time.UTC),
			Allocated: sizing.Resources{Memory: 8 * sizing.GiB, CPU: 4}, Requested: sizing.Resources{Memory: 16 * sizing.GiB, CPU: 4}, Features: sizing.Features{}, Detailed: s,
		})
	}
	results, err := e.svc.Observe(e.t.Context(), reports)
	require.NoError(e.t, err)
	for _, r := range results {
		require.NoError(e.t, r.Err)
	}
	require.NoError(e.t, trainer.New(e.st, trainer.Config{}, slog.New(slog.DiscardHandler)).LearnPlans(e.t.Context(), time.Now()))
}

const phasesOfTask = "/ui/phases?dag_id=etl&task_id=load"

func TestPhasesOfATask(t *testing.T) {
	e := newEnv(t, withoutTokens)
	e.observe(key, 3, rows)
	early := e.page(phasesOfTask)
	assert.Contains(t, early, "No run was learned yet")
	assert.Contains(t, early, `href="/ui/start"`)
	assert.True(t, json.Valid(e.get(phasesOfTask+"&format=json").Body.Bytes()))
	assert.Equal(t, http.StatusNotFound, e.get("/ui/phases?dag_id=etl&task_id=unknown").Code)

	e.learnPhases(key, "run")
	e.serve(withoutTokens) // without cached lists
	assert.Contains(t, e.page("/ui/phases"), `">load</a>`)
	page := e.page(phasesOfTask)
	for _, text := range []string{" less</p><p>GB·h in 7 replayed runs", "Plan against usage", "planned limit", ">phase 0</li>", ">phase 1</li>", "0 → 1", "end 100\u00a0%", "Next plan", "short of CPU"} {
		assert.Contains(t, page, text)
	}
	assert.Less(t, strings.Index(page, "run long_7"), strings.Index(page, "run long_6"), "the newest run is the first")
	assert.Contains(t, e.page("/ui/policy?dag_id=etl&task_id=load&mode=shadow"), "/ui/phases?dag_id=etl")

	var data dashboard.TaskPhases
	require.NoError(t, json.Unmarshal(e.get(phasesOfTask+"&format=json&runs=8").Body.Bytes(), &data))
	require.Len(t, data.Runs, 8)
	require.Len(t, data.Phases, 2)
	assert.Equal(t, 7, data.Savings.Runs)
	require.NotNil(t, data.Savings.Saved)
	assert.Greater(t, *data.Savings.Saved, .2, "for two thirds of its time a run needs a tenth of its peak")
	assert.Empty(t, data.Runs[7].Limits, "the first run had no plan")
	assert.NotEmpty(t, data.Steps)

	lines := strings.Split(strings.TrimSpace(e.get(phasesOfTask+"&format=csv&runs=1").Body.String()), "\n")
	require.Len(t, lines, 1+len(growing(7).Memory))
	last := strings.Split(lines[len(lines)-1], ",")
	assert.Equal(t, []string{"run long_7", "3", "1"}, []string{last[0], last[5], last[6]})
	limits := data.Runs[0].Limits
	assert.Equal(t, fmt.Sprint(int64(limits[len(limits)-1].Memory)), last[7])
	assert.Equal(t, http.StatusUnprocessableEntity, e.get(phasesOfTask+"&runs=many").Code)
	assert.Equal(t, http.StatusUnprocessableEntity, e.get(phasesOfTask+"&runs=17").Code)
}

func TestPhasesListsOnlyTasksOfTheCaller(t *testing.T) {
	e := newEnv(t, withoutTokens)
	other := sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: "ml", Task: "train"}
	e.learnPhases(key, "run")
	e.learnPhases(other, "run")
	e.serve(dashboard.Config{Auth: auth.Config{Tokens: []auth.Token{{Role: auth.RolePredict, Namespace: sizing.DefaultNamespace, DAGPrefix: "ml", Hash: sha("ml")}}}})
	bearer := header{"Authorization": "Bearer " + secret("ml")}
	body := e.get("/ui/phases?format=csv", bearer).Body.String()
	assert.Contains(t, body, "\nml,train,off,1,")
	assert.NotContains(t, body, "etl")
	assert.Equal(t, http.StatusForbidden, e.get(phasesOfTask, bearer).Code)
	assert.Equal(t, http.StatusOK, e.get("/ui/phases?dag_id=ml&task_id=train", bearer).Code)
}
