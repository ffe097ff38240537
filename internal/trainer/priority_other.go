//go:build !linux

package trainer

// lowerThreadPriority does nothing where threads have no priority of their own.
func lowerThreadPriority() {}
