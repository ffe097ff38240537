//go:build linux

package main

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/loadaware/loadaware/internal/cgroup"
)

// tree sums the usage of all descendant processes in /proc, for systems without a readable cgroup. Memory is anonymous
// and tmpfs memory; memory that processes share, such as copy-on-write memory, counts for each of them. The watermark is
// the largest resident size of an ended process (getrusage(2)), including its spikes.
type tree struct {
	self int
	buf  []byte
}

func newTree() *tree { return &tree{self: os.Getpid(), buf: make([]byte, 4<<10)} }

// Read implements usage.
func (t *tree) Read() (cgroup.Reading, error) {
	var r cgroup.Reading
	parents, err := t.parents()
	if err != nil {
		return r, err
	}
	for pid := range parents {
		if pid != t.self && t.isDescendant(pid, parents) {
			memory, cpu := t.process(pid)
			r.Memory += memory
			r.CPU += cpu
		}
	}
	var ended syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ended); err != nil {
		return r, err
	}
	r.CPU += totalCPU(ended)
	r.Watermark = int64(ended.Maxrss) << 10 //nolint:unconvert // Maxrss has 32 bits on some architectures
	return r, nil
}

func (t *tree) parents() (map[int]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	parents := map[int]int{}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if words := t.stat(pid); len(words) > 1 {
				parents[pid] = int(number(words[1]))
			}
		}
	}
	return parents, nil
}

// isDescendant reports whether a process descends from this one. It limits the number of steps, because the table of
// parents is not an atomic snapshot and can have a cycle.
func (t *tree) isDescendant(pid int, parents map[int]int) bool {
	for range len(parents) {
		if pid = parents[pid]; pid == t.self {
			return true
		}
	}
	return false
}

// stat returns the fields of /proc/PID/stat after the name of the process: state, parent and so on.
func (t *tree) stat(pid int) [][]byte {
	text := t.file(pid, "stat")
	return bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
}

// ticksPerSecond is USER_HZ, which is 100 on every architecture that Go supports.
const ticksPerSecond = 100

// process returns the memory, in bytes, and the CPU time of a process. The CPU time includes that of reaped children
// (proc_pid_stat(5), fields 14 to 17).
func (t *tree) process(pid int) (memory int64, cpu time.Duration) {
	if words := t.stat(pid); len(words) > 14 {
		for _, ticks := range words[11:15] {
			cpu += time.Duration(number(ticks)) * time.Second / ticksPerSecond
		}
	}
	for line := range bytes.Lines(t.file(pid, "status")) {
		key, value, _ := bytes.Cut(line, []byte(":"))
		if string(key) == "RssAnon" || string(key) == "RssShmem" {
			memory += number(bytes.TrimSuffix(bytes.TrimSpace(value), []byte(" kB"))) << 10
		}
	}
	return memory, cpu
}

// file returns the first 4 KiB of a file of a process, or nothing if the process has ended. The result is valid until the
// next call.
func (t *tree) file(pid int, name string) []byte {
	file, err := os.Open("/proc/" + strconv.Itoa(pid) + "/" + name)
	if err != nil {
		return nil
	}
	defer file.Close()
	n, _ := file.Read(t.buf)
	return t.buf[:n]
}

func number(text []byte) int64 {
	n, _ := strconv.ParseInt(string(text), 10, 64)
	return n
}

func totalCPU(r syscall.Rusage) time.Duration {
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
