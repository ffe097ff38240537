package httpapi_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware"
)

// TestInlineSchemasMatchNamedSchemas compares the inline nullable properties of requests with the named schemas of the same
// values. These properties are inline because client generators ignore `nullable` next to `allOf`.
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

// constraints returns the constraints of a scalar schema, without nullable.
func constraints(s *openapi3.Schema) openapi3.Schema {
	return openapi3.Schema{
		Type: s.Type, Format: s.Format, Enum: s.Enum, Pattern: s.Pattern,
		MinLength: s.MinLength, MaxLength: s.MaxLength, Min: s.Min, Max: s.Max,
	}
}

// TestNullableRequiresAType requires that every schema with `nullable` has a `type` and is not a
// union, because OpenAPI 3.0 does not define `nullable` for other schemas. It also requires that a nullable
// enumeration contains null.
func TestNullableRequiresAType(t *testing.T) {
	spec, err := openapi3.NewLoader().LoadFromData(loadaware.OpenAPI)
	require.NoError(t, err)
	named, all := 0, 0
	check := func(path string, s *openapi3.Schema) {
		all++
		if strings.HasPrefix(path, "schemas.") {
			named++
		}
		isUnion := len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0
		assert.False(t, s.Nullable && (s.Type == nil || isUnion), "%s: nullable without a type, or with a union", path)
		if s.Nullable && len(s.Enum) > 0 {
			assert.Contains(t, s.Enum, nil, "%s: a nullable enumeration without null", path)
		}
	}
	schemaVisitor(check).spec(spec)
	assert.Greater(t, named, 200, "the visitor must find the schemas in components/schemas")
	assert.Greater(t, all-named, 30, "the visitor must find the schemas outside components/schemas")
}

func TestSchemaVisitorFindsEverySchema(t *testing.T) {
	spec, err := openapi3.NewLoader().LoadFromData([]byte(`
openapi: 3.0.3
info: {title: t, version: "1"}
components:
  schemas:
    Object: {properties: {field: {type: string}}, additionalProperties: {type: string}}
    Array: {items: {type: string}}
    Union: {allOf: [{type: string}], anyOf: [{type: string}], oneOf: [{type: string}], not: {type: string}}
    Reference: {properties: {field: {$ref: '#/components/schemas/Array'}}}
  parameters: {P: {name: p, in: query, schema: {type: string}}}
  headers: {H: {schema: {type: string}}}
  requestBodies: {B: {content: {application/json: {schema: {type: string}}}}}
  responses: {R: {description: r, content: {application/json: {schema: {type: string}}}, headers: {h: {schema: {type: string}}}}}
paths:
  /a:
    parameters: [{name: q, in: query, schema: {type: string}}]
    get:
      parameters: [{name: r, in: query, content: {application/json: {schema: {type: string}}}}]
      requestBody: {content: {application/json: {schema: {type: string}}}}
      responses: {"200": {description: ok, content: {application/json: {schema: {type: string}}}}}
`))
	require.NoError(t, err)
	var paths []string
	schemaVisitor(func(path string, _ *openapi3.Schema) { paths = append(paths, path) }).spec(spec)
	assert.ElementsMatch(t, []string{
		"schemas.Object", "schemas.Object.field", "schemas.Object{}", "schemas.Array", "schemas.Array[]", "schemas.Reference",
		"schemas.Union", "schemas.Union.allOf[0]", "schemas.Union.anyOf[0]", "schemas.Union.oneOf[0]", "schemas.Union.not",
		"parameters.P", "headers.H", "requestBodies.B application/json", "responses.R application/json", "responses.R h",
		"/a q", "GET /a r application/json", "GET /a body application/json", "GET /a 200 application/json",
	}, paths)
}

// schemaVisitor is called for each schema that an OpenAPI document defines, with a path that names the
// schema in messages. A reference defines no schema.
type schemaVisitor func(path string, s *openapi3.Schema)

func (visit schemaVisitor) spec(spec *openapi3.T) {
	for name, ref := range spec.Components.Schemas {
		visit.schema("schemas."+name, ref)
	}
	for name, ref := range spec.Components.Parameters {
		visit.parameter("parameters."+name, ref)
	}
	for name, ref := range spec.Components.Headers {
		visit.header("headers."+name, ref)
	}
	for name, ref := range spec.Components.RequestBodies {
		visit.body("requestBodies."+name, ref)
	}
	for name, ref := range spec.Components.Responses {
		visit.response("responses."+name, ref)
	}
	for path, item := range spec.Paths.Map() {
		for _, ref := range item.Parameters {
			visit.parameter(path+" "+ref.Value.Name, ref)
		}
		for method, op := range item.Operations() {
			name := method + " " + path
			for _, ref := range op.Parameters {
				visit.parameter(name+" "+ref.Value.Name, ref)
			}
			visit.body(name+" body", op.RequestBody)
			for status, ref := range op.Responses.Map() {
				visit.response(name+" "+status, ref)
			}
		}
	}
}

func (visit schemaVisitor) parameter(path string, ref *openapi3.ParameterRef) {
	if ref.Ref == "" {
		visit.schema(path, ref.Value.Schema)
		visit.content(path, ref.Value.Content)
	}
}

func (visit schemaVisitor) header(path string, ref *openapi3.HeaderRef) {
	if ref.Ref == "" {
		visit.schema(path, ref.Value.Schema)
		visit.content(path, ref.Value.Content)
	}
}

func (visit schemaVisitor) body(path string, ref *openapi3.RequestBodyRef) {
	if ref != nil && ref.Ref == "" {
		visit.content(path, ref.Value.Content)
	}
}

func (visit schemaVisitor) response(path string, ref *openapi3.ResponseRef) {
	if ref.Ref != "" {
		return
	}
	visit.content(path, ref.Value.Content)
	for name, header := range ref.Value.Headers {
		visit.header(path+" "+name, header)
	}
}

func (visit schemaVisitor) content(path string, content openapi3.Content) {
	for media, body := range content {
		visit.schema(path+" "+media, body.Schema)
	}
}

func (visit schemaVisitor) schema(path string, ref *openapi3.SchemaRef) {
	if ref == nil || ref.Ref != "" {
		return
	}
	s := ref.Value
	visit(path, s)
	for name, property := range s.Properties {
		visit.schema(path+"."+name, property)
	}
	visit.schema(path+"[]", s.Items)
	visit.schema(path+"{}", s.AdditionalProperties.Schema)
	visit.schema(path+".not", s.Not)
	for union, members := range map[string]openapi3.SchemaRefs{"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf} {
		for i, member := range members {
			visit.schema(fmt.Sprintf("%s.%s[%d]", path, union, i), member)
		}
	}
}
