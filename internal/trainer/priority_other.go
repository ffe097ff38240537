//go:build !linux

package trainer

// lowerThreadPriority does nothing: in POSIX, setpriority(2) changes the priority of the whole process.
func lowerThreadPriority() {}
