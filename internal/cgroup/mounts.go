package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mountTable finds the directories of the groups of this process. For example:
//
//	/proc/self/cgroup:     4:memory:/kubepods/pod1/c1         the path of the group
//	/proc/self/mountinfo:  … /kubepods/pod1 /sys/fs/cgroup/memory … - cgroup cgroup rw,memory
//	directory:             /sys/fs/cgroup/memory + /c1        mount point, and the path without the root of the mount
type mountTable struct {
	root   string            // root of the file system; "/" except in tests
	paths  map[string]string // paths of the groups by controller; the key "" is the group of version 2
	mounts []mount
}

type mount struct {
	groupRoot   string // path of the group at the mount point
	point       string
	kind        string   // cgroup or cgroup2
	controllers []string // only for version 1
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
	table := mountTable{root: root, paths: map[string]string{}}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			table.paths[controller] = parts[2]
		}
	}
	for line := range strings.Lines(string(mounts)) {
		if m, ok := parseMount(line); ok {
			table.mounts = append(table.mounts, m)
		}
	}
	return table, nil
}

// parseMount parses a line of mountinfo (proc(5)). Before the dash, the fourth field is the root of
// the mount within its file system, and the fifth field is the mount point. After the dash follow the
// file system type, the source and the options, which name the controllers.
func parseMount(line string) (mount, bool) {
	before, after, ok := strings.Cut(line, " - ")
	left, right := strings.Fields(before), strings.Fields(after)
	if !ok || len(left) < 5 || len(right) < 3 || (right[0] != "cgroup" && right[0] != "cgroup2") {
		return mount{}, false
	}
	return mount{groupRoot: left[3], point: left[4], kind: right[0], controllers: strings.Split(right[2], ",")}, true
}

func (m mountTable) version2Dir() string {
	return m.find("", func(m mount) bool { return m.kind == "cgroup2" })
}

func (m mountTable) version1Dir(controller string) string {
	return m.find(controller, func(m mount) bool {
		return m.kind == "cgroup" && slices.Contains(m.controllers, controller)
	})
}

// find returns the directory of the group of a controller in the first mount that matches; "" if there is none.
func (m mountTable) find(controller string, matches func(mount) bool) string {
	path, known := m.paths[controller]
	i := slices.IndexFunc(m.mounts, matches)
	if !known || i < 0 {
		return ""
	}
	found := m.mounts[i]
	// In a container, the path of the group may be its path on the host, outside the root of the mount. Then the mount
	// point is the directory of the container's group.
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(found.groupRoot, "/"))
	if !ok || (below != "" && below[0] != '/') {
		below = ""
	}
	return filepath.Join(m.root, found.point, below)
}
