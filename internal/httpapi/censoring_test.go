package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// told reports n runs of a task of five minutes, all alike.
func (w *world) told(task, runs string, n int, rest string) {
	w.t.Helper()
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"dag_id": "censored", "task_id": %q, "run_id": "%s-%d", "duration_seconds": 300, "requested": {"memory": "32Gi"}, %s}`, task, runs, i, rest)
	}
	answer := w.post("/observe/batch", `{"observations": [`+strings.Join(all, ",")+`]}`)
	require.NotContains(w.t, string(answer.body), `"error"`)
}

// limit trains a task, and is what its next run gets, in GiB.
func (w *world) limit(task, features string) float64 {
	w.t.Helper()
	trained := w.post("/tasks/censored/"+task+"/train", `{}`).json()
	require.Equal(w.t, true, trained["trained"], trained["reason"])
	p := w.post("/predict", fmt.Sprintf(`{"dag_id": "censored", "task_id": %q, "requested": {"memory": "32Gi"}, "features": {%s}}`, task, features)).json()
	return p["memory"].(map[string]any)["limit_bytes"].(float64) / (1 << 30)
}

func success(memory, features string) string {
	return fmt.Sprintf(`"outcome": "success", "allocated": {"memory": "16Gi"}, %s, "features": {%s}`, memory, features)
}

const (
	one    = `"memory_max_bytes": 1073741824`
	eight  = `"memory_max_bytes": 8589934592`
	sample = `"memory_sampled_bytes": 1073741824`
	small  = `"kind": "small"`
	big    = `"kind": "big"`
)

func TestAnOOMWithoutAPeakIsALowerBound(t *testing.T) {
	w := newWorld(t, everybody)
	for i := range 40 { // 1 to 1.4 GiB
		w.told("oom", fmt.Sprint("small-", i), 1, success(fmt.Sprintf(`"memory_max_bytes": %d`, 1<<30+i*10<<20), small))
	}
	before := w.limit("oom", big)
	w.told("oom", "big", 12, `"outcome": "oom_killed", "allocated": {"memory": "3Gi"}, "features": {`+big+`}`)
	after := w.limit("oom", big)
	t.Logf("%.2f → %.2f GiB", before, after)
	assert.Less(t, before, 3.0)
	assert.Greater(t, after, 3.0, "it is not granted again what killed it twelve times")
}

func TestASuccessWithoutAPeakIsAnUpperBound(t *testing.T) {
	w := newWorld(t, everybody)
	for _, task := range []string{"without", "with"} {
		w.told(task, "small", 20, success(one, small))
		w.told(task, "first", 20, success(eight, big))
	}
	w.told("with", "big", 200, `"outcome": "success", "allocated": {"memory": "2Gi"}, "features": {`+big+`}`)
	without, with := w.limit("without", big), w.limit("with", big)
	t.Logf("%.2f GiB without them, %.2f with", without, with)
	assert.GreaterOrEqual(t, without, 8.0)
	assert.LessOrEqual(t, with, without, "what ran in 2 GiB raises nothing")
}

func TestASampledPeakIsRaisedByWhatOtherTasksTaught(t *testing.T) {
	w := newWorld(t, everybody)
	w.told("sampled", "r", 60, success(sample, small))
	before := w.limit("sampled", small)
	w.told("both", "r", 40, success(sample+`, "memory_max_bytes": 1610612736`, small))
	w.told("sampled", "s", 1, success(sample, small))
	after := w.limit("sampled", small)
	t.Logf("%.2f → %.2f GiB", before, after)
	assert.Less(t, before, 1.5, "the other task's runs peaked at 1.5 GiB where their samples said 1")
	assert.GreaterOrEqual(t, after, 1.5)

	profile := w.do(http.MethodGet, "/tasks/censored/sampled", "").json()
	assert.EqualValues(t, 1<<30, profile["largest_peak_bytes"], "what was seen is told as it was seen")
}

func TestASampledPeakAndAMeasuredOneComeInEitherOrder(t *testing.T) {
	w := newWorld(t, everybody)
	report := func(run, more string) string {
		return fmt.Sprintf(`{"dag_id": "censored", "task_id": "order", "run_id": %q, "outcome": "success"%s}`, run, more)
	}
	measured, sampled := `, "memory_max_bytes": 1610612736`, `, `+sample
	for run, order := range map[string][]string{"a": {measured, sampled}, "b": {sampled, measured}, "c": {"", sampled, measured}} {
		for i, more := range order {
			answer := w.post("/observe", report(run, more)).json()
			assert.Equal(t, i > 0, answer["amended"], "%s: %s", run, more)
		}
		for _, more := range []string{measured, sampled, measured + sampled} {
			assert.Equal(t, true, w.post("/observe", report(run, more)).json()["duplicate"])
		}
	}
	refused := w.do(http.MethodPost, "/observe", report("a", `, "memory_sampled_bytes": 5`))
	assert.Equal(t, http.StatusConflict, refused.status)
	assert.Equal(t, []string{"memory_sampled_bytes"}, refused.fields())
	refused = w.do(http.MethodPost, "/observe", report("d", `, "memory_sampled_bytes": -5`))
	assert.Equal(t, http.StatusUnprocessableEntity, refused.status)
	assert.Equal(t, []string{"memory_sampled_bytes"}, refused.fields())
}
