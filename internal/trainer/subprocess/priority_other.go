//go:build !linux

package subprocess

// startAtLowerPriority starts a child with its parent's priority: only Linux has one per
// thread.
func startAtLowerPriority(start func() error) error { return start() }
