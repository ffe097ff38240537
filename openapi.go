// Package loadaware carries the contract that stands at the top of the house.
package loadaware

import _ "embed" // for the file beside this one

// OpenAPI is openapi.yaml as it was written.
//
//go:embed openapi.yaml
var OpenAPI []byte
