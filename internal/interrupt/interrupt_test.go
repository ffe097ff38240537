package interrupt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func cancelled() (context.Context, *Interruption) {
	ctx, cancel := context.WithCancelCause(context.Background())
	i := &Interruption{syscall.SIGTERM, context.Canceled}
	cancel(i)
	return ctx, i
}

func TestReaderEndsWithContext(t *testing.T) {
	ctx, i := cancelled()
	from, _ := io.Pipe() // never has input
	_, err := NewReader(ctx, from).Read(make([]byte, 1))
	assert.ErrorIs(t, err, i)
}

func TestRunReturnsWhileTheCommandIsBlocked(t *testing.T) {
	ctx, i := cancelled()
	blocked := make(chan struct{})
	defer close(blocked)
	var reported *Interruption
	awaited := false
	code := Run(ctx, func() int { <-blocked; return 0 }, func() { awaited = true }, func(i *Interruption) { reported = i })
	assert.Equal(t, 143, code)
	assert.True(t, awaited)
	assert.Equal(t, i, reported)
}

func TestRunReturnsExitCodeOfCommand(t *testing.T) {
	ctx, _ := cancelled()
	awaited := make(chan struct{}) // open during the test, so that Run waits for the command even if a busy machine starts it after the grace period
	defer close(awaited)
	assert.Equal(t, 3, Run(ctx, func() int { return 3 }, func() { <-awaited }, func(*Interruption) {}))
}

func TestRunWaitsForTheCommandWithoutASignal(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	code := Run(ctx, func() int { time.Sleep(gracePeriod + 50*time.Millisecond); return 3 }, func() {}, func(*Interruption) { t.Error("no signal was received") })
	assert.Equal(t, 3, code)
}

func TestExplainNamesSignalOnce(t *testing.T) {
	_, i := cancelled()
	assert.Equal(t, "interrupted by SIGTERM", i.Explain(context.Canceled))
	assert.Equal(t, "read: interrupted by SIGTERM", i.Explain(fmt.Errorf("read: %w", context.Canceled)))
	assert.Equal(t, "read: interrupted by SIGTERM", i.Explain(fmt.Errorf("read: %w", i)))
	assert.Equal(t, "interrupted by SIGTERM: no such file", i.Explain(errors.New("no such file")))
}

func TestOnlyAnInterruptionBySIGTERMWrapsTerminated(t *testing.T) {
	terminated := errors.New("terminated")
	assert.ErrorIs(t, newInterruption(syscall.SIGTERM, terminated), terminated)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		i := newInterruption(s, terminated)
		assert.NotErrorIs(t, i, terminated)
		assert.ErrorIs(t, i, context.Canceled)
	}
}
