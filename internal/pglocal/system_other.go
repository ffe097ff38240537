//go:build !linux

package pglocal

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// privilegedIdentities returns nil: only Linux has user namespaces and capabilities.
func privilegedIdentities(identity) []identity { return nil }

// dieWithParent does nothing, because only Linux has Pdeathsig. If the server survives, the next Start
// in the folder stops it.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// commandLine returns the program and the option -D of a process; nil if it does not exist. ps joins
// the arguments by spaces, so the argument of -D extends to the next option.
func commandLine(pid int) []string {
	text, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return nil
	}
	program, rest, _ := strings.Cut(strings.TrimSpace(string(text)), " -D ")
	dir, _, _ := strings.Cut(rest, " -c ")
	return []string{program, "-D", dir}
}
