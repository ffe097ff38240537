package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/loadaware/loadaware"
)

// operation is a method on a path of openapi.yaml.
type operation struct {
	name   string // "POST /predict"
	method string
	path   string // with {parameters}
	spec   *openapi3.Operation
	body   *openapi3.Schema // schema of the request body; nil without a body
	valid  []any            // bodies of the examples in openapi.yaml
	weight int              // relative frequency of the operation among the requests
}

func (op *operation) pathParameters() []string {
	var found []string
	for _, match := range pathParameter.FindAllStringSubmatch(op.path, -1) {
		found = append(found, match[1])
	}
	return found
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// weights lists the operations that are drawn less often than the others, which have the weight 8: those that change a whole
// task, and the documents and probes of the server.
var weights = map[string]int{
	"TrainTask": 1, "DeleteTask": 1, "RenameTask": 2, "Spec": 1, "Docs": 1, "Health": 1, "Ready": 1,
}

// operations returns the operations of openapi.yaml, sorted by path and method.
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

// check returns the fault of an answer; nil if it conforms to the contract.
func (op *operation) check(sent *request, got *answer) error {
	switch {
	case sent.illegal && (got.noAnswer || got.header.Get("X-Request-Id") == ""):
		return checkIllegal(got)
	case got.noAnswer:
		return fmt.Errorf("no answer: %w", got.err)
	case got.status >= 500:
		return fmt.Errorf("%d: %.300s", got.status, got.body)
	case got.header.Get("X-Request-Id") == "":
		return fmt.Errorf("%d without an X-Request-Id: %.300s", got.status, got.body)
	case got.status >= 400:
		if err := checkProblem(sent, got); err != nil {
			return err
		}
	}
	if sent.method == http.MethodHead || !sent.routed {
		return nil
	}
	if err := op.checkResponse(got); err != nil {
		return fmt.Errorf("%d does not conform to the contract: %w: %.300s", got.status, err, got.body)
	}
	if got.status < 300 && op.body != nil && !strings.HasSuffix(op.path, "/batch") {
		return op.checkAccepted(sent.body)
	}
	return nil
}

// checkIllegal checks the answer to an illegal request, such as one that is not valid HTTP or has too large a head. The
// server may close the connection, or the HTTP library may reject the request in plain text before the service sees it.
func checkIllegal(got *answer) error {
	if got.noAnswer || got.status >= 400 && got.status < 500 || got.status == http.StatusNotImplemented || got.status == http.StatusHTTPVersionNotSupported {
		return nil
	}
	return fmt.Errorf("a request that is not valid HTTP, or whose head is too large, got %d: %.300s", got.status, got.body)
}

// checkProblem checks the media type, the members of the problem (RFC 9457), and the headers of an error answer.
func checkProblem(sent *request, got *answer) error {
	if sent.method == http.MethodHead {
		return nil // HEAD has no body
	}
	var p struct {
		Type      string
		Status    int
		Detail    string
		RequestID string `json:"request_id"`
		Errors    []struct{ Field, Detail string }
	}
	if media := got.header.Get("Content-Type"); media != "application/problem+json" {
		return fmt.Errorf("%d with content type %q: %.300s", got.status, media, got.body)
	}
	if err := json.Unmarshal(got.body, &p); err != nil {
		return fmt.Errorf("%d with a body that is not JSON: %w: %.300s", got.status, err, got.body)
	}
	unnamed := got.status == http.StatusUnprocessableEntity && len(p.Errors) == 0
	for _, e := range p.Errors {
		unnamed = unnamed || e.Field == "" || e.Detail == ""
	}
	switch {
	case p.Status != got.status || p.Detail == "" || !strings.HasPrefix(p.Type, "urn:loadaware:problem:"):
		return fmt.Errorf("%d with an inconsistent problem: %.300s", got.status, got.body)
	case p.RequestID != got.header.Get("X-Request-Id"):
		return fmt.Errorf("%d with a request_id that differs from the header: %.300s", got.status, got.body)
	case unnamed:
		return fmt.Errorf("%d without the field or the detail of an error: %.300s", got.status, got.body)
	case got.status == http.StatusMethodNotAllowed && got.header.Get("Allow") == "":
		return fmt.Errorf("405 without Allow: %.300s", got.body)
	case got.status == http.StatusUnauthorized && got.header.Get("WWW-Authenticate") == "":
		return fmt.Errorf("401 without WWW-Authenticate: %.300s", got.body)
	}
	return nil
}

func (op *operation) checkResponse(got *answer) error {
	response := op.spec.Responses.Status(got.status)
	if response == nil {
		response = op.spec.Responses.Default()
	}
	if response == nil {
		if got.status >= 400 {
			return nil // operations such as /healthz and /docs list no errors; checkProblem has checked the answer
		}
		return fmt.Errorf("the operation lists no response with status %d", got.status)
	}
	if len(response.Value.Content) == 0 {
		if len(got.body) > 0 {
			return fmt.Errorf("the operation lists no response body for status %d", got.status)
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
		return fmt.Errorf("the operation lists no content type %q", name)
	case !strings.HasSuffix(name, "json"):
		return nil // the contract has no schema for text
	}
	var value any
	if err := json.Unmarshal(got.body, &value); err != nil {
		return err
	}
	return media.Schema.Value.VisitJSON(value, openapi3.VisitAsResponse())
}

// checkAccepted checks that the contract allows a body that the service accepted.
func (op *operation) checkAccepted(body []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	var value any
	if err := decoder.Decode(&value); err != nil {
		return fmt.Errorf("accepted a body that is not JSON: %w", err)
	}
	if err := op.body.VisitJSON(value, openapi3.VisitAsRequest()); err != nil {
		return fmt.Errorf("accepted a body that the contract does not allow: %w", err)
	}
	return nil
}
