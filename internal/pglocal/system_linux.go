package pglocal

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// capDACOverride is CAP_DAC_OVERRIDE, which bypasses file permissions (capabilities(7)).
const capDACOverride = 1

// privilegedIdentities returns identities under which the server sees the user id of `id` and has more file access than
// that user. They are tried if no ordinary user can reach the data.
func privilegedIdentities(id identity) []identity {
	namespace := identity{
		name: "host root, mapped to " + id.name + " in a user namespace",
		attr: syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: id.uid, HostID: 0, Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: id.gid, HostID: 0, Size: 1}},
		},
	}
	override := id
	override.name = id.name + " with CAP_DAC_OVERRIDE"
	override.attr.AmbientCaps = []uintptr{capDACOverride}
	return []identity{namespace, override}
}

// dieWithParent makes the kernel send the child a signal when the thread that forks it ends. That
// thread must therefore live as long as the child.
func dieWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }

// commandLine returns the command line of a process; nil if it does not exist or is a zombie.
func commandLine(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(string(bytes.TrimRight(text, "\x00")), "\x00")
}
