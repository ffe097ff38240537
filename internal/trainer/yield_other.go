//go:build !linux

package trainer

// yield does nothing where a thread has no priority of its own.
func yield() {}
