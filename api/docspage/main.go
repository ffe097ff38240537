// Command docspage renders openapi.yaml as the HTML page that the server shows at /docs.
//
//	go run ./docspage ../openapi.yaml docs.gen.html   # by go generate ./api
package main

import (
	"bytes"
	_ "embed" // for the template
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

//go:embed docs.html
var docsTemplate string

//go:embed docs.css
var docsStyle string

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: docspage OPENAPI.YAML PAGE.HTML")
		os.Exit(2)
	}
	if err := render(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "docspage:", err)
		os.Exit(1)
	}
}

func render(specFile, page string) error {
	spec, err := openapi3.NewLoader().LoadFromFile(specFile)
	if err != nil {
		return err
	}
	t, err := template.New("docs").Funcs(template.FuncMap{
		"markdown": renderMarkdown, "type": typeLink, "limits": describeLimits, "json": indentJSON,
	}).Parse(docsTemplate)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{"Info": spec.Info, "Tags": groupByTag(spec), "Schemas": listSchemas(spec), "Style": template.CSS(docsStyle)})
	if err != nil {
		return err
	}
	return os.WriteFile(page, out.Bytes(), 0o644)
}

// markdown omits raw HTML.
var markdown = goldmark.New(goldmark.WithExtensions(extension.Table))

func renderMarkdown(text string) (template.HTML, error) {
	var out bytes.Buffer
	err := markdown.Convert([]byte(text), &out)
	return template.HTML(out.String()), err
}

type tagGroup struct {
	Tag        *openapi3.Tag
	Operations []operation
}

type operation struct {
	Method, Path string
	*openapi3.Operation
	Params openapi3.Parameters // of the path and of the operation
	Roles  string
}

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

// methodOrder returns a sort key that puts POST before the other methods of a path.
func methodOrder(method string) string {
	if method == http.MethodPost {
		return " 0"
	}
	return " " + method
}

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
