// Package demo holds the demo history: 150 runs of a synthetic pricing pipeline of
// six tasks, made by scripts/demodata. The server imports it with `serve --demo`,
// and tests learn from it.
package demo

import _ "embed"

// CSV is the history as a gzip-compressed CSV, for package trace to read.
//
//go:embed pricing.csv.gz
var CSV []byte
