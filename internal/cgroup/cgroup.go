// Package cgroup reads what the control group of a process has used: memory, its
// high-water mark, CPU and OOM kills, from the files of version 1 or 2.
//
// It only reads. It knows nothing of containers, and does not walk other groups.
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

// ErrNone says that the memory files of this process's group cannot be read.
var ErrNone = errors.New("no readable memory cgroup")

// Reading is one look at a group. What its files do not tell is zero.
type Reading struct {
	Memory       int64         // bytes that are charged now, page cache included
	InactiveFile int64         // bytes of page cache that the kernel would drop first
	Watermark    int64         // bytes; the most that was ever charged
	CPU          time.Duration // spent by all processes since the group was made
	OOMKills     int64         // processes that the kernel killed in this group
}

// WorkingSet is what Kubernetes calls so: the charge without the page cache that
// nobody would miss. In bytes.
func (r Reading) WorkingSet() int64 { return max(0, r.Memory-r.InactiveFile) }

// Group is an open group. Its files stay open, so a Read costs one system call each.
type Group struct {
	memory, inactive, watermark, cpu, kills *gauge

	cpuUnit time.Duration
}

// layout is where a version keeps its figures. An empty key means a file of one number.
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

// Open finds the group of this process, version 2 first, in a system whose files lie
// under root ("/" for the real one). ErrNone if its memory cannot be read.
func Open(root string) (*Group, error) {
	places, err := readPlaces(root)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	if g, err := open(version2, places.unified(), places.unified()); err == nil {
		return g, nil
	}
	g, err := open(version1, places.of("memory"), places.of(version1.cpuController))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	return g, nil
}

// open fails without the two files that a working set is made of; the rest is a gift.
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

// Read looks at all files once. It fails only where the memory cannot be read any more.
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

// gauge is one figure of one file: the whole file, or the line that starts with the key.
type gauge struct {
	file *os.File
	key  []byte
	buf  []byte
}

// A memory.stat has some 60 lines of at most 40 bytes.
const largestFile = 8 << 10

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
		g.key, g.buf = []byte(key+" "), make([]byte, largestFile)
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

// line is what follows the key on its line.
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
