//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/testwait"
)

const mib = 1 << 20

// group is a temporary control group, version 1 or 2.
type group struct {
	dirs  map[string]string // by controller
	mark  string            // the file of the high-water mark of its memory
	limit string            // the file of its memory limit
}

// newGroup creates a group. It skips the test if this user may not create one, or if the group has no
// memory controller.
func newGroup(t *testing.T) group {
	const root = "/sys/fs/cgroup"
	groupName := fmt.Sprintf("loadaware-peak-%d-%d", os.Getpid(), time.Now().UnixNano())
	g := group{dirs: map[string]string{}, mark: "memory.max_usage_in_bytes", limit: "memory.limit_in_bytes"}
	unified, err := os.ReadFile(root + "/cgroup.subtree_control")
	if err == nil && strings.Contains(string(unified), "memory") {
		g.mark, g.limit = "memory.peak", "memory.max"
	}
	for _, controller := range []string{"memory", "cpuacct", "pids"} {
		g.dirs[controller] = filepath.Join(root, controller, groupName)
		if err == nil {
			g.dirs[controller] = filepath.Join(root, groupName)
		}
		if err := os.MkdirAll(g.dirs[controller], 0o755); err != nil {
			t.Skip("this user cannot create control groups: ", err)
		}
		t.Cleanup(func() { syscall.Rmdir(g.dirs[controller]) })
	}
	if _, err := os.Stat(filepath.Join(g.dirs["memory"], g.limit)); err != nil {
		t.Skip("the control group has no memory controller: ", err)
	}
	return g
}

// enter returns a command that enters the group and then executes `command`.
func (g group) enter(command ...string) []string {
	script := ""
	for _, dir := range g.dirs {
		script += "echo $$ >" + dir + "/cgroup.procs && "
	}
	return append([]string{"sh", "-c", script + `exec "$@"`, "sh"}, command...)
}

func (g group) set(t *testing.T, controller, file string, value int) {
	require.NoError(t, os.WriteFile(filepath.Join(g.dirs[controller], file), []byte(strconv.Itoa(value)), 0))
}

func (g group) peak(t *testing.T) int64 {
	bytes, err := strconv.ParseInt(strings.TrimSpace(read(t, filepath.Join(g.dirs["memory"], g.mark))), 10, 64)
	require.NoError(t, err)
	return bytes
}

func TestPeakIsCloseToKernelHighWaterMark(t *testing.T) {
	for name, c := range map[string]struct {
		steps []string
		mib   int64
	}{
		"constant memory":      {[]string{"alloc:200", "sleep:300ms"}, 200},
		"a spike of 50 ms":     {[]string{"sleep:1500ms", "spike:200:50ms", "sleep:300ms"}, 200},
		"a spike of 0 ms":      {[]string{"sleep:1s", "spike:200:0ms", "sleep:300ms"}, 200},
		"four children":        {[]string{"children:4:alloc+50,meet+" + t.TempDir() + "+4,sleep+3s"}, 200},
		"memory until the end": {[]string{"alloc:200", "exit:0"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t)
			file := filepath.Join(t.TempDir(), "m")
			require.Zero(t, runCommand(t, "", nil, g.enter(wrapped(file, append([]string{load}, c.steps...)...)...)...).status)
			got := readMessage(t, file)
			assert.Equal(t, "memory.peak", got.Source)
			assert.GreaterOrEqual(t, got.Peak, c.mib*mib)
			assert.LessOrEqual(t, got.Peak, g.peak(t))
			assert.InEpsilon(t, g.peak(t), got.Peak, 0.01)
			assert.Less(t, got.Peak, (c.mib+20)*mib, "the wrapper and the runtime of the program add less than 20 MiB")
			var top int64
			for _, point := range got.Series.Memory {
				top = max(top, point)
			}
			assert.InDelta(t, (got.Peak+mib-1)/mib, top, 1, "the series must show the peak")
		})
	}
}

func TestPageCacheOfWrittenFileIsExcluded(t *testing.T) {
	g, dir := newGroup(t), t.TempDir()
	var fs syscall.Statfs_t
	require.NoError(t, syscall.Statfs(dir, &fs))
	if fs.Type == 0x01021994 { // TMPFS_MAGIC
		t.Skip("the temporary folder is in memory")
	}
	file := filepath.Join(dir, "m")
	require.Zero(t, runCommand(t, "", nil, g.enter(wrapped(file, load, "alloc:30", "file:"+dir+"/data:200", "sleep:300ms")...)...).status)
	assert.Greater(t, g.peak(t), int64(200*mib), "the kernel's mark counts the cache")
	assert.Less(t, readMessage(t, file).Peak, int64(100*mib))
}

func TestCoresAreMeasured(t *testing.T) {
	g, file := newGroup(t), filepath.Join(t.TempDir(), "m")
	require.Zero(t, runCommand(t, "", nil, g.enter(wrapped(file, load, "burn:1500ms", "sleep:500ms")...)...).status)
	got := readMessage(t, file)
	assert.Positive(t, got.Cores)
	assert.Less(t, got.Cores, 1.5, "one goroutine uses at most one core")
}

func TestOOMKillIsReported(t *testing.T) {
	g, file := newGroup(t), filepath.Join(t.TempDir(), "m")
	g.set(t, "memory", g.limit, 64*mib)
	steps := []string{load, "alloc:20", "sleep:100ms", "alloc:200", "sleep:1s"}
	alone := runCommand(t, "", nil, g.enter(steps...)...)
	require.Equal(t, syscall.SIGKILL, alone.status.Signal())
	assert.Equal(t, alone, runCommand(t, "", nil, g.enter(wrapped(file, steps...)...)...))
	got := readMessage(t, file)
	assert.Equal(t, 1, got.Kills)
	assert.Equal(t, 137, got.Exit)
}

// bomb starts 50 processes. The shell prints an error if the process limit is lower.
const bomb = `i=0; while [ $i -lt 50 ]; do sleep 4 & i=$((i+1)); done; wait`

func TestForkBombEndsAsWithoutWrapper(t *testing.T) {
	g := newGroup(t)
	for _, limit := range []int{16, 30, 100} {
		g.set(t, "pids", "pids.max", limit)
		file := filepath.Join(t.TempDir(), "m")
		alone := runCommand(t, "", nil, g.enter("sh", "-c", bomb)...)
		awaitEmpty(t, g)
		got := runCommand(t, "", nil, g.enter(wrapped(file, "sh", "-c", bomb)...)...)
		awaitEmpty(t, g)
		assert.Equal(t, alone.status, got.status, "%d processes: %s", limit, got.output)
		assert.Equal(t, alone.status.ExitStatus(), readMessage(t, file).Exit)
	}
}

func awaitEmpty(t *testing.T, g group) {
	require.Eventually(t, func() bool {
		return read(t, filepath.Join(g.dirs["pids"], "pids.current")) == "0\n" // zombies count
	}, testwait.Limit, 20*ms)
}

// isolated returns a command that runs as PID 1 of new namespaces (unshare(1)).
func isolated(t *testing.T, command ...string) []string {
	unshare := []string{"unshare", "--pid", "--fork", "--mount-proc"}
	if err := exec.Command(unshare[0], append(unshare[1:], "true")...).Run(); err != nil {
		t.Skip("this user cannot create namespaces: ", err)
	}
	return append(unshare, command...)
}

func TestPID1ReturnsExitCodeOfProgram(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   int
	}{
		"an exit code":         {"exit 7", 7},
		"a kill":               {"kill -9 $$", 137},
		"a crash":              {"kill -SEGV $$", 139},
		"a SIGTERM to itself":  {"kill -TERM $$", 143},
		"a SIGTERM to PID 1":   {"kill -TERM 1; sleep 10", 143},
		"a remaining process":  {"sleep 60 & exit 8", 8},
		"reaped zombies":       {"for i in 1 2 3; do (sleep 0 & ); done; for i in $(seq 100); do sleep 0.1; grep -l '^State:.Z' /proc/[0-9]*/status 2>/dev/null || exit 9; done", 9},
		"program is not PID 1": {"[ $$ -ne 1 ] && exit 10", 10},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "m")
			got := runCommand(t, "", nil, isolated(t, wrapped(file, "sh", "-c", c.script)...)...)
			assert.Equal(t, c.want, got.status.ExitStatus(), got.output)
			assert.Equal(t, c.want, readMessage(t, file).Exit)
		})
	}
}

func TestProcessTreeWithoutCgroup(t *testing.T) {
	for name, c := range map[string]struct {
		steps []string
		mib   int64
	}{
		"one process":             {[]string{"alloc:200", "sleep:300ms"}, 200},
		"a spike between samples": {[]string{"sleep:1s", "spike:200:1ms"}, 200},
		"four children":           {[]string{"children:4:alloc+50,meet+" + t.TempDir() + "+4,sleep+3s"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "m")
			hide := []string{"sh", "-c", `mount -t tmpfs none /sys/fs/cgroup && exec "$@"`, "sh"}
			command := isolated(t, append(hide, wrapped(file, append([]string{load, "burn:200ms"}, c.steps...)...)...)...)
			ended := runCommand(t, "", nil, append([]string{"unshare", "--mount"}, command...)...)
			require.Zero(t, ended.status, ended.output)
			got := readMessage(t, file)
			assert.Equal(t, "proc", got.Source)
			assert.Greater(t, got.Peak, c.mib*mib)
			assert.Less(t, got.Peak, (c.mib+40)*mib)
			assert.Positive(t, got.Cores)
		})
	}
}
