//go:build linux

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
	"unsafe"
)

// forwarded are the signals that are passed on: all, but for those that cannot be caught,
// that a terminal's job control sends to the whole group anyway, that Go sends to itself
// (SIGURG), that glibc keeps (32 and 33), and that our parent wants to be ignored.
func forwarded() []os.Signal {
	var all []os.Signal
	for s := syscall.Signal(1); s <= 64; s++ {
		switch s {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG, 32, 33,
			syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
			continue
		}
		if !signal.Ignored(s) {
			all = append(all, s)
		}
	}
	return all
}

const prSetChildSubreaper = 36 // prctl(2)

// adoptOrphans makes us the parent of what the program leaves behind, as PID 1 is without
// asking. If the kernel refuses, somebody else reaps.
func adoptOrphans() {
	if os.Getpid() != 1 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
	}
}

// exitCode is what Kubernetes and shells make of an end: 128 and the signal, if one
// ended it.
func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// die ends us as the program ended, also for a parent that tells a signal from an exit
// code. The kernel spares a PID 1 from its own signals; then the code says it, and that
// is all that a container's runtime makes of a signal.
func die(status syscall.WaitStatus) {
	if status.Signaled() && os.Getpid() != 1 {
		// One core file is enough, and it is the program's.
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
		defaultAction(status.Signal())
		_ = syscall.Kill(os.Getpid(), status.Signal())
		time.Sleep(time.Second) // the signal is on its way
	}
	os.Exit(exitCode(status))
}

// defaultAction undoes a handler by rt_sigaction(2). Go's own Reset gives back a handler
// of the runtime, which answers a SIGSEGV or SIGQUIT with a stack trace and exit code 2.
func defaultAction(s syscall.Signal) {
	var action [4]uintptr // handler, flags, restorer, mask: all zero is SIG_DFL
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION,
		uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
}
