package subprocess

import (
	"runtime"
	"syscall"
)

// nicer is what a child adds to its nice value (setpriority(2)): where both want the
// same processor, it gets a third of what answers get (sched(7): 1.25 for each step).
const nicer = 5

// yielding starts a child that yields: on Linux a priority is a thread's own, and is
// handed on to what the thread starts. The thread is left locked and so ends with the
// goroutine: a priority that was given up cannot be taken back. A kernel that refuses
// leaves it as it was.
func yielding(start func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil {
			_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 20-raw+nicer) // the call gives 20 minus the value
		}
		done <- start()
	}()
	return <-done
}
