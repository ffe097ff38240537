package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"

	"github.com/loadaware/loadaware/api"
)

// Spec returns openapi.yaml.
func (s *server) Spec(context.Context, api.SpecRequestObject) (api.SpecResponseObject, error) {
	spec, err := api.OpenAPI()
	return api.Spec200ApplicationYamlResponse{Body: bytes.NewReader(spec), ContentLength: int64(len(spec))}, err
}

// Docs returns openapi.yaml as an HTML page.
func (s *server) Docs(context.Context, api.DocsRequestObject) (api.DocsResponseObject, error) {
	page, err := api.DocsPage()
	return api.Docs200TextHTMLResponse{Body: bytes.NewReader(page), ContentLength: int64(len(page))}, err
}

// docsPolicy is the content security policy of every answer of the API. It permits the style of the docs page.
var docsPolicy = contentPolicy(api.DocsStyle)

// contentPolicy returns a content security policy that permits one style and nothing else: no
// scripts, images, frames, forms or other hosts.
func contentPolicy(style string) string {
	hash := sha256.Sum256([]byte(style))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}
