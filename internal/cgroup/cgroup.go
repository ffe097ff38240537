// Package cgroup reads the resource usage and the memory limit of the control group of this process. The usage is the
// memory, its peak, the CPU time and the number of OOM kills. The package supports cgroup versions 1 and 2.
//
// The package only reads files, and works with and without containers.
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

// ErrNone means that Open cannot read the memory files of the group of this process.
var ErrNone = errors.New("no readable memory cgroup")

// Reading is one sample of a group. Watermark, CPU and OOMKills are zero if they cannot be read.
type Reading struct {
	Memory       int64         // bytes charged now, including page cache
	InactiveFile int64         // bytes of inactive page cache, which the kernel reclaims first
	Watermark    int64         // largest number of charged bytes since the group was created
	CPU          time.Duration // CPU time of all processes since the group was created
	OOMKills     int64         // processes that the kernel's OOM killer killed in this group; with version 2 also in the groups below it
}

// WorkingSet returns the working set in bytes as Kubernetes defines it: the charged memory without the
// inactive page cache.
func (r Reading) WorkingSet() int64 { return max(0, r.Memory-r.InactiveFile) }

// Group is an open control group. The files stay open, so that Read only reads them.
type Group struct {
	memory, inactive, watermark, cpu, kills *gauge

	cpuUnit time.Duration // unit of the value of cpu
}

// layout names the files of a cgroup version, and the keys in files with several values.
type layout struct {
	memory, watermark string // files with one number
	stat, inactive    string // file of memory statistics; key of the inactive page cache in this file
	kills             string // file with the key oom_kill
	cpuController     string // controller of the CPU file; "" for version 2
	cpu, cpuKey       string // file of the CPU time; key in this file, or "" if the file has one number
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

// Open opens the group of this process in the file system below root, which is "/" except in tests. It opens the group
// of version 2 if the memory files of this group can be read, and otherwise the group of version 1. It returns ErrNone if it
// can read the memory files of neither.
func Open(root string) (*Group, error) {
	mounts, err := readMounts(root)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	if g, err := open(version2, mounts.version2Dir(), mounts.version2Dir()); err == nil {
		return g, nil
	}
	g, err := open(version1, mounts.version1Dir("memory"), mounts.version1Dir(version1.cpuController))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return g, nil
}

// open opens the files of a group. The files of the memory and of the inactive page cache must exist; the other files are
// optional.
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

// Read reads all files once. It fails only if the memory files cannot be read.
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
		Watermark:    g.watermark.readOrZero(),
		CPU:          time.Duration(g.cpu.readOrZero()) * g.cpuUnit,
		OOMKills:     g.kills.readOrZero(),
	}, nil
}

// gauge is one value in a file: the whole file, or the text after the key on its line.
type gauge struct {
	file *os.File
	key  []byte // with the space that follows it; nil if the file has one number
	buf  []byte
}

// maxFileSize is larger than any file with keys: memory.stat has about 60 lines of at most 40 bytes.
const maxFileSize = 8 << 10

// openGauge opens the file of a gauge and checks that the value can be read.
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

func (g *gauge) readOrZero() int64 {
	if g == nil {
		return 0
	}
	n, err := g.read()
	if err != nil {
		return 0
	}
	return n
}

// line returns the text after the key on the first line that starts with the key.
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
