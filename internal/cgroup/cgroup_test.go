package cgroup

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// system writes files below a temporary folder, which stands for the root of the file system, and returns this folder.
func system(t *testing.T, files map[string]string) string {
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root
}

// version2Container returns the files of a container that sees its group as the root of the mount.
func version2Container() map[string]string {
	return map[string]string{
		"proc/self/cgroup":             "0::/\n",
		"proc/self/mountinfo":          "700 699 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n",
		"sys/fs/cgroup/memory.current": "1000000\n",
		"sys/fs/cgroup/memory.peak":    "1500000\n",
		"sys/fs/cgroup/memory.stat":    "anon 600000\nfile 400000\ninactive_anon 1\ninactive_file 300000\nactive_file 100000\n",
		"sys/fs/cgroup/memory.events":  "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\noom_group_kill 0\n",
		"sys/fs/cgroup/cpu.stat":       "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n",
	}
}

// version1Container returns the files of a container that sees the path of its group on the host, which is also the root of
// its mounts.
func version1Container() map[string]string {
	const name = "/kubepods/burstable/pod1/c1"
	return map[string]string{
		"proc/self/cgroup": "5:memory:" + name + "\n4:cpu,cpuacct:" + name + "\n1:name=systemd:" + name + "\n",
		"proc/self/mountinfo": "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs rw\n" +
			"36 31 0:32 " + name + " /sys/fs/cgroup/memory ro shared:9 - cgroup cgroup rw,memory\n" +
			"37 31 0:33 " + name + " /sys/fs/cgroup/cpu,cpuacct ro shared:8 - cgroup cgroup rw,cpu,cpuacct\n",
		"sys/fs/cgroup/memory/memory.usage_in_bytes":     "2000000\n",
		"sys/fs/cgroup/memory/memory.max_usage_in_bytes": "3000000\n",
		"sys/fs/cgroup/memory/memory.stat":               "cache 9\ninactive_file 7\ntotal_cache 500000\ntotal_inactive_file 400000\n",
		"sys/fs/cgroup/memory/memory.oom_control":        "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
		"sys/fs/cgroup/cpu,cpuacct/cpuacct.usage":        "1250000000\n",
	}
}

func TestReadReadsTheFilesOfBothVersions(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  Reading
	}{
		"version 2": {version2Container(), Reading{
			Memory: 1000000, InactiveFile: 300000, Watermark: 1500000, CPU: 2500 * time.Millisecond, OOMKills: 2}},
		"version 1": {version1Container(), Reading{
			Memory: 2000000, InactiveFile: 400000, Watermark: 3000000, CPU: 1250 * time.Millisecond, OOMKills: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := Open(system(t, c.files))
			require.NoError(t, err)
			got, err := g.Read()
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.want.Memory-c.want.InactiveFile, got.WorkingSet())
		})
	}
}

func TestReadWithoutOptionalFiles(t *testing.T) {
	files := version2Container()
	delete(files, "sys/fs/cgroup/memory.peak") // before Linux 5.19
	delete(files, "sys/fs/cgroup/memory.events")
	delete(files, "sys/fs/cgroup/cpu.stat")
	g, err := Open(system(t, files))
	require.NoError(t, err)
	got, err := g.Read()
	require.NoError(t, err)
	assert.Equal(t, Reading{Memory: 1000000, InactiveFile: 300000}, got)
}

func TestOpenWithoutMemoryFilesFails(t *testing.T) {
	for name, change := range map[string]func(map[string]string){
		"no current usage":         func(f map[string]string) { delete(f, "sys/fs/cgroup/memory.current") },
		"a usage without a number": func(f map[string]string) { f["sys/fs/cgroup/memory.current"] = "much\n" },
		"an empty usage":           func(f map[string]string) { f["sys/fs/cgroup/memory.current"] = "" },
		"no key inactive_file":     func(f map[string]string) { f["sys/fs/cgroup/memory.stat"] = "anon 1\nworkingset_inactive_file 5\n" },
		"no mount":                 func(f map[string]string) { f["proc/self/mountinfo"] = "31 23 0:28 / / rw - ext4 /dev/sda rw\n" },
		"no path of its group":     func(f map[string]string) { f["proc/self/cgroup"] = "\n" },
		"no mountinfo":             func(f map[string]string) { delete(f, "proc/self/mountinfo") },
	} {
		t.Run(name, func(t *testing.T) {
			files := version2Container()
			change(files)
			_, err := Open(system(t, files))
			assert.ErrorIs(t, err, ErrNone)
		})
	}
}

func TestOpenFindsTheDirectoryOfTheGroup(t *testing.T) {
	memory := map[string]string{"memory.current": "42\n", "memory.stat": "inactive_file 0\n"}
	for name, c := range map[string]struct{ group, mount, dir string }{
		"the tree of the host":        {"0::/system.slice/a.service", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw", "sys/fs/cgroup/system.slice/a.service"},
		"a part of the tree":          {"0::/pods/p1/c1", "30 23 0:26 /pods/p1 /cg rw - cgroup2 cgroup rw", "cg/c1"},
		"a path with the same prefix": {"0::/pods/p10", "30 23 0:26 /pods/p1 /cg rw - cgroup2 cgroup rw", "cg"},
		"a path outside the mount":    {"0::/../../x", "30 23 0:26 /pods/p1 /cg rw - cgroup2 cgroup rw", "cg"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"proc/self/cgroup": c.group + "\n", "proc/self/mountinfo": c.mount + "\n"}
			for name, text := range memory {
				files[filepath.Join(c.dir, name)] = text
			}
			g, err := Open(system(t, files))
			require.NoError(t, err)
			got, err := g.Read()
			require.NoError(t, err)
			assert.EqualValues(t, 42, got.Memory)
		})
	}
}

func TestHybridSystemUsesTheMemoryControllerOfVersion1(t *testing.T) {
	files := version1Container()
	files["proc/self/cgroup"] += "0::/kubepods/burstable/pod1/c1\n"
	files["proc/self/mountinfo"] = "41 31 0:38 /kubepods/burstable/pod1/c1 /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" + files["proc/self/mountinfo"]
	files["sys/fs/cgroup/unified/cpu.stat"] = "usage_usec 1\n"
	g, err := Open(system(t, files))
	require.NoError(t, err)
	got, err := g.Read()
	require.NoError(t, err)
	assert.EqualValues(t, 2000000, got.Memory)
}

func TestReadReturnsCurrentValues(t *testing.T) {
	root := system(t, version2Container())
	g, err := Open(root)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "sys/fs/cgroup/memory.current"), []byte("777\n"), 0o644))
	got, err := g.Read()
	require.NoError(t, err)
	assert.EqualValues(t, 777, got.Memory)
	assert.Zero(t, got.WorkingSet(), "never negative, although the files are read one after the other")
}

func TestGroupOfThisTestCountsItsMemory(t *testing.T) {
	g, err := Open("/")
	if err != nil {
		require.ErrorIs(t, err, ErrNone)
		t.Skip("no readable cgroup on this system: ", err)
	}
	memory := make([]byte, 64<<20)
	for i := range memory {
		memory[i] = 1
	}
	got, err := g.Read()
	require.NoError(t, err)
	assert.Greater(t, got.Memory, int64(len(memory)))
	assert.Positive(t, memory[0]) // keeps the memory alive
}

func TestMemoryLimitOfBothVersions(t *testing.T) {
	for name, c := range map[string]struct {
		container map[string]string
		file      string
		text      string
		want      int64
	}{
		"version 2":             {version2Container(), "sys/fs/cgroup/memory.max", "536870912\n", 512 << 20},
		"version 2, unlimited":  {version2Container(), "sys/fs/cgroup/memory.max", "max\n", 0},
		"version 1":             {version1Container(), "sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n", 1 << 30},
		"version 1, unlimited":  {version1Container(), "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n", 0},
		"a file without number": {version2Container(), "sys/fs/cgroup/memory.max", "much\n", 0},
		"no file":               {version2Container(), "sys/fs/cgroup/other", "1\n", 0},
	} {
		c.container[c.file] = c.text
		assert.Equal(t, c.want, MemoryLimit(system(t, c.container)), name)
	}
	assert.Zero(t, MemoryLimit(t.TempDir()), "no cgroup")
}

func TestMemoryLimitPrefersVersion2(t *testing.T) {
	files := version1Container()
	files["proc/self/cgroup"] += "0::/\n"
	files["proc/self/mountinfo"] += "38 31 0:34 / /sys/fs/cgroup/unified ro - cgroup2 cgroup rw\n"
	files["sys/fs/cgroup/memory/memory.limit_in_bytes"] = "1073741824\n"
	files["sys/fs/cgroup/unified/memory.max"] = "536870912\n"
	root := system(t, files)
	for range 20 {
		require.EqualValues(t, 512<<20, MemoryLimit(root))
	}
}
