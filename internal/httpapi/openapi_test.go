package httpapi_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware"
)

// TestInlineSchemasMatchNamedSchemas compares the inline nullable properties of openapi.yaml with
// the named schemas of the same values. These properties are inline because client generators
// ignore `nullable` next to `allOf`.
func TestInlineSchemasMatchNamedSchemas(t *testing.T) {
	spec, err := openapi3.NewLoader().LoadFromData(loadaware.OpenAPI)
	require.NoError(t, err)
	named := map[string]string{
		"namespace": "ID", "run_id": "RunID", "map_index": "MapIndex", "try_number": "TryNumber", "prediction_id": "PredictionID",
		"memory_bytes": "MemoryBytes", "memory": "MemoryQuantity", "cpu_cores": "CPUCores", "cpu": "CPUQuantity",
		"memory_max_bytes": "MemoryBytes", "memory_max": "MemoryQuantity", "memory_sampled_bytes": "MemoryBytes",
		"max_memory_bytes": "MemoryBytes", "max_memory": "MemoryQuantity", "cpu_max_cores": "CPUCores", "duration_seconds": "Seconds",
		"floor_bytes": "MemoryBytes", "floor": "MemoryQuantity", "cap_bytes": "MemoryBytes", "cap": "MemoryQuantity",
		"mode": "Mode", "grid": "Grid", "reason": "Outcome",
	}
	requests := []string{"Resources", "TaskKey", "Try", "PredictRequest", "Observation", "LiftRequest", "FailedMemory", "PolicyRequest"}
	compared := map[string]bool{}
	for _, request := range requests {
		for name, ref := range spec.Components.Schemas[request].Value.Properties {
			if named[name] == "" || ref.Ref != "" {
				continue
			}
			compared[name] = true
			want := constraints(spec.Components.Schemas[named[name]].Value)
			if len(want.Enum) > 0 {
				want.Enum = append(slices.Clone(want.Enum), nil)
			}
			assert.Equal(t, want, constraints(ref.Value), "%s.%s and %s", request, name, named[name])
			assert.True(t, ref.Value.Nullable, "%s.%s", request, name)
		}
	}
	assert.ElementsMatch(t, slices.Collect(maps.Keys(named)), slices.Collect(maps.Keys(compared)))
}

// constraints returns the part of a schema that decides which values other than null are valid.
func constraints(s *openapi3.Schema) openapi3.Schema {
	return openapi3.Schema{
		Type: s.Type, Format: s.Format, Enum: s.Enum, Pattern: s.Pattern,
		MinLength: s.MinLength, MaxLength: s.MaxLength, Min: s.Min, Max: s.Max,
	}
}

// TestNullableRequiresAType requires that every schema with `nullable` has a `type` and is not a
// union, because OpenAPI 3.0 does not define `nullable` for other schemas.
func TestNullableRequiresAType(t *testing.T) {
	spec, err := openapi3.NewLoader().LoadFromData(loadaware.OpenAPI)
	require.NoError(t, err)
	visited := 0
	var visit func(path string, ref *openapi3.SchemaRef)
	visit = func(path string, ref *openapi3.SchemaRef) {
		if ref == nil || ref.Ref != "" {
			return
		}
		s := ref.Value
		visited++
		union := len(s.AllOf) + len(s.AnyOf) + len(s.OneOf)
		assert.False(t, s.Nullable && (s.Type == nil || union > 0), "%s: nullable without a type, or with a union", path)
		if s.Nullable && len(s.Enum) > 0 {
			assert.Contains(t, s.Enum, nil, "%s: a nullable enumeration without null", path)
		}
		for name, p := range s.Properties {
			visit(path+"."+name, p)
		}
		visit(path+"[]", s.Items)
		visit(path+"{}", s.AdditionalProperties.Schema)
	}
	for name, ref := range spec.Components.Schemas {
		visit(name, ref)
	}
	assert.Greater(t, visited, 200)
}
