package trainer

import (
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nice returns the nice value of the thread. The system call returns 20 minus this value.
func nice(t *testing.T) int {
	raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	require.NoError(t, err)
	return 20 - raw
}

func TestOnlyTheFunctionRunsAtLowerPriority(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, within := nice(t), 0
	require.NoError(t, RunAtLowerPriority(func() error { within = nice(t); return nil }))
	assert.Equal(t, min(before+niceIncrement, 19), within)
	assert.Equal(t, before, nice(t))
	require.ErrorContains(t, RunAtLowerPriority(func() error { panic("a defect") }), "a defect")
}
