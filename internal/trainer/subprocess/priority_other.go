//go:build !linux

package subprocess

// startAtLowerPriority keeps the parent's priority, because only on Linux a thread has its own nice value, which a child
// process inherits.
func startAtLowerPriority(start func() error) error { return start() }
