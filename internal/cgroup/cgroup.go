// Package cgroup reads the resource usage of the control group of a process: memory, its high-water
// mark, CPU and OOM kills, from cgroup version 1 or 2.
//
// It only reads, and only the group of its own process. It knows nothing of containers.
//
// Sources: the kernel's Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// ErrNone means that the memory files of the process's group cannot be read.
var ErrNone = errors.New("no readable memory cgroup")

// Reading is one sample of a group. Values without a file are zero.
type Reading struct {
	Memory       int64         // bytes charged now, including page cache
	InactiveFile int64         // bytes of page cache that the kernel reclaims first
	Watermark    int64         // bytes; the maximum charge so far
	CPU          time.Duration // used by all processes since the group was created
	OOMKills     int64         // processes that the kernel killed in this group
}

// WorkingSet returns the working set as Kubernetes defines it, in bytes: the charge without inactive
// page cache.
func (r Reading) WorkingSet() int64 { return max(0, r.Memory-r.InactiveFile) }

// Group is an open control group. Its files stay open, so that Read costs one system call per file.
type Group struct {
	memory, inactive, watermark, cpu, kills *gauge

	cpuUnit time.Duration
}

// layout names the files and keys of a cgroup version. An empty key means a file with one number.
type layout struct {
	memory, watermark string
	stat, inactive    string
	kills             string
	cpuController     string
	cpu, cpuKey       string
	cpuUnit           time.Duration
}

var (
	version2 = layout{
		memory: "memory.current", watermark: "memory.peak",
		stat: "memory.stat", inactive: "inactive_file", kills: "memory.events",
		cpu: "cpu.stat", cpuKey: "usage_usec", cpuUnit: time.Microsecond,
	}
	version1 = layout{
		memory: "memory.usage_in_bytes", watermark: "memory.max_usage_in_bytes",
		stat: "memory.stat", inactive: "total_inactive_file", kills: "memory.oom_control",
		cpuController: "cpuacct", cpu: "cpuacct.usage", cpuUnit: time.Nanosecond,
	}
)

// Open finds the group of this process, version 2 first, in the file system below root ("/" outside
// of tests). ErrNone if its memory cannot be read.
func Open(root string) (*Group, error) {
	mounts, err := readMounts(root)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	if g, err := open(version2, mounts.unified(), mounts.unified()); err == nil {
		return g, nil
	}
	g, err := open(version1, mounts.of("memory"), mounts.of(version1.cpuController))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return g, nil
}

// open requires the two files of the working set; the others are optional.
func open(l layout, memoryDir, cpuDir string) (*Group, error) {
	memory, err := openGauge(memoryDir, l.memory, "")
	if err != nil {
		return nil, err
	}
	inactive, err := openGauge(memoryDir, l.stat, l.inactive)
	if err != nil {
		return nil, err
	}
	g := &Group{memory: memory, inactive: inactive, cpuUnit: l.cpuUnit}
	g.watermark, _ = openGauge(memoryDir, l.watermark, "")
	g.kills, _ = openGauge(memoryDir, l.kills, "oom_kill")
	g.cpu, _ = openGauge(cpuDir, l.cpu, l.cpuKey)
	return g, nil
}

// Read reads all files once. It fails only if the memory files cannot be read any more.
func (g *Group) Read() (Reading, error) {
	memory, err := g.memory.read()
	if err != nil {
		return Reading{}, err
	}
	inactive, err := g.inactive.read()
	if err != nil {
		return Reading{}, err
	}
	return Reading{
		Memory:       memory,
		InactiveFile: inactive,
		Watermark:    g.watermark.readOr0(),
		CPU:          time.Duration(g.cpu.readOr0()) * g.cpuUnit,
		OOMKills:     g.kills.readOr0(),
	}, nil
}

// gauge is one value in a file: the whole file, or the line that starts with the key.
type gauge struct {
	file *os.File
	key  []byte
	buf  []byte
}

// maxFileSize is generous: memory.stat has about 60 lines of at most 40 bytes.
const maxFileSize = 8 << 10

func openGauge(dir, name, key string) (*gauge, error) {
	if dir == "" {
		return nil, fmt.Errorf("%s: %w", name, os.ErrNotExist)
	}
	file, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	g := &gauge{file: file, buf: make([]byte, 64)}
	if key != "" {
		g.key, g.buf = []byte(key+" "), make([]byte, maxFileSize)
	}
	if _, err := g.read(); err != nil {
		file.Close()
		return nil, err
	}
	return g, nil
}

func (g *gauge) read() (int64, error) {
	n, err := g.file.ReadAt(g.buf, 0)
	if n == 0 && err != nil {
		return 0, err
	}
	text := g.buf[:n]
	if g.key != nil {
		if text, err = line(text, g.key); err != nil {
			return 0, fmt.Errorf("%s: %w", g.file.Name(), err)
		}
	}
	return strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
}

func (g *gauge) readOr0() int64 {
	if g == nil {
		return 0
	}
	n, err := g.read()
	if err != nil {
		return 0
	}
	return n
}

// line returns the text after the key on its line.
func line(text, key []byte) ([]byte, error) {
	for len(text) > 0 {
		first, rest, _ := bytes.Cut(text, []byte("\n"))
		if value, ok := bytes.CutPrefix(first, key); ok {
			return value, nil
		}
		text = rest
	}
	return nil, fmt.Errorf("no line %q", bytes.TrimSpace(key))
}
