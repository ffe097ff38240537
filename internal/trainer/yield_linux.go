package trainer

import "syscall"

// lowest is the nicest value (setpriority(2)).
const lowest = 19

// yield lets everything else go before the calling thread: on Linux a priority is
// the thread's own, and 0 names the caller. A kernel that refuses leaves it as it was.
func yield() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, lowest) }
