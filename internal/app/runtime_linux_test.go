package app

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBallastIsNotResident(t *testing.T) {
	touchArena()
	runtime.GC() // the ballast may reuse the freed arena
	before := memory(t, "VmHWM:")
	release := setGCPace()
	increase := memory(t, "VmHWM:") - before
	release()
	assert.Less(t, increase, ballastSize/4)
}

// touchArena makes 64 MiB resident. After it returns, the next garbage collection frees them.
//
//go:noinline
func touchArena() {
	used := make([]byte, 64<<20)
	for i := range used {
		used[i] = 1
	}
	runtime.KeepAlive(used)
}

// memory returns a field of /proc/self/status in bytes.
func memory(t *testing.T, field string) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, field); ok {
			kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")))
			require.NoError(t, err)
			return kib << 10
		}
	}
	t.Fatal("/proc/self/status has no " + field)
	return 0
}
