//go:build !linux

package pglocal

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// privileged returns nil: only Linux has user namespaces and capabilities.
func privileged(identity) []identity { return nil }

// dieWithParent does nothing: only Linux has Pdeathsig. The next Start in the folder stops a server
// that survived.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// commandLine returns the command line of a process; nil if it does not exist. ps joins the
// arguments by spaces, so the argument of -D extends to the next option.
func commandLine(pid int) []string {
	text, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return nil
	}
	program, rest, _ := strings.Cut(strings.TrimSpace(string(text)), " -D ")
	dir, _, _ := strings.Cut(rest, " -c ")
	return []string{program, "-D", dir}
}
