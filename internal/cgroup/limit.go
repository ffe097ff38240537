package cgroup

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// unlimited is larger than any real limit. Without a limit, version 1 reports the largest multiple of the page size that
// an int64 can represent, which is larger than unlimited.
const unlimited = 1 << 60

// MemoryLimit returns the memory limit of the group of this process in bytes; 0 if there is none, or
// if it cannot be read. It prefers the limit of version 2 to that of version 1. It reads the file system below root ("/" except
// in tests).
func MemoryLimit(root string) int64 {
	mounts, err := readMounts(root)
	if err != nil {
		return 0
	}
	for _, file := range []struct{ dir, name string }{
		{mounts.version2Dir(), "memory.max"},
		{mounts.version1Dir("memory"), "memory.limit_in_bytes"},
	} {
		if file.dir == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(file.dir, file.name))
		if err != nil {
			continue
		}
		// Version 2 writes "max" for no limit, which does not parse.
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit < unlimited {
			return limit
		}
	}
	return 0
}
