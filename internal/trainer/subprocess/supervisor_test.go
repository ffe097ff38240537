package subprocess_test

import (
	"context"
	"log/slog"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/testwait"
	"github.com/loadaware/loadaware/internal/trainer"
	"github.com/loadaware/loadaware/internal/trainer/subprocess"
)

// supervise runs a command as the child until the test ends.
func supervise(t *testing.T, name string, args ...string) *subprocess.Supervisor {
	t.Helper()
	p := subprocess.New(func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, name, args...) },
		func(trainer.JobEnd) {}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		if pid, err := p.PID(); err == nil { // a child that does not read its input would end only after stopTimeout
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-done
	})
	return p
}

// A child that does not read its input delays only the requests to it.
func TestAChildThatDoesNotReadBlocksNoOtherCaller(t *testing.T) {
	p := supervise(t, "sleep", "60")
	require.Eventually(t, func() bool { _, err := p.PID(); return err == nil }, testwait.Limit, time.Millisecond)
	long, cancel := context.WithCancel(sizing.WithActor(t.Context(), strings.Repeat("a", 1<<20))) // more than a pipe holds
	defer cancel()
	blocked := make(chan error, 1)
	go func() {
		_, err := p.TrainNow(long, sizing.TaskKey{})
		blocked <- err
	}()
	for range 5 { // the first request is written during one of these
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := p.TrainNow(short, sizing.TaskKey{})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = p.PID()
		require.NoError(t, err)
	}
	cancel()
	require.ErrorIs(t, <-blocked, context.Canceled)
}

func TestTheEndOfAChildInterruptsItsRequests(t *testing.T) {
	p := supervise(t, "head", "-c", "1") // reads a request and ends
	_, err := p.TrainNow(t.Context(), sizing.TaskKey{})
	require.Equal(t, sizing.Unavailable, sizing.KindOf(err))
	require.ErrorContains(t, err, "interrupted")
}
