package trainer

import "syscall"

// niceIncrement is added to the nice value of a background job (setpriority(2)). It is small: the garbage collector of this
// process waits for each of its threads, and a thread at the nice value 19 hardly runs on a busy machine.
const niceIncrement = 5

// lowerThreadPriority adds niceIncrement to the nice value of the calling thread, if the system calls succeed. On Linux each
// thread has its own priority, and the process id 0 means the calling thread.
func lowerThreadPriority() {
	if raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 20-raw+niceIncrement) // the system call returned 20 minus the nice value
	}
}
