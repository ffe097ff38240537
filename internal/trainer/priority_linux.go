package trainer

import "syscall"

// lowestPriority is the largest nice value (setpriority(2)).
const lowestPriority = 19

// lowerThreadPriority gives the calling thread the lowest priority. On Linux each thread has its
// own priority, and the process id 0 means the calling thread. If the system call fails, the
// priority does not change.
func lowerThreadPriority() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowestPriority) }
