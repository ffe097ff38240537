package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// report reports n identical runs of a task. The argument `rest` contains more members of their JSON.
func (e *testEnv) report(task, runPrefix string, n int, rest string) {
	e.t.Helper()
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"dag_id": "censored", "task_id": %q, "run_id": "%s-%d", "duration_seconds": 300, "requested": {"memory": "32Gi"}, %s}`, task, runPrefix, i, rest)
	}
	answer := e.post("/observe/batch", `{"observations": [`+strings.Join(all, ",")+`]}`)
	require.NotContains(e.t, string(answer.body), `"error"`)
}

// trainAndPredict trains a task and returns the predicted limit in GiB.
func (e *testEnv) trainAndPredict(task, features string) float64 {
	e.t.Helper()
	trained := e.post("/tasks/censored/"+task+"/train", `{}`).json()
	require.Equal(e.t, true, trained["trained"], trained["reason"])
	p := e.post("/predict", fmt.Sprintf(`{"dag_id": "censored", "task_id": %q, "requested": {"memory": "32Gi"}, "features": {%s}}`, task, features)).json()
	return p["memory"].(map[string]any)["limit_bytes"].(float64) / (1 << 30)
}

func success(memory, features string) string {
	return fmt.Sprintf(`"outcome": "success", "allocated": {"memory": "16Gi"}, %s, "features": {%s}`, memory, features)
}

const (
	peak1GiB = `"memory_max_bytes": 1073741824`
	peak8GiB = `"memory_max_bytes": 8589934592`
	sample   = `"memory_sampled_bytes": 1073741824`
	small    = `"kind": "small"`
	big      = `"kind": "big"`
)

func TestOOMWithoutPeakIsALowerBound(t *testing.T) {
	e := newTestEnv(t, noAuth)
	for i := range 40 { // 1 to 1.4 GiB
		e.report("oom", fmt.Sprint("small-", i), 1, success(fmt.Sprintf(`"memory_max_bytes": %d`, 1<<30+i*10<<20), small))
	}
	before := e.trainAndPredict("oom", big)
	e.report("oom", "big", 12, `"outcome": "oom_killed", "allocated": {"memory": "3Gi"}, "features": {`+big+`}`)
	after := e.trainAndPredict("oom", big)
	t.Logf("%.2f → %.2f GiB", before, after)
	assert.Less(t, before, 3.0)
	assert.Greater(t, after, 3.0, "the limit is above the allocation that was killed twelve times")
}

func TestSuccessWithoutPeakDoesNotRaiseTheLimit(t *testing.T) {
	e := newTestEnv(t, noAuth)
	for _, task := range []string{"without", "with"} {
		e.report(task, "small", 20, success(peak1GiB, small))
		e.report(task, "first", 20, success(peak8GiB, big))
	}
	e.report("with", "big", 200, `"outcome": "success", "allocated": {"memory": "2Gi"}, "features": {`+big+`}`)
	without, with := e.trainAndPredict("without", big), e.trainAndPredict("with", big)
	t.Logf("%.2f GiB without the successes, %.2f with them", without, with)
	assert.GreaterOrEqual(t, without, 8.0)
	assert.LessOrEqual(t, with, without, "successes in 2 GiB do not raise the limit")
}

func TestSampledPeakIsRaisedByTheMeasuredPeaksOfOtherTasks(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.report("sampled", "r", 60, success(sample, small))
	before := e.trainAndPredict("sampled", small)
	e.report("both", "r", 40, success(sample+`, "memory_max_bytes": 1610612736`, small))
	e.report("sampled", "s", 1, success(sample, small))
	after := e.trainAndPredict("sampled", small)
	t.Logf("%.2f → %.2f GiB", before, after)
	assert.Less(t, before, 1.5, "before the reports of the other task, whose samples are 1 GiB and whose peaks are 1.5 GiB")
	assert.GreaterOrEqual(t, after, 1.5)

	profile := e.do(http.MethodGet, "/tasks/censored/sampled", "").json()
	assert.EqualValues(t, 1<<30, profile["largest_peak_bytes"], "the profile shows the sampled peak unchanged")
}

func TestSampledAndMeasuredPeakArriveInEitherOrder(t *testing.T) {
	e := newTestEnv(t, noAuth)
	report := func(run, more string) string {
		return fmt.Sprintf(`{"dag_id": "censored", "task_id": "order", "run_id": %q, "outcome": "success"%s}`, run, more)
	}
	measured, sampled := `, "memory_max_bytes": 1610612736`, `, `+sample
	for run, order := range map[string][]string{"a": {measured, sampled}, "b": {sampled, measured}, "c": {"", sampled, measured}} {
		for i, more := range order {
			answer := e.post("/observe", report(run, more)).json()
			assert.Equal(t, i > 0, answer["amended"], "%s: %s", run, more)
		}
		for _, more := range []string{measured, sampled, measured + sampled} {
			assert.Equal(t, true, e.post("/observe", report(run, more)).json()["duplicate"])
		}
	}
	rejected := e.do(http.MethodPost, "/observe", report("a", `, "memory_sampled_bytes": 5`))
	assert.Equal(t, http.StatusConflict, rejected.status)
	assert.Equal(t, []string{"memory_sampled_bytes"}, rejected.fields())
	rejected = e.do(http.MethodPost, "/observe", report("d", `, "memory_sampled_bytes": -5`))
	assert.Equal(t, http.StatusUnprocessableEntity, rejected.status)
	assert.Equal(t, []string{"memory_sampled_bytes"}, rejected.fields())
}
