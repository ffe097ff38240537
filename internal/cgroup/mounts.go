package cgroup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// places says where the groups of this process are mounted.
//
//	/proc/self/cgroup:     4:memory:/kubepods/pod1/c1         its group, as the kernel names it
//	/proc/self/mountinfo:  … /kubepods/pod1 /sys/fs/cgroup/memory … - cgroup cgroup rw,memory
//	directory:             /sys/fs/cgroup/memory + /c1        the name, less what the mount starts at
type places struct {
	root   string
	paths  map[string]string // by controller; version 2 is ""
	mounts []mount
}

type mount struct {
	start, point string
	kind         string   // cgroup or cgroup2
	controllers  []string // of version 1
}

func readPlaces(root string) (places, error) {
	groups, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return places{}, err
	}
	mounts, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil {
		return places{}, err
	}
	p := places{root: root, paths: map[string]string{}}
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

// parseMount reads a line of mountinfo (proc(5)): before the dash the fourth word is
// where in the file system the mount starts and the fifth where it lies; behind it stand
// the kind, the source and the options, which name the controllers.
func parseMount(line string) (mount, bool) {
	before, after, ok := strings.Cut(line, " - ")
	left, right := strings.Fields(before), strings.Fields(after)
	if !ok || len(left) < 5 || len(right) < 3 || (right[0] != "cgroup" && right[0] != "cgroup2") {
		return mount{}, false
	}
	return mount{start: left[3], point: left[4], kind: right[0], controllers: strings.Split(right[2], ",")}, true
}

// unified is the directory of the version 2 group; "" if there is none.
func (p places) unified() string {
	return p.find("", func(m mount) bool { return m.kind == "cgroup2" })
}

// of is the directory of a controller's version 1 group; "" if there is none.
func (p places) of(controller string) string {
	return p.find(controller, func(m mount) bool {
		return m.kind == "cgroup" && slices.Contains(m.controllers, controller)
	})
}

func (p places) find(controller string, fits func(mount) bool) string {
	path, known := p.paths[controller]
	i := slices.IndexFunc(p.mounts, fits)
	if !known || i < 0 {
		return ""
	}
	m := p.mounts[i]
	// A name outside the mount is one of the host that a container cannot see:
	// then the mount is the container's own group.
	below, ok := strings.CutPrefix(path, strings.TrimSuffix(m.start, "/"))
	if !ok || (below != "" && below[0] != '/') {
		below = ""
	}
	return filepath.Join(p.root, m.point, below)
}
