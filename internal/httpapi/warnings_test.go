package httpapi_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type observeAnswer struct {
	Recorded bool
	Warnings []struct{ Field, Detail string }
	Error    any
}

func TestAnswerWarnsOfImplausibleValues(t *testing.T) {
	e := newTestEnv(t, noAuth)
	const report = `{"dag_id": "d", "task_id": "a", "run_id": "1", "outcome": "success", "memory_max_bytes": 2000, "allocated": {"memory": "2Gi"}}`
	var one observeAnswer
	e.post("/observe", report).into(&one)
	assert.True(t, one.Recorded)
	require.Len(t, one.Warnings, 1)
	assert.Equal(t, "memory_max_bytes", one.Warnings[0].Field)
	assert.Equal(t, "2000 bytes is 1/1073742 of the 2Gi allocated: is the value in MiB? It changes no allocation, even if another report confirms it", one.Warnings[0].Detail)

	const good = `{"dag_id": "d", "task_id": "b", "run_id": "1", "outcome": "success", "memory_max_bytes": 1000000000, "allocated": {"memory": "2Gi"}}`
	const bad = `{"dag_id": "d", "task_id": "b", "run_id": "2", "outcome": "success", "memory_max_bytes": -1}`
	const future = `{"dag_id": "d", "task_id": "b", "run_id": "3", "outcome": "success", "memory_max_bytes": 1000000000, "ended_at": "2136-01-01T00:00:00Z"}`
	var batch struct{ Results []observeAnswer }
	e.post("/observe/batch", `{"observations": [`+good+`,`+bad+`,`+future+`]}`).into(&batch)
	require.Len(t, batch.Results, 3)
	assert.Empty(t, batch.Results[0].Warnings)
	assert.NotNil(t, batch.Results[1].Error)
	require.Len(t, batch.Results[2].Warnings, 1)
	assert.Equal(t, "observations[2].ended_at", batch.Results[2].Warnings[0].Field)
	assert.NotContains(t, string(e.post("/observe", good).body), "warnings", "a plausible report has no warnings")

	var profile struct {
		Quarantined []struct {
			Bytes  int64 `json:"memory_max_bytes"`
			Detail string
		}
	}
	e.do("GET", "/tasks/d/a", "").into(&profile)
	require.Len(t, profile.Quarantined, 1)
	assert.EqualValues(t, 2000, profile.Quarantined[0].Bytes)
	assert.Contains(t, profile.Quarantined[0].Detail, "1/1073742")
}

func TestAnswerWarnsOfAFeatureOfAnotherKind(t *testing.T) {
	e := newTestEnv(t, noAuth)
	report := func(run, rows string) (a observeAnswer) {
		e.post("/observe", `{"dag_id": "d", "task_id": "kinds", "run_id": "`+run+`", "outcome": "success", "memory_max_bytes": 1000000000,
			"features": {"rows": `+rows+`}}`).into(&a)
		return a
	}
	for _, run := range []string{"1", "2", "3"} {
		assert.Empty(t, report(run, run+"00").Warnings)
	}
	odd := report("4", `"n/a"`)
	require.Len(t, odd.Warnings, 1)
	assert.Equal(t, "features.rows", odd.Warnings[0].Field)
	assert.Contains(t, odd.Warnings[0].Detail, `"n/a" is a category, and this feature is a number`)
}

func TestAPredictionWarnsOfAnImplausibleRequest(t *testing.T) {
	e := newTestEnv(t, noAuth)
	const task = `"dag_id": "d", "task_id": "bytes"`
	var p struct {
		Warnings []struct{ Field, Detail string }
	}
	e.post("/predict", `{`+task+`, "requested": {"memory": "4"}}`).into(&p)
	require.Len(t, p.Warnings, 1)
	assert.Equal(t, "requested.memory_bytes", p.Warnings[0].Field)
	assert.Equal(t, "4 bytes is less than any container uses: check the unit", p.Warnings[0].Detail)
	explained := e.post("/explain", `{`+task+`, "requested": {"memory": "4"}}`).json()
	assert.Contains(t, explained["text"], "4 bytes is less than any container uses")
	assert.NotContains(t, string(e.post("/predict", `{`+task+`, "requested": {"memory": "1Mi"}}`).body), "warnings")
}
