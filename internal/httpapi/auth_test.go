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
)

// tokens reads grants as they are configured.
func tokens(t *testing.T, grants ...string) httpapi.Config {
	t.Helper()
	var cfg httpapi.Config
	for _, grant := range grants {
		token, err := httpapi.ParseToken(grant)
		require.NoError(t, err)
		cfg.Auth.Tokens = append(cfg.Auth.Tokens, token)
	}
	return cfg
}

func sha(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

func TestWhoIsNotKnownIsToldHowToBe(t *testing.T) {
	w := newWorld(t, tokens(t, "predict:"+sha("secret")))
	for claim, options := range map[string][]option{
		"no header":           nil,
		"another scheme":      {header("Authorization", "Basic c2VjcmV0")},
		"no token":            {header("Authorization", "Bearer ")},
		"another token":       {bearer("secret2")},
		"the hash of a token": {bearer(sha("secret"))},
	} {
		a := w.do(http.MethodGet, "/predict?dag_id=d&task_id=t&memory=1Gi", "", options...)
		assert.Equal(t, http.StatusUnauthorized, a.status, claim)
		assert.Contains(t, a.header.Get("WWW-Authenticate"), "Bearer", claim)
	}
	assert.Equal(t, http.StatusOK, w.do(http.MethodGet, "/predict?dag_id=d&task_id=t&memory=1Gi", "", bearer("secret")).status)
	assert.Equal(t, http.StatusOK, w.do(http.MethodGet, "/predict?dag_id=d&task_id=t&memory=1Gi", "", header("Authorization", "bearer secret")).status)
	assert.Equal(t, http.StatusUnauthorized, w.do(http.MethodGet, "/no/such/path", "").status, "paths are not told to strangers")
}

func TestTheZeroConfigAdmitsNobody(t *testing.T) {
	w := newWorld(t, httpapi.Config{})
	assert.Equal(t, http.StatusUnauthorized, w.do(http.MethodGet, "/tasks", "").status)
	assert.Equal(t, http.StatusUnauthorized, w.do(http.MethodGet, "/tasks", "", bearer("")).status)
	assert.Equal(t, http.StatusOK, w.do(http.MethodGet, "/healthz", "").status)
}

func TestAScopedTokenNamesItsNamespaceOnly(t *testing.T) {
	w := newWorld(t, tokens(t, "predict@blue:"+sha("blue"), "observe@blue:"+sha("blue"), "admin@red:"+sha("red"), "admin:"+sha("all"),
		"observe@blue:"+sha("both"), "observe@red:"+sha("both")))
	for _, ns := range []string{"blue", "red"} {
		w.post("/observe", `{"namespace": "`+ns+`", `+okay+`, "memory_max": "1Gi"}`, bearer("all"))
	}
	asked := w.post("/predict", `{"namespace": "red", `+try+`, "requested": {"memory": "1Gi"}}`, bearer("red")).json()

	for _, c := range []struct {
		token, call, body string
		status            int
	}{
		{"blue", "POST /predict", `{"namespace": "blue", ` + key + `, "requested": {"memory": "1Gi"}}`, 200},
		{"blue", "POST /predict", `{"namespace": "red", ` + key + `, "requested": {"memory": "1Gi"}}`, 403},
		{"blue", "POST /predict", `{` + key + `, "requested": {"memory": "1Gi"}}`, 403},
		{"blue", "GET /predict?namespace=red&dag_id=d&task_id=t&memory=1Gi", "", 403},
		{"blue", "POST /observe", `{"namespace": "red", ` + okay + `, "memory_max": "1Gi"}`, 403},
		{"blue", "POST /observe/void", `{"namespace": "red", ` + try + `}`, 403},
		{"blue", "POST /retry-lift", `{"namespace": "red", ` + dead + `, "failed": {"memory": "1Gi"}}`, 403},
		{"blue", "GET /tasks/d/t?namespace=blue", "", 200},
		{"blue", "GET /tasks/d/t?namespace=red", "", 403},
		{"blue", "GET /tasks?namespace=red", "", 403},
		{"blue", "PUT /tasks/d/t/policy?namespace=blue", `{}`, 403},
		{"blue", "GET /predictions/" + asked["prediction_id"].(string), "", 404},
		{"red", "GET /predictions/" + asked["prediction_id"].(string), "", 200},
		{"red", "PUT /tasks/d/t/policy?namespace=red", `{}`, 200},
		{"red", "PUT /tasks/d/t/policy", `{}`, 403},
		{"red", "POST /tasks/d/t/rename?namespace=red", `{"namespace": "blue", "dag_id": "d", "task_id": "mine"}`, 403},
		{"both", "GET /tasks", "", 200},
		{"both", "GET /tasks?namespace=red", "", 200},
	} {
		method, target, _ := strings.Cut(c.call, " ")
		a := w.do(method, target, c.body, bearer(c.token))
		assert.Equal(t, c.status, a.status, "%s: %s %s → %s", c.token, c.call, c.body, a.body)
	}

	var batch struct {
		Predictions []struct{ Error *struct{ Status int } }
	}
	w.post("/predict/batch", `{"tasks": [{"namespace": "blue", `+key+`, "requested": {"memory": "1Gi"}}, {"namespace": "red", `+key+`}]}`, bearer("blue")).into(&batch)
	assert.Nil(t, batch.Predictions[0].Error)
	assert.Equal(t, 403, batch.Predictions[1].Error.Status)

	var list struct {
		Tasks []struct{ Namespace string }
	}
	w.do(http.MethodGet, "/tasks", "", bearer("blue")).into(&list)
	require.Len(t, list.Tasks, 1, "a list shows no other namespace")
	assert.Equal(t, "blue", list.Tasks[0].Namespace)
	w.do(http.MethodGet, "/tasks", "", bearer("all")).into(&list)
	assert.Len(t, list.Tasks, 2)
	w.do(http.MethodGet, "/tasks", "", bearer("both")).into(&list)
	assert.Len(t, list.Tasks, 2, "two namespaces of one token")
}

func TestGrantsAreReadAsTheyAreWritten(t *testing.T) {
	hash := sha256.Sum256([]byte("se:cret"))
	for text, want := range map[string]httpapi.Token{
		"observe:":                {Role: httpapi.RoleObserve},
		"observe@team-a:":         {Role: httpapi.RoleObserve, Namespace: "team-a"},
		"observe@team-a/etl_:":    {Role: httpapi.RoleObserve, Namespace: "team-a", DAGPrefix: "etl_"},
		"observe@/etl_:":          {Role: httpapi.RoleObserve, DAGPrefix: "etl_"},
		"ops.2=admin:":            {Name: "ops.2", Role: httpapi.RoleAdmin},
		"airflow=predict@a=b/c@:": {Name: "airflow", Role: httpapi.RolePredict, Namespace: "a=b", DAGPrefix: "c@"},
	} {
		want.Hash = hash
		for _, digits := range []string{sha("se:cret"), strings.ToUpper(sha("se:cret"))} {
			got, err := httpapi.ParseToken(text + digits)
			require.NoError(t, err, text)
			assert.Equal(t, want, got)
		}
	}
}

// A grant that cannot be read is told without what was written: a token may stand
// in any place of it, most of all where its hash belongs.
func TestAGrantThatCannotBeReadIsNotRepeated(t *testing.T) {
	for _, text := range []string{
		"", "s3cret", "predict:", "predict:s3cret", "s3cret:predict", "predict:" + sha("x")[1:], "predict:" + sha("x") + "00", "predict:g" + sha("x")[1:],
		"root:" + sha("x"), "predict@:" + sha("x"), "predict@a/b/c:" + sha("x"), "predict@a/:" + sha("x"), ":" + sha("x"),
		"=predict:" + sha("x"), "s3 cret=predict:" + sha("x"), "s3cret/=predict:" + sha("x"), "watchdog=admin:" + sha("x"),
	} {
		_, err := httpapi.ParseToken(text)
		require.Error(t, err, text)
		assert.NotContains(t, err.Error(), "s3", text)
	}
}

// To change a token without a pause: the new one is granted beside the old one,
// callers take it up, the old one is taken out.
func TestTokensAreRotatedWithoutAPause(t *testing.T) {
	old, next := "airflow=predict:"+sha("old"), "airflow=predict:"+sha("new")
	for _, step := range []struct {
		grants   []string
		old, new int
	}{
		{[]string{old}, 200, 401}, {[]string{old, next}, 200, 200}, {[]string{next}, 401, 200},
	} {
		w := newWorld(t, tokens(t, step.grants...))
		for secret, want := range map[string]int{"old": step.old, "new": step.new} {
			assert.Equal(t, want, w.do(http.MethodGet, "/predict?dag_id=d&task_id=t&memory=1Gi", "", bearer(secret)).status)
		}
	}
}
