package pglocal

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// capDACOverride lets a process pass and use folders that are closed to its user
// (capabilities(7)).
const capDACOverride = 1

// widened are the footings to try when f cannot reach the data.
func widened(f footing) []footing {
	namespace := footing{
		name: "root behind a user namespace", // it sees itself as f, and the kernel sees root
		attr: syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: f.uid, HostID: 0, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: f.gid, HostID: 0, Size: 1}},
		},
	}
	override := f
	override.name = f.name + " with CAP_DAC_OVERRIDE"
	override.attr.AmbientCaps = []uintptr{capDACOverride}
	return []footing{namespace, override}
}

// dieWithParent has the kernel signal the child when the thread that started it
// ends: that thread must live as long as the child.
func dieWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }

// commandLine is what a process was started with; nil if there is no such process
// or it has ended and waits to be reaped.
func commandLine(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimRight(text, "\x00")), "\x00")
}
