package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"

	"github.com/loadaware/loadaware"
	"github.com/loadaware/loadaware/api"
)

// Spec returns openapi.yaml.
func (s *server) Spec(context.Context, api.SpecRequestObject) (api.SpecResponseObject, error) {
	return api.Spec200ApplicationYamlResponse{Body: bytes.NewReader(loadaware.OpenAPI), ContentLength: int64(len(loadaware.OpenAPI))}, nil
}

// Docs returns openapi.yaml as an HTML page.
func (s *server) Docs(context.Context, api.DocsRequestObject) (api.DocsResponseObject, error) {
	return api.Docs200TextHTMLResponse{Body: bytes.NewReader(api.DocsPage), ContentLength: int64(len(api.DocsPage))}, nil
}

var docsPolicy = contentPolicy(api.DocsStyle)

// contentPolicy returns a content security policy that permits one style and nothing else: no
// scripts, images, frames, forms or other hosts.
func contentPolicy(style string) string {
	hash := sha256.Sum256([]byte(style))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}
