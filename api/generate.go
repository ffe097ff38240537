// Package api contains the wire format: the types and the chi server interface that oapi-codegen generates from
// openapi.yaml, the options of the strict JSON decoder, readers of metadata and usage, and openapi.yaml as text and
// as an HTML page.
package api

//go:generate go tool oapi-codegen -config config.yaml ../openapi.yaml
//go:generate go run ./docspage ../openapi.yaml docs.gen.html
//go:generate go run ./compress docs.gen.html docs.gen.html.gz
//go:generate go run ./compress ../openapi.yaml openapi.gen.yaml.gz
