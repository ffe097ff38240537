package pgtest

import "syscall"

// freeBytes returns the free space of the file system of a folder in bytes; 0 if there is no such folder.
func freeBytes(dir string) uint64 {
	var stat syscall.Statfs_t
	if syscall.Statfs(dir, &stat) != nil {
		return 0
	}
	return stat.Bavail * uint64(stat.Bsize)
}
