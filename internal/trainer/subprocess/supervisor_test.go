package subprocess_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
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

// asChild is an environment variable that makes this test binary a child. Its value says how the child behaves (TestMain).
const asChild = "LOADAWARE_TEST_AS_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(asChild) {
	case "":
		os.Exit(m.Run())
	case "closes its output":
		_ = os.Stdout.Close()
	case "sends invalid JSON":
		fmt.Println("invalid")
	}
	time.Sleep(testwait.Limit)
}

func supervise(t *testing.T, name string, args ...string) *subprocess.Supervisor {
	t.Helper()
	return superviseCommand(t, func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, name, args...) })
}

func superviseCommand(t *testing.T, command func(context.Context) *exec.Cmd) *subprocess.Supervisor {
	t.Helper()
	p := subprocess.New(command, func(trainer.JobEnd) {}, slog.New(slog.DiscardHandler))
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
	long, cancel := context.WithCancel(sizing.WithActor(t.Context(), strings.Repeat("a", 1<<20))) // larger than the buffer of a pipe
	defer cancel()
	blocked := make(chan error, 1)
	go func() {
		_, err := p.TrainNow(long, sizing.TaskKey{})
		blocked <- err
	}()
	for range 5 { // during these calls Supervisor.send still writes the long request
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

func TestAChildThatHangsWithoutValidOutputIsReplaced(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"closes its output", "sends invalid JSON"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			starts, replaced := 0, make(chan struct{})
			superviseCommand(t, func(ctx context.Context) *exec.Cmd {
				if starts++; starts > 1 {
					if starts == 2 {
						close(replaced)
					}
					return exec.CommandContext(ctx, "cat") // ends with its input
				}
				cmd := exec.CommandContext(ctx, os.Args[0])
				cmd.Env = append(os.Environ(), asChild+"="+mode)
				return cmd
			})
			select {
			case <-replaced:
			case <-time.After(testwait.Limit):
				require.FailNow(t, "the child is not killed")
			}
		})
	}
}
