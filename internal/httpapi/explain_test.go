package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/api"
)

// requireChain requires that the granted amount in `e` is `granted`, and that the base times the factors gives this amount.
func requireChain(t *testing.T, granted int64, e *api.Explanation) {
	t.Helper()
	require.Equal(t, granted, e.GrantedBytes)
	product, last := float64(e.BaseBytes), e.BaseBytes
	for _, term := range e.Terms {
		product *= term.Factor
		last = term.BytesAfter
	}
	require.InEpsilon(t, float64(granted), product, 1e-9)
	require.Equal(t, granted, last)
}

func TestTheFactorsOfAnExplanationGiveTheGrant(t *testing.T) {
	e := newTestEnv(t, noAuth)
	e.reportHistory(60)
	const body = `{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "r", "features": {"product_count": 1253, "region": "emea"}, "requested": {"memory": "350Gi"}}`
	var predicted api.Prediction
	e.post("/predict", body).into(&predicted)

	var explained, recorded api.Explanation
	e.post("/explain", body).into(&explained)
	requireChain(t, predicted.Memory.LimitBytes, &explained)
	assert.Equal(t, predicted.Reason, explained.Reason)
	assert.Equal(t, predicted.LadderBytes, explained.LadderBytes)
	assert.Len(t, explained.Nearest, 5)
	assert.Contains(t, explained.Text, "is granted. The calculation starts from an amount of ")
	e.do(http.MethodGet, "/predictions/"+predicted.PredictionID+"/explanation", "").into(&recorded)
	requireChain(t, predicted.Memory.LimitBytes, &recorded)
	assert.Equal(t, explained.Terms, recorded.Terms)
	assert.Nil(t, recorded.Killed)

	failed := fmt.Sprint(predicted.Memory.LimitBytes)
	e.post("/observe", `{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "r", "outcome": "oom_killed", "allocated": {"memory_bytes": `+failed+`}}`)
	e.do(http.MethodGet, "/predictions/"+predicted.PredictionID+"/explanation", "").into(&recorded)
	requireChain(t, predicted.Memory.LimitBytes, &recorded)
	require.NotNil(t, recorded.Killed)
	assert.Equal(t, predicted.Memory.LimitBytes, recorded.Killed.KilledBytes)
	assert.Nil(t, recorded.Killed.WouldHoldBytes)
	needed := predicted.Memory.LimitBytes + 1
	e.post("/observe", fmt.Sprintf(`{"dag_id": "pricing", "task_id": "predict_demand", "run_id": "r", "try_number": 2, "outcome": "success", "memory_max_bytes": %d}`, needed))
	e.do(http.MethodGet, "/predictions/"+predicted.PredictionID+"/explanation", "").into(&recorded)
	assert.Equal(t, needed, *recorded.Killed.NeededBytes)
	assert.Greater(t, *recorded.Killed.WouldHoldBytes, needed)
	assert.Contains(t, recorded.Text, "would have held")

	e.do(http.MethodPut, "/tasks/pricing/predict_demand/policy", `{"mode": "shadow"}`)
	e.post("/explain", body).into(&explained)
	requireChain(t, 350<<30, &explained)
	require.NotNil(t, explained.Shadow)
	assert.NotEmpty(t, explained.Shadow.Terms)

	assert.Equal(t, http.StatusNotFound, e.do(http.MethodPost, "/explain", `{"dag_id": "pricing", "task_id": "unknown"}`).status)
	assert.Equal(t, []string{"requested.memory"}, e.do(http.MethodPost, "/explain", `{"dag_id": "d", "task_id": "t", "requested": {"memory": "1GiB"}}`).fields())
	assert.Equal(t, http.StatusNotFound, e.do(http.MethodGet, "/predictions/absent/explanation", "").status)
}
