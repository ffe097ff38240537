// Package loadaware embeds openapi.yaml, the contract of the HTTP API, for tests and scripts. The
// server embeds the compressed copy in package api.
package loadaware

import _ "embed" // for openapi.yaml

// OpenAPI is the text of openapi.yaml.
//
//go:embed openapi.yaml
var OpenAPI []byte
