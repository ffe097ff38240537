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

// tree is the usage of all processes below this one, from /proc, for systems that hide
// the cgroup. Memory is the sum of what each process alone holds and of what it shares by
// tmpfs, so memory that forked processes still share counts for each of them: it is an
// estimate from above. The watermark is the largest resident size of a single process
// that has ended (getrusage(2)), which sees its spikes.
type tree struct {
	self int
	buf  []byte
}

func newTree() *tree { return &tree{self: os.Getpid(), buf: make([]byte, 4<<10)} }

func (t *tree) Read() (cgroup.Reading, error) {
	var r cgroup.Reading
	parents, err := t.parents()
	if err != nil {
		return r, err
	}
	for pid := range parents {
		if pid != t.self && t.below(pid, parents) {
			memory, cpu := t.process(pid)
			r.Memory += memory
			r.CPU += cpu
		}
	}
	var ended syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &ended); err != nil {
		return r, err
	}
	r.CPU += spent(ended)
	r.Watermark = int64(ended.Maxrss) << 10 //nolint:unconvert // it has 32 bits on some architectures
	return r, nil
}

// parents of all processes that can be seen.
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

// below follows parents; the number of steps is bounded, as the table is not read at once.
func (t *tree) below(pid int, parents map[int]int) bool {
	for range len(parents) {
		if pid = parents[pid]; pid == t.self {
			return true
		}
	}
	return false
}

// stat is /proc/PID/stat behind the name, which may hold anything: state, parent, …
func (t *tree) stat(pid int) [][]byte {
	text := t.file(pid, "stat")
	return bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
}

// ticksPerSecond is USER_HZ, which is 100 on every architecture that Go knows.
const ticksPerSecond = 100

// process is the memory of one process in bytes, and its CPU with that of its children
// that have ended (proc_pid_stat(5), fields 14 to 17).
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

// file is empty where the process has ended meanwhile.
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

func spent(r syscall.Rusage) time.Duration {
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
