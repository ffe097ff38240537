package trainer

import "syscall"

// lowestPriority is a nice value (setpriority(2)).
const lowestPriority = 19

// lowerThreadPriority gives the calling thread the lowest priority, if the system call succeeds. On Linux each thread has
// its own priority, and the process id 0 means the calling thread.
func lowerThreadPriority() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowestPriority) }
