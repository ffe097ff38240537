package httpapi_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMissingAndNullValuesAreRejected removes each value of the example requests or replaces it by
// null, and requires an error if openapi.yaml does not permit the changed request. The decoder reads a missing value and
// null as the zero value, so an operation could accept a zero, an empty text or an empty object that no client sent.
func TestMissingAndNullValuesAreRejected(t *testing.T) {
	e := newTestEnv(t, noAuth)
	prediction, whatIf := e.prepareExamples()
	rejected := 0
	for _, op := range operations(e.spec) {
		if op.definition.RequestBody == nil {
			continue
		}
		schema := op.definition.RequestBody.Value.Content["application/json"].Schema.Value
		target := e.target(op, prediction, whatIf)
		for name, example := range bodies(t, op.definition) {
			var whole any
			require.NoError(t, json.Unmarshal([]byte(example), &whole))
			eachWithout(whole, nil, func(path []string) {
				body, err := json.Marshal(whole)
				require.NoError(t, err)
				if path == nil {
					body = []byte("null")
				}
				var value any
				require.NoError(t, json.Unmarshal(body, &value))
				isItem := len(path) > 1 && slices.Contains([]string{"PredictBatch", "ObserveBatch"}, op.definition.OperationID) // the answer has a problem for each item
				if isItem || schema.VisitJSON(value, openapi3.VisitAsRequest()) == nil {
					return
				}
				got := e.do(op.method, target, string(body))
				assert.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, got.status, "%s %s: without %v: %s", op.definition.OperationID, name, path, got.body)
				rejected++
			})
		}
	}
	assert.Greater(t, rejected, 60)
}

// eachWithout removes each member of a JSON value and replaces each part by null, one at a time,
// and calls `f` with the path of the changed part. It first calls `f` with a nil path and no change.
func eachWithout(value any, path []string, f func(path []string)) {
	if path == nil {
		f(nil)
	}
	visit := func(name string, part any, set func(any)) {
		partPath := append(slices.Clip(path), name)
		set(nil)
		f(partPath)
		set(part)
		eachWithout(part, partPath, f)
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			part := v[name]
			delete(v, name)
			f(append(slices.Clip(path), name))
			visit(name, part, func(x any) { v[name] = x })
		}
	case []any:
		for i, part := range v {
			visit(strconv.Itoa(i), part, func(x any) { v[i] = x })
		}
	}
}

// Clients in many languages send null for a value that they do not have, so openapi.yaml permits it.
func TestOptionalFieldsOfRequestsMayBeNull(t *testing.T) {
	e := newTestEnv(t, noAuth)
	visited := map[*openapi3.Schema]bool{}
	var visit func(path string, s *openapi3.Schema)
	visit = func(path string, s *openapi3.Schema) {
		if s == nil || visited[s] {
			return
		}
		visited[s] = true
		for name, property := range s.Properties {
			optional := !slices.Contains(s.Required, name) && name != "bins" // the released schema of bins is not nullable, and answers use it, too
			assert.False(t, optional && !property.Value.Nullable, "%s.%s: optional but not nullable", path, name)
			visit(path+"."+name, property.Value)
		}
		if s.Items != nil {
			visit(path+"[]", s.Items.Value)
		}
	}
	for _, op := range operations(e.spec) {
		if op.definition.RequestBody != nil && op.definition.OperationID != "SaveExperiment" { // this operation distinguishes null from a missing field
			visit(op.definition.OperationID, op.definition.RequestBody.Value.Content["application/json"].Schema.Value)
		}
	}
	assert.Greater(t, len(visited), 100)
}
