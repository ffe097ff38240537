package trainer

import (
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nice reads the calling thread's nice value: the system call gives 20 minus it.
func nice(t *testing.T) int {
	raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	require.NoError(t, err)
	return 20 - raw
}

func TestOnlyTheSearchRunsAtLowestPriority(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, within := nice(t), 0
	runAtLowestPriority(func() { within = nice(t) })
	assert.Equal(t, lowestPriority, within)
	assert.Equal(t, before, nice(t))
}
