// Package api is the contract in Go: the types and the chi server interface that
// oapi-codegen makes of openapi.yaml, and the one type it cannot say.
//
// It knows the wire and nothing behind it.
package api

//go:generate go tool oapi-codegen -config config.yaml ../openapi.yaml
