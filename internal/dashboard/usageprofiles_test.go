package dashboard_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
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

func TestUsageProfilesOfANamespace(t *testing.T) {
	e := newEnv(t, withoutTokens)
	var reports []sizing.Observation
	for i := range 160 {
		o := sizing.Observation{Outcome: sizing.Success, MemoryMax: sizing.Bytes(2e8 * (1 + 0.02*float64(i*3%11))), Duration: time.Duration(3e10 * (1 + 0.03*float64(i*5%7))), Features: sizing.Features{},
			Try: sizing.TryKey{TaskKey: sizing.TaskKey{Namespace: sizing.DefaultNamespace, DAG: []string{"etl", "ml"}[i%2], Task: fmt.Sprintf("t<%d>", i%8)}, RunID: fmt.Sprint(i), MapIndex: sizing.NoMap, Number: 1}}
		if i%4 > 1 {
			o.MemoryMax, o.Duration = 100*o.MemoryMax, 50*o.Duration
		}
		reports = append(reports, o)
	}
	_, err := e.svc.Observe(t.Context(), reports)
	require.NoError(t, err)
	tr := trainer.New(e.st, trainer.Config{}, slog.New(slog.DiscardHandler))
	require.NoError(t, tr.FindProfiles(t.Context(), time.Now()))

	page := e.page("/ui/profiles?id=2")
	assert.Contains(t, page, "the profiles are distinct")
	assert.Contains(t, page, "memory_peak_bytes, duration_seconds")
	assert.Contains(t, page, "<h2>Profile 2</h2>")
	assert.Contains(t, page, "t&lt;", "the page lists the tasks of the profile")
	assert.Equal(t, 2, strings.Count(page, `<td class="bar"><svg`), "the outlier group has no run, so it has no bar")
	assert.Contains(t, e.page("/ui/profiles?id=0"), "<h2>Outliers</h2>")
	assert.Contains(t, e.page("/ui/task?dag_id=etl&task_id="+url.QueryEscape("t<0>")), ">Usage profile ")
	assert.Equal(t, http.StatusNotFound, e.get("/ui/profiles?id=9").Code)
	assert.Contains(t, e.page("/ui/profiles?namespace=other"), "There are no profiles yet")
	assert.Contains(t, e.get("/ui/profiles?format=csv").Body.String(), "\n2,memory_peak_bytes,80,")

	e.serve(dashboard.Config{Auth: auth.Config{Tokens: []auth.Token{{Role: auth.RolePredict, Namespace: sizing.DefaultNamespace, DAGPrefix: "ml", Hash: sha("ml")}}}})
	body := e.get("/ui/profiles?id=2&format=json", header{"Authorization": "Bearer " + secret("ml")}).Body.String()
	assert.Contains(t, body, `"dag_id": "ml"`)
	assert.NotContains(t, body, `"dag_id": "etl"`)

	e.serve(dashboard.Config{Auth: auth.Config{Tokens: []auth.Token{{Role: auth.RolePredict, Namespace: "blue", Hash: sha("two")}, {Role: auth.RolePredict, Namespace: "red", Hash: sha("two")}}}})
	two := header{"Authorization": "Bearer " + secret("two")}
	for _, path := range []string{"/ui/profiles", "/ui/phases"} {
		assert.Contains(t, e.get(path+"?format=json", two).Body.String(), `"namespace": "blue"`, "no token covers the default namespace")
		assert.Equal(t, http.StatusForbidden, e.get(path+"?namespace=default", two).Code)
	}
}
