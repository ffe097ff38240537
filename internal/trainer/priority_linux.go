package trainer

import "syscall"

// niceIncrement is added to the nice value of a background job or of the trainer process (setpriority(2)). On a contended CPU, a
// thread with this increment gets a third of the CPU time of a thread without it (sched(7): a factor of 1.25 per step). The
// increment is small, because the garbage collector waits for each thread of its process, and a thread at the nice value 19
// hardly runs on a busy machine.
const niceIncrement = 5

// lowerThreadPriority adds niceIncrement to the nice value of the calling thread, if the system calls succeed. On Linux each
// thread has its own priority, and the process id 0 means the calling thread.
func lowerThreadPriority() {
	if raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0); err == nil {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 20-raw+niceIncrement) // the system call returned 20 minus the nice value
	}
}
