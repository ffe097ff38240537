package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/store"
)

type answerWithWarnings struct {
	Memory   any
	Recorded bool
	Warnings []struct{ Field, Detail string }
}

func (a *answerWithWarnings) fields() (fields []string) {
	for _, warning := range a.Warnings {
		fields = append(fields, warning.Field)
	}
	return fields
}

func TestInvalidMetadataEntriesAreIgnoredWithAWarning(t *testing.T) {
	e := newTestEnv(t, noAuth)
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf(`"name%02d": %q`, i, strings.Repeat("v", 200))
	}
	for name, c := range map[string]struct {
		members string   // members of the JSON of the request
		ignored []string // fields that the warnings name
	}{
		"complete":  {`"metadata": {"owner": "pricing", "tags": ["a", "b"], "retries": 3}, "node_type": "m5.large", "cluster_load": 0.5`, nil},
		"null":      {`"metadata": null, "node_type": null, "cluster_load": null`, nil},
		"nested":    {`"metadata": {"owner": {"name": "x"}, "tags": [["a"]], "pool": "p"}`, []string{"metadata.owner", "metadata.tags"}},
		"too many":  {`"metadata": {` + strings.Join(many, ", ") + `}`, []string{"metadata"}},
		"too long":  {`"metadata": {"owner": "` + strings.Repeat("v", 201) + `", "` + strings.Repeat("n", 61) + `": "x"}`, []string{"metadata", "metadata.owner"}},
		"control":   {`"metadata": {"owner": "a\u0000b", "pool": "a\nb", "n\u0007": "x"}`, []string{"metadata", "metadata.owner", "metadata.pool"}},
		"placement": {`"node_type": "` + strings.Repeat("v", 201) + `", "cluster_load": 1.5`, []string{"node_type", "cluster_load"}},
	} {
		t.Run(name, func(t *testing.T) {
			var prediction, report answerWithWarnings
			run := strings.ReplaceAll(name, " ", "-")
			try := `{"dag_id": "d", "task_id": "t", "run_id": "` + run + `", ` + c.members
			predicted := e.post("/predict", try+`, "requested": {"memory": "1Gi"}}`)
			require.Equal(t, http.StatusOK, predicted.status, "%s", predicted.body)
			predicted.into(&prediction)
			assert.NotNil(t, prediction.Memory)
			assert.ElementsMatch(t, c.ignored, prediction.fields())

			observed := e.post("/observe", try+`, "outcome": "success", "memory_max_bytes": 500000000}`)
			require.Equal(t, http.StatusOK, observed.status, "%s", observed.body)
			observed.into(&report)
			assert.True(t, report.Recorded)
			assert.ElementsMatch(t, c.ignored, report.fields())
		})
	}
	assert.Equal(t, []string{"metadata"}, e.do(http.MethodPost, "/predict", `{"dag_id": "d", "task_id": "t", "metadata": 7}`).fields(), "metadata that is not an object is a client error")
}

// Metadata that differ in every run take bounded space: beyond store.MaxMetadataSets the answer has a warning.
func TestMetadataThatAlwaysDifferAreAnsweredWithAWarning(t *testing.T) {
	e := newTestEnv(t, noAuth)
	report := func(run int) string {
		return fmt.Sprintf(`{"dag_id": "d", "task_id": "t", "run_id": "r%d", "outcome": "success", "memory_max_bytes": 500000000, "metadata": {"run": "value %d"}}`, run, run)
	}
	reports := make([]string, store.MaxMetadataSets)
	for run := range reports {
		reports[run] = report(run)
	}
	var batch struct{ Results []answerWithWarnings }
	e.post("/observe/batch", `{"observations": [`+strings.Join(reports, ",")+`]}`).into(&batch)
	require.Len(t, batch.Results, store.MaxMetadataSets)
	for i := range batch.Results {
		assert.Empty(t, batch.Results[i].Warnings)
	}
	e.post("/observe/batch", `{"observations": [`+report(1000)+`]}`).into(&batch)
	require.Len(t, batch.Results, 1)
	assert.True(t, batch.Results[0].Recorded)
	assert.Equal(t, []string{"observations[0].metadata"}, batch.Results[0].fields())

	var one answerWithWarnings
	e.post("/observe", report(1001)).into(&one)
	assert.True(t, one.Recorded)
	assert.Equal(t, []string{"metadata"}, one.fields())
}

func TestUsageOutOfRangeIsIgnored(t *testing.T) {
	e := newTestEnv(t, noAuth)
	var report answerWithWarnings
	e.post("/observe", `{"dag_id": "d", "task_id": "t", "run_id": "r", "outcome": "success", "memory_max_bytes": 500000000,
		"usage": {"memory_mean_bytes": 4e8, "cpu_mean_cores": -1, "read_bytes": null, "gpu_utilisation_mean": 1e9}}`).into(&report)
	assert.True(t, report.Recorded)
	assert.ElementsMatch(t, []string{"usage.cpu_mean_cores", "usage.gpu_utilisation_mean"}, report.fields())
}
