package cgroup

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every mount must lead to no directory or to an absolute path.
func FuzzParseMount(f *testing.F) {
	f.Add("30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate", "/user.slice")
	f.Add("31 23 0:27 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory", "/docker/ab/c")
	f.Add(" - cgroup", "")
	f.Fuzz(func(t *testing.T, line, path string) {
		m, ok := parseMount(line)
		if !ok {
			return
		}
		p := mountTable{root: "/root", paths: map[string]string{"": path, "memory": path}, mounts: []mount{m}}
		for _, dir := range []string{p.version2Dir(), p.version1Dir("memory")} {
			require.True(t, dir == "" || filepath.IsAbs(dir), dir)
		}
	})
}

func FuzzLine(f *testing.F) {
	f.Add([]byte("anon 1\ninactive_file 42\n"), []byte("inactive_file "))
	f.Add([]byte("inactive_file"), []byte("inactive_file "))
	f.Add([]byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, text, key []byte) {
		got, err := line(text, key)
		if err == nil {
			require.Contains(t, string(text), string(key)+string(got))
		}
	})
}
