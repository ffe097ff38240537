package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
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

// rolesIn reads who may call op from the contract.
func rolesIn(op *openapi3.Operation) []string {
	var roles []string
	listed, _ := op.Extensions["x-roles"].([]any)
	for _, role := range listed {
		roles = append(roles, role.(string))
	}
	return roles
}

func TestEveryRoleMayDoWhatTheContractSaysAndNoMore(t *testing.T) {
	w := newWorld(t, tokens(t, "predict:p-secret", "observe:"+sha("o-secret"), "admin:a-secret"))
	calls := 0
	for path, item := range w.spec.Paths.Map() {
		target := strings.NewReplacer("{dag_id}", "d", "{task_id}", "t", "{version}", "1", "{prediction_id}", "x").Replace(path)
		for method, op := range item.Operations() {
			public := op.Security != nil && len(*op.Security) == 0
			if !public {
				assert.NotEmpty(t, rolesIn(op), "%s says who may call it", op.OperationID)
			}
			for _, role := range []string{"", "predict", "observe", "admin", "wrong"} {
				var options []option
				if role != "" {
					options = append(options, bearer(role[:1]+"-secret"))
				}
				a := w.do(method, target, "", options...)
				want := []int{}
				switch {
				case public || role == "admin" || slices.Contains(rolesIn(op), role):
					assert.NotContains(t, []int{401, 403}, a.status, "%s %s as %q: %s", method, path, role, a.body)
					continue
				case role == "" || role == "wrong":
					want = append(want, 401)
				default:
					want = append(want, 403)
				}
				assert.Contains(t, want, a.status, "%s %s as %q: %s", method, path, role, a.body)
				calls++
			}
		}
	}
	assert.Greater(t, calls, 50)
}

func TestWhoIsNotKnownIsToldHowToBe(t *testing.T) {
	w := newWorld(t, tokens(t, "predict:secret"))
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
	w := newWorld(t, tokens(t, "predict@blue:blue", "observe@blue:blue", "admin@red:red", "admin:all",
		"observe@blue:both", "observe@red:both"))
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
		{"both", "GET /tasks", "", 403},
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
}

func TestGrantsAreReadAsTheyAreWritten(t *testing.T) {
	plain, err := httpapi.ParseToken("observe@team-a:se:cret")
	require.NoError(t, err)
	assert.Equal(t, httpapi.RoleObserve, plain.Role)
	assert.Equal(t, "team-a", plain.Namespace)
	hashed, err := httpapi.ParseToken("observe@team-a:" + strings.ToUpper(sha("se:cret")))
	require.NoError(t, err)
	assert.Equal(t, plain, hashed, "a token and its hash are the same grant")

	for _, text := range []string{"", "secret", "predict:", "root:secret", "predict@:secret", "predict@a/b:secret", ":secret"} {
		_, err := httpapi.ParseToken(text)
		require.Error(t, err, text)
		assert.NotContains(t, err.Error(), "secret\"", "an error does not repeat the secret")
	}
}
