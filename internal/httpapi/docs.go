package httpapi

import (
	"bytes"
	"context"
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
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/loadaware/loadaware"
	"github.com/loadaware/loadaware/api"
)

//go:embed docs.html
var docsTemplate string

//go:embed docs.css
var docsStyle string

// docsPage is the page of /docs, rendered once at start, with its content security policy.
type docsPage struct {
	html   []byte
	policy string
}

// newDocsPage renders openapi.yaml. It panics on an invalid file: the file is embedded, so
// every test would fail.
func newDocsPage() docsPage {
	spec, err := openapi3.NewLoader().LoadFromData(loadaware.OpenAPI)
	if err != nil {
		panic(err)
	}
	t := template.Must(template.New("docs").Funcs(template.FuncMap{
		"markdown": renderMarkdown, "type": typeLink, "limits": describeLimits, "json": indentJSON,
	}).Parse(docsTemplate))
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{"Info": spec.Info, "Tags": groupByTag(spec), "Schemas": listSchemas(spec), "Style": template.CSS(docsStyle)})
	if err != nil {
		panic(err)
	}
	return docsPage{html: out.Bytes(), policy: contentPolicy(docsStyle)}
}

// Spec returns openapi.yaml.
func (s *server) Spec(context.Context, api.SpecRequestObject) (api.SpecResponseObject, error) {
	return api.Spec200ApplicationYamlResponse{Body: bytes.NewReader(loadaware.OpenAPI), ContentLength: int64(len(loadaware.OpenAPI))}, nil
}

// Docs returns openapi.yaml as an HTML page.
func (s *server) Docs(context.Context, api.DocsRequestObject) (api.DocsResponseObject, error) {
	return api.Docs200TextHTMLResponse{Body: bytes.NewReader(s.docs.html), ContentLength: int64(len(s.docs.html))}, nil
}

// markdown renders CommonMark with tables. It omits raw HTML.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table))

func renderMarkdown(text string) (template.HTML, error) {
	var out bytes.Buffer
	err := markdown.Convert([]byte(text), &out)
	return template.HTML(out.String()), err
}

// contentPolicy returns a content security policy that permits one style and nothing else: no
// scripts, images, frames, forms or other hosts.
func contentPolicy(style string) string {
	hash := sha256.Sum256([]byte(style))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}

// tagGroup is one tag with its operations.
type tagGroup struct {
	Tag        *openapi3.Tag
	Operations []operation
}

// operation is one method of one path.
type operation struct {
	Method, Path string
	*openapi3.Operation
	Params openapi3.Parameters // of the path and of the operation
	Roles  string
}

// groupByTag groups the operations by tag, and sorts each group by path and method.
func groupByTag(spec *openapi3.T) []tagGroup {
	var out []tagGroup
	for _, tag := range spec.Tags {
		group := tagGroup{Tag: tag}
		for _, p := range spec.Paths.InMatchingOrder() {
			item := spec.Paths.Value(p)
			for method, op := range item.Operations() {
				if slices.Contains(op.Tags, tag.Name) {
					params := slices.Concat(item.Parameters, op.Parameters)
					group.Operations = append(group.Operations, operation{method, p, op, params, describeRoles(op)})
				}
			}
		}
		slices.SortFunc(group.Operations, func(a, b operation) int {
			return strings.Compare(a.Path+methodOrder(a.Method), b.Path+methodOrder(b.Method))
		})
		out = append(out, group)
	}
	return out
}

// methodOrder sorts POST first, because it is the usual form of a path.
func methodOrder(method string) string {
	if method == http.MethodPost {
		return " 0"
	}
	return " " + method
}

// describeRoles lists the roles that may call op.
func describeRoles(op *openapi3.Operation) string {
	if op.Security != nil && len(*op.Security) == 0 {
		return "none (public)"
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

// namedSchema is one schema of openapi.yaml.
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

func listSchemas(spec *openapi3.T) []namedSchema {
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

// typeLink returns the type of a schema, with a link to a named schema.
func typeLink(ref *openapi3.SchemaRef) template.HTML {
	switch {
	case ref == nil || ref.Value == nil:
		return ""
	case ref.Ref != "":
		name := template.HTMLEscapeString(path.Base(ref.Ref))
		return template.HTML(`<a href="#schema-` + name + `">` + name + `</a>`)
	case len(ref.Value.AllOf) == 1:
		return typeLink(ref.Value.AllOf[0])
	case ref.Value.Type.Is("array"):
		return "array of " + typeLink(ref.Value.Items)
	}
	return template.HTML(template.HTMLEscapeString(strings.Join(ref.Value.Type.Slice(), " or ")))
}

// describeLimits lists the constraints of a schema beyond its type.
func describeLimits(s *openapi3.Schema) string {
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
		add("nullable")
	}
	return strings.Join(parts, "; ")
}

func indentJSON(v any) (string, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return string(b), err
}
