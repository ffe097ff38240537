package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/loadaware/loadaware"
)

// operation is one line of openapi.yaml: a method on a path.
type operation struct {
	name   string // "POST /predict"
	method string
	path   string // with its {names}
	spec   *openapi3.Operation
	body   *openapi3.Schema // of the request; nil where none is read
	valid  []any            // example bodies
	weight int              // how often it is drawn
}

// weights are those of operations that are not drawn eight times: what changes a
// task at large, and pages that are always the same.
var weights = map[string]int{
	"TrainTask": 1, "DeleteTask": 1, "RenameTask": 2, "Spec": 1, "Docs": 1, "Health": 1, "Ready": 1,
}

// operations reads openapi.yaml, in the order of paths and methods.
func operations() ([]operation, error) {
	spec, err := openapi3.NewLoader().LoadFromData(loadaware.OpenAPI)
	if err != nil {
		return nil, err
	}
	for _, schema := range spec.Components.Schemas {
		always, _ := schema.Value.Extensions["x-always-present"].([]any)
		for _, property := range always {
			schema.Value.Required = append(schema.Value.Required, fmt.Sprint(property))
		}
	}
	if err := spec.Validate(context.Background()); err != nil {
		return nil, err
	}
	var all []operation
	paths := spec.Paths.Map()
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		methods := paths[path].Operations()
		for _, method := range slices.Sorted(maps.Keys(methods)) {
			op := operation{name: method + " " + path, method: method, path: path, spec: methods[method], weight: 8}
			if w, ok := weights[op.spec.OperationID]; ok {
				op.weight = w
			}
			if op.spec.RequestBody != nil {
				media := op.spec.RequestBody.Value.Content.Get("application/json")
				op.body = media.Schema.Value
				for _, name := range slices.Sorted(maps.Keys(media.Examples)) {
					op.valid = append(op.valid, media.Examples[name].Value.Value)
				}
			}
			all = append(all, op)
		}
	}
	return all, nil
}

// judge holds an answer to the contract. A fault is what it returns.
func (op *operation) judge(sent *request, got *answer) error {
	switch {
	case sent.illegal && (got.hungUp || got.header.Get("X-Request-Id") == ""):
		return illegal(got)
	case got.hungUp:
		return fmt.Errorf("no answer: %w", got.err)
	case got.status >= 500:
		return fmt.Errorf("%d: %.300s", got.status, got.body)
	case got.header.Get("X-Request-Id") == "":
		return fmt.Errorf("%d without an X-Request-Id: %.300s", got.status, got.body)
	case got.status >= 400:
		if err := problem(sent, got); err != nil {
			return err
		}
	}
	if sent.method == http.MethodHead || !sent.routed {
		return nil
	}
	if err := op.conforms(got); err != nil {
		return fmt.Errorf("%d, which the contract does not know: %w: %.300s", got.status, err, got.body)
	}
	if got.status < 300 && op.body != nil && !strings.HasSuffix(op.path, "/batch") {
		return op.mayAccept(sent.body)
	}
	return nil
}

// illegal is what may become of a request that is not HTTP: the connection's end,
// or a refusal in plain text by the HTTP library, ahead of the service.
func illegal(got *answer) error {
	if got.hungUp || got.status >= 400 && got.status < 500 || got.status == http.StatusNotImplemented || got.status == http.StatusHTTPVersionNotSupported {
		return nil
	}
	return fmt.Errorf("a request that is not HTTP was answered %d: %.300s", got.status, got.body)
}

// problem holds a refusal to RFC 9457 and to what openapi.yaml says of errors.
func problem(sent *request, got *answer) error {
	if sent.method == http.MethodHead {
		return nil // it has no body
	}
	var p struct {
		Type      string
		Status    int
		Detail    string
		RequestID string `json:"request_id"`
		Errors    []struct{ Field, Detail string }
	}
	if media := got.header.Get("Content-Type"); media != "application/problem+json" {
		return fmt.Errorf("%d as %q: %.300s", got.status, media, got.body)
	}
	if err := json.Unmarshal(got.body, &p); err != nil {
		return fmt.Errorf("%d whose body is not JSON: %w: %.300s", got.status, err, got.body)
	}
	unnamed := got.status == http.StatusUnprocessableEntity && len(p.Errors) == 0
	for _, e := range p.Errors {
		unnamed = unnamed || e.Field == "" || e.Detail == ""
	}
	switch {
	case p.Status != got.status || p.Detail == "" || !strings.HasPrefix(p.Type, "urn:loadaware:problem:"):
		return fmt.Errorf("%d whose problem says other: %.300s", got.status, got.body)
	case p.RequestID != got.header.Get("X-Request-Id"):
		return fmt.Errorf("%d whose request_id is not that of the header: %.300s", got.status, got.body)
	case unnamed:
		return fmt.Errorf("422 that names no field: %.300s", got.body)
	case got.status == http.StatusMethodNotAllowed && got.header.Get("Allow") == "":
		return fmt.Errorf("405 without Allow: %.300s", got.body)
	case got.status == http.StatusUnauthorized && got.header.Get("WWW-Authenticate") == "":
		return fmt.Errorf("401 without WWW-Authenticate: %.300s", got.body)
	}
	return nil
}

// conforms holds an answer to the operation's responses.
func (op *operation) conforms(got *answer) error {
	response := op.spec.Responses.Status(got.status)
	if response == nil {
		response = op.spec.Responses.Default()
	}
	if response == nil {
		if got.status >= 400 {
			return nil // service pages list no errors; problem has looked at it
		}
		return fmt.Errorf("no such status")
	}
	if len(response.Value.Content) == 0 {
		if len(got.body) > 0 {
			return fmt.Errorf("a body where none is listed")
		}
		return nil
	}
	name, _, err := mime.ParseMediaType(got.header.Get("Content-Type"))
	if err != nil {
		return err
	}
	media := response.Value.Content[name]
	switch {
	case media == nil:
		return fmt.Errorf("content type %q", name)
	case !strings.HasSuffix(name, "json"):
		return nil // a text for people
	}
	var value any
	if err := json.Unmarshal(got.body, &value); err != nil {
		return err
	}
	return media.Schema.Value.VisitJSON(value, openapi3.VisitAsResponse())
}

// mayAccept reports a body that was taken although the contract refuses it.
func (op *operation) mayAccept(body []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	var value any
	if err := decoder.Decode(&value); err != nil {
		return fmt.Errorf("accepted, and is not JSON: %w", err)
	}
	if err := op.body.VisitJSON(value, openapi3.VisitAsRequest()); err != nil {
		return fmt.Errorf("accepted, and the contract refuses it: %w", err)
	}
	return nil
}
