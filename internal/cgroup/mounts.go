package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mountTable finds the directories of the groups of this process.
//
//	/proc/self/cgroup:     4:memory:/kubepods/pod1/c1         the path of its group
//	/proc/self/mountinfo:  … /kubepods/pod1 /sys/fs/cgroup/memory … - cgroup cgroup rw,memory
//	directory:             /sys/fs/cgroup/memory + /c1        the path without the root of the mount
type mountTable struct {
	root   string
	paths  map[string]string // by controller; "" for version 2
	mounts []mount
}

type mount struct {
	start, point string
	kind         string   // cgroup or cgroup2
	controllers  []string // only for version 1
}

func readMounts(root string) (mountTable, error) {
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return mountTable{}, err
	}
	mounts, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return mountTable{}, err
	}
	p := mountTable{root: root, paths: map[string]string{}}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			p.paths[controller] = parts[2]
		}
	}
	for line := range strings.Lines(string(mounts)) {
		if m, ok := parseMount(line); ok {
			p.mounts = append(p.mounts, m)
		}
	}
	return p, nil
}

// parseMount parses a line of mountinfo (proc(5)). Before the dash, the fourth field is the root of
// the mount within its file system and the fifth the mount point. After it come the file system
// type, the source and the options, which name the controllers.
func parseMount(line string) (mount, bool) {
	before, after, ok := strings.Cut(line, " - ")
	left, right := strings.Fields(before), strings.Fields(after)
	if !ok || len(left) < 5 || len(right) < 3 || (right[0] != "cgroup" && right[0] != "cgroup2") {
		return mount{}, false
	}
	return mount{start: left[3], point: left[4], kind: right[0], controllers: strings.Split(right[2], ",")}, true
}

// unified returns the directory of the version 2 group; "" if there is none.
func (m mountTable) unified() string {
	return m.find("", func(m mount) bool { return m.kind == "cgroup2" })
}

// of returns the directory of a controller's version 1 group; "" if there is none.
func (m mountTable) of(controller string) string {
	return m.find(controller, func(m mount) bool {
		return m.kind == "cgroup" && slices.Contains(m.controllers, controller)
	})
}

func (m mountTable) find(controller string, matches func(mount) bool) string {
	path, known := m.paths[controller]
	i := slices.IndexFunc(m.mounts, matches)
	if !known || i < 0 {
		return ""
	}
	found := m.mounts[i]
	// A path outside the mount belongs to the host and is invisible in a container; the mount
	// then is the group of the container.
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(found.start, "/"))
	if !ok || (below != "" && below[0] != '/') {
		below = ""
	}
	return filepath.Join(m.root, found.point, below)
}
