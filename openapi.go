// Package loadaware embeds openapi.yaml, the contract of the HTTP API.
package loadaware

import _ "embed" // for openapi.yaml

// OpenAPI is the text of openapi.yaml.
//
//go:embed openapi.yaml
var OpenAPI []byte
