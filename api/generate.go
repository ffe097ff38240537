// Package api contains the types and the chi server interface that oapi-codegen generates from
// openapi.yaml, the one type that it cannot generate, and the options of the strict JSON decoder.
//
// It knows only the wire format.
package api

//go:generate go tool oapi-codegen -config config.yaml ../openapi.yaml
//go:generate go run ./docspage ../openapi.yaml docs.gen.html
