package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/httpapi"
	"github.com/loadaware/loadaware/internal/httpapi/auth"
)

func tokens(t *testing.T, grants ...string) httpapi.Config {
	t.Helper()
	var cfg httpapi.Config
	for _, grant := range grants {
		token, err := auth.ParseToken(grant)
		require.NoError(t, err)
		cfg.Auth.Tokens = append(cfg.Auth.Tokens, token)
	}
	return cfg
}

func sha(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func TestUnknownCallersGetAChallenge(t *testing.T) {
	e := newTestEnv(t, tokens(t, "predict:"+sha("secret")))
	for name, options := range map[string][]option{
		"no header":           nil,
		"another scheme":      {header("Authorization", "Basic c2VjcmV0")},
		"no token":            {header("Authorization", "Bearer ")},
		"another token":       {bearer("secret2")},
		"the hash of a token": {bearer(sha("secret"))},
	} {
		a := e.do(http.MethodGet, "/predict?dag_id=d&task_id=t&memory=1Gi", "", options...)
		assert.Equal(t, http.StatusUnauthorized, a.status, name)
		assert.Contains(t, a.header.Get("WWW-Authenticate"), "Bearer", name)
	}
	assert.Equal(t, http.StatusOK, e.do(http.MethodGet, "/predict?dag_id=d&task_id=t&memory=1Gi", "", bearer("secret")).status)
	assert.Equal(t, http.StatusOK, e.do(http.MethodGet, "/predict?dag_id=d&task_id=t&memory=1Gi", "", header("Authorization", "bearer secret")).status)
	assert.Equal(t, http.StatusUnauthorized, e.do(http.MethodGet, "/no/such/path", "").status, "unknown callers learn nothing about paths")
}

func TestZeroConfigServesOnlyPublicPaths(t *testing.T) {
	e := newTestEnv(t, httpapi.Config{})
	assert.Equal(t, http.StatusUnauthorized, e.do(http.MethodGet, "/tasks", "").status)
	assert.Equal(t, http.StatusUnauthorized, e.do(http.MethodGet, "/tasks", "", bearer("")).status)
	assert.Equal(t, http.StatusOK, e.do(http.MethodGet, "/healthz", "").status)
}

func TestScopedTokenCoversOnlyItsNamespace(t *testing.T) {
	e := newTestEnv(t, tokens(t, "predict@blue:"+sha("blue"), "observe@blue:"+sha("blue"), "admin@red:"+sha("red"), "admin:"+sha("all"),
		"observe@blue:"+sha("both"), "observe@red:"+sha("both")))
	for _, ns := range []string{"blue", "red"} {
		e.post("/observe", `{"namespace": "`+ns+`", `+succeeded+`, "memory_max": "1Gi"}`, bearer("all"))
	}
	predicted := e.post("/predict", `{"namespace": "red", `+try+`, "requested": {"memory": "1Gi"}}`, bearer("red")).json()

	for _, c := range []struct {
		token, call, body string
		status            int
	}{
		{"blue", "POST /predict", `{"namespace": "blue", ` + key + `, "requested": {"memory": "1Gi"}}`, 200},
		{"blue", "POST /predict", `{"namespace": "red", ` + key + `, "requested": {"memory": "1Gi"}}`, 403},
		{"blue", "POST /predict", `{` + key + `, "requested": {"memory": "1Gi"}}`, 403},
		{"blue", "GET /predict?namespace=red&dag_id=d&task_id=t&memory=1Gi", "", 403},
		{"blue", "POST /observe", `{"namespace": "red", ` + succeeded + `, "memory_max": "1Gi"}`, 403},
		{"blue", "POST /observe/void", `{"namespace": "red", ` + try + `}`, 403},
		{"blue", "POST /retry-lift", `{"namespace": "red", ` + killed + `, "failed": {"memory": "1Gi"}}`, 403},
		{"blue", "GET /tasks/d/t?namespace=blue", "", 200},
		{"blue", "GET /tasks/d/t?namespace=red", "", 403},
		{"blue", "GET /tasks?namespace=red", "", 403},
		{"blue", "PUT /tasks/d/t/policy?namespace=blue", `{}`, 403},
		{"blue", "GET /predictions/" + predicted["prediction_id"].(string), "", 404},
		{"red", "GET /predictions/" + predicted["prediction_id"].(string), "", 200},
		{"red", "PUT /tasks/d/t/policy?namespace=red", `{}`, 200},
		{"red", "PUT /tasks/d/t/policy", `{}`, 403},
		{"red", "POST /tasks/d/t/rename?namespace=red", `{"namespace": "blue", "dag_id": "d", "task_id": "mine"}`, 403},
		{"both", "GET /tasks", "", 200},
		{"both", "GET /tasks?namespace=red", "", 200},
	} {
		method, target, _ := strings.Cut(c.call, " ")
		a := e.do(method, target, c.body, bearer(c.token))
		assert.Equal(t, c.status, a.status, "%s: %s %s → %s", c.token, c.call, c.body, a.body)
	}

	id := predicted["prediction_id"].(string)
	detail := func(id string) string {
		text := e.do(http.MethodGet, "/predictions/"+id, "", bearer("blue")).json()["detail"].(string)
		return strings.ReplaceAll(text, id, "ID")
	}
	assert.Equal(t, detail("unknown"), detail(id), "the error must not show that the id exists")

	var batch struct {
		Predictions []struct{ Error *struct{ Status int } }
	}
	e.post("/predict/batch", `{"tasks": [{"namespace": "blue", `+key+`, "requested": {"memory": "1Gi"}}, {"namespace": "red", `+key+`}]}`, bearer("blue")).into(&batch)
	assert.Nil(t, batch.Predictions[0].Error)
	assert.Equal(t, 403, batch.Predictions[1].Error.Status)

	var list struct {
		Tasks []struct{ Namespace string }
	}
	e.do(http.MethodGet, "/tasks", "", bearer("blue")).into(&list)
	require.Len(t, list.Tasks, 1, "the list shows no other namespace")
	assert.Equal(t, "blue", list.Tasks[0].Namespace)
	e.do(http.MethodGet, "/tasks", "", bearer("all")).into(&list)
	assert.Len(t, list.Tasks, 2)
	e.do(http.MethodGet, "/tasks", "", bearer("both")).into(&list)
	assert.Len(t, list.Tasks, 2, "a token of two namespaces lists the tasks of both")
}

// Rotation: the server accepts the old and the new token until all callers use the new one.
func TestTokenRotationNeedsNoDowntime(t *testing.T) {
	old, next := "airflow=predict:"+sha("old"), "airflow=predict:"+sha("new")
	for _, step := range []struct {
		grants   []string
		old, new int
	}{
		{[]string{old}, 200, 401}, {[]string{old, next}, 200, 200}, {[]string{next}, 401, 200},
	} {
		e := newTestEnv(t, tokens(t, step.grants...))
		for secret, want := range map[string]int{"old": step.old, "new": step.new} {
			assert.Equal(t, want, e.do(http.MethodGet, "/predict?dag_id=d&task_id=t&memory=1Gi", "", bearer(secret)).status)
		}
	}
}
