//go:build !linux

package pgtest

// freeBytes returns 0, so that memoryFolder, which only Linux has, is not used.
func freeBytes(string) uint64 { return 0 }
