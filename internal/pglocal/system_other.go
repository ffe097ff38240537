//go:build !linux

package pglocal

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// widened: only Linux has namespaces and capabilities.
func widened(footing) []footing { return nil }

// dieWithParent: only Linux can. A server that outlives us is stopped by the next
// Start in its folder.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// commandLine is what a process was started with; nil if there is no such process.
// ps joins the arguments by spaces, so the folder that follows -D is taken up to
// the next option.
func commandLine(pid int) []string {
	text, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return nil
	}
	program, rest, _ := strings.Cut(strings.TrimSpace(string(text)), " -D ")
	dir, _, _ := strings.Cut(rest, " -c ")
	return []string{program, "-D", dir}
}
