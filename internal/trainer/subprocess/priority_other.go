//go:build !linux

package subprocess

// startAtLowerPriority starts a child process with its parent's priority, because only on Linux a
// thread has its own nice value, which a child process inherits.
func startAtLowerPriority(start func() error) error { return start() }
