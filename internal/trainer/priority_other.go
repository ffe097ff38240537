//go:build !linux

package trainer

// lowerThreadPriority does nothing, because only Linux threads have their own priority.
func lowerThreadPriority() {}
