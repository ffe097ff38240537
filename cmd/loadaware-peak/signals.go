//go:build linux

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
	"unsafe"
)

// forwardedSignals returns all signals except these:
//
//   - SIGKILL and SIGSTOP, which no process can catch
//   - SIGCHLD, which child.wait uses
//   - SIGTSTP, SIGTTIN and SIGTTOU, which job control sends to the whole process group
//   - SIGURG, which the Go runtime uses, and 32 and 33, which glibc uses
//   - SIGHUP and SIGINT, if the parent ignores them
//
// The Go runtime does not know which other signals the parent ignores.
func forwardedSignals() []os.Signal {
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

// adoptOrphans makes this process the parent of orphaned descendants. PID 1 adopts them without
// this call. If the kernel rejects the call, another process reaps the orphans.
func adoptOrphans() {
	if os.Getpid() != 1 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
	}
}

func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// exitLike ends this process with the same signal or exit code as the program. PID 1 cannot kill itself with a signal,
// so it uses the exit code, which is all that container runtimes report.
func exitLike(status syscall.WaitStatus) {
	if status.Signaled() && os.Getpid() != 1 {
		// Only the program writes a core file.
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
		resetHandler(status.Signal())
		_ = syscall.Kill(os.Getpid(), status.Signal())
		time.Sleep(time.Second) // until the signal arrives
	}
	os.Exit(exitCode(status))
}

// resetHandler restores the default action of a signal. signal.Reset would restore the handler of the Go runtime, which
// prints a stack trace for SIGSEGV or SIGQUIT and exits with code 2.
func resetHandler(s syscall.Signal) {
	var action [4]uintptr // handler, flags, restorer, mask: all zero is SIG_DFL
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION,
		uintptr(s), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
}
