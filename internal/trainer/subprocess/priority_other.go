//go:build !linux

package subprocess

// startAtLowerPriority starts a child process with its parent's priority, because only Linux has a
// priority per thread.
func startAtLowerPriority(start func() error) error { return start() }
