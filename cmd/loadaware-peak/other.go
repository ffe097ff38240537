//go:build !linux

package main

import (
	"fmt"
	"os"
)

// message names the file of the report. The report is written only on Linux.
type message struct {
	path   string
	create bool
}

// measure only prints a warning and returns; run then executes the command without the wrapper.
func measure(string, []string, *message) {
	fmt.Fprintln(os.Stderr, "loadaware-peak: not measured: this needs the cgroups or /proc of Linux")
}
