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

// dieWithParent does nothing: of the other systems only FreeBSD has Pdeathsig, and this package does not use it there. If
// the server survives its parent, the next Start in the folder stops the server.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// commandLine returns the program and the option -D of a process; nil if the process does not exist. ps joins the arguments by
// spaces, and a folder may contain spaces. Everything between -D and the first -c is the folder, because Server.settings
// passes -D first and then only -c.
func commandLine(pid int) []string {
	text, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return nil
	}
	program, rest, _ := strings.Cut(strings.TrimSpace(string(text)), " -D ")
	dir, _, _ := strings.Cut(rest, " -c ")
	return []string{program, "-D", dir}
}
