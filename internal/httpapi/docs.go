package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // for the template
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/loadaware/loadaware"
)

//go:embed docs.html
var docsTemplate string

//go:embed docs.css
var docsStyle string

// page is /docs, rendered once at start, and the content security policy under
// which it is shown: no scripts, no other hosts, this one style.
type page struct {
	html   []byte
	policy string
}

// newPage renders openapi.yaml. It panics on a contract that cannot be read: the
// contract is compiled in, and every test would show it.
func newPage() page {
	spec, err := openapi3.NewLoader().LoadFromData(loadaware.OpenAPI)
	if err != nil {
		panic(err)
	}
	t := template.Must(template.New("docs").Funcs(template.FuncMap{
		"markdown": markdown, "type": typeOf, "limits": limitsOf, "json": indented,
	}).Parse(docsTemplate))
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{"Info": spec.Info, "Tags": chapters(spec), "Schemas": schemas(spec), "Style": template.CSS(docsStyle)})
	if err != nil {
		panic(err)
	}
	return page{html: out.Bytes(), policy: contentPolicy(docsStyle)}
}

// contentPolicy is the content security policy of a page: this one style, and no scripts,
// images, frames, forms or other hosts.
func contentPolicy(style string) string {
	hash := sha256.Sum256([]byte(style))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}

// chapter is one tag with its operations.
type chapter struct {
	Tag        *openapi3.Tag
	Operations []operation
}

// operation is one method of one path.
type operation struct {
	Method, Path string
	*openapi3.Operation
	Params openapi3.Parameters // the path's and its own
	Roles  string
}

// chapters sorts the operations by tag, and in a tag by path and method.
func chapters(spec *openapi3.T) []chapter {
	var out []chapter
	for _, tag := range spec.Tags {
		c := chapter{Tag: tag}
		for _, p := range spec.Paths.InMatchingOrder() {
			item := spec.Paths.Value(p)
			for method, op := range item.Operations() {
				if slices.Contains(op.Tags, tag.Name) {
					params := slices.Concat(item.Parameters, op.Parameters)
					c.Operations = append(c.Operations, operation{method, p, op, params, rolesOf(op)})
				}
			}
		}
		slices.SortFunc(c.Operations, func(a, b operation) int {
			return strings.Compare(a.Path+order(a.Method), b.Path+order(b.Method))
		})
		out = append(out, c)
	}
	return out
}

// order puts the method that people look for first first.
func order(method string) string {
	if method == http.MethodPost {
		return " 0"
	}
	return " " + method
}

// rolesOf says who may call op, in words.
func rolesOf(op *openapi3.Operation) string {
	if op.Security != nil && len(*op.Security) == 0 {
		return "anybody"
	}
	roles := []string{"admin"}
	listed, _ := op.Extensions["x-roles"].([]any)
	for _, role := range listed {
		if role != "admin" {
			roles = append(roles, fmt.Sprint(role))
		}
	}
	return strings.Join(roles, ", ")
}

// named is one schema of the contract.
type namedSchema struct {
	Name   string
	Schema *openapi3.Schema
	Fields []field
}

type field struct {
	Name     string
	Required bool
	Ref      *openapi3.SchemaRef
}

func schemas(spec *openapi3.T) []namedSchema {
	var out []namedSchema
	for name, ref := range spec.Components.Schemas {
		s := namedSchema{Name: name, Schema: ref.Value}
		for prop, p := range ref.Value.Properties {
			s.Fields = append(s.Fields, field{prop, slices.Contains(ref.Value.Required, prop), p})
		}
		slices.SortFunc(s.Fields, func(a, b field) int { return strings.Compare(a.Name, b.Name) })
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b namedSchema) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// typeOf names the type of a schema, linked where it has a name.
func typeOf(ref *openapi3.SchemaRef) template.HTML {
	switch {
	case ref == nil || ref.Value == nil:
		return ""
	case ref.Ref != "":
		name := template.HTMLEscapeString(path.Base(ref.Ref))
		return template.HTML(`<a href="#schema-` + name + `">` + name + `</a>`)
	case len(ref.Value.AllOf) == 1:
		return typeOf(ref.Value.AllOf[0])
	case ref.Value.Type.Is("array"):
		return "list of " + typeOf(ref.Value.Items)
	}
	return template.HTML(template.HTMLEscapeString(strings.Join(ref.Value.Type.Slice(), " or ")))
}

// limitsOf says in words what a schema demands beyond its type.
func limitsOf(s *openapi3.Schema) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if len(s.Enum) > 0 {
		add("one of %s", strings.Trim(fmt.Sprint(s.Enum), "[]"))
	}
	if s.Min != nil {
		add("at least %v", *s.Min)
	}
	if s.Max != nil {
		add("at most %v", *s.Max)
	}
	if s.MaxLength != nil {
		add("at most %d characters", *s.MaxLength)
	}
	if s.MaxItems != nil {
		add("at most %d items", *s.MaxItems)
	}
	if s.Default != nil {
		add("default %v", s.Default)
	}
	if s.Nullable {
		add("may be null")
	}
	return strings.Join(parts, "; ")
}

func indented(v any) (string, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return string(b), err
}
