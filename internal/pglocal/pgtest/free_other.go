//go:build !linux

package pgtest

// freeBytes returns 0, because only Linux has memoryFolder.
func freeBytes(string) uint64 { return 0 }
