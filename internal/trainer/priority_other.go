//go:build !linux

package trainer

// lowerThreadPriority does nothing, because only on Linux setpriority(2) can change the priority of a single thread.
func lowerThreadPriority() {}
