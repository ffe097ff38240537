package subprocess

import (
	"runtime"
	"syscall"
)

// niceIncrement is added to the child's nice value (setpriority(2)). On a contended CPU
// the child then gets a third of the parent's share (sched(7): a factor of 1.25 per step).
const niceIncrement = 5

// startAtLowerPriority calls start on a thread with a lower priority: on Linux a process inherits the priority of the thread
// that starts it. This thread stays locked and ends with the goroutine, because it cannot raise its priority again. If a
// system call fails, the priority does not change.
func startAtLowerPriority(start func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 20-raw+niceIncrement) // the system call returns 20 minus the nice value
		}
		done <- start()
	}()
	return <-done
}
