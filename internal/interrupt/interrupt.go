// Package interrupt ends a command on SIGINT, SIGTERM and SIGHUP, even if it does not check
// its context while it computes or waits for input.
package interrupt

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// gracePeriod is how long Run waits for a command after a signal before it calls its argument `await`. It is long enough to
// print the result, and short enough for a person who waits at a terminal.
const gracePeriod = 700 * time.Millisecond

// Interruption is the cause of a context that a signal cancelled.
type Interruption struct {
	signal syscall.Signal
	cause  error
}

// Error implements error.
func (i *Interruption) Error() string { return "interrupted by " + SignalName(i.signal) }

// Unwrap returns the cause that Context chose for the signal.
func (i *Interruption) Unwrap() error { return i.cause }

// ExitCode returns 128 plus the number of the signal, as shells do: 130 for SIGINT, 143 for SIGTERM.
func (i *Interruption) ExitCode() int { return 128 + int(i.signal) }

// Explain returns a message for err, the error of the interrupted command. If err wraps i or context.Canceled, and its
// message contains the message of i or "context canceled", Explain returns the message of err with the message of i in
// place of "context canceled". Otherwise it returns the message of i and then the message of err.
func (i *Interruption) Explain(err error) string {
	message := strings.ReplaceAll(err.Error(), context.Canceled.Error(), i.Error())
	if (errors.Is(err, i) || errors.Is(err, context.Canceled)) && strings.Contains(message, i.Error()) {
		return message
	}
	return i.Error() + ": " + err.Error()
}

// SignalName returns the name of a signal, such as SIGINT.
func SignalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}
	if name := names[s]; name != "" {
		return name
	}
	return s.String()
}

// Of returns the Interruption that cancelled ctx, or nil.
func Of(ctx context.Context) *Interruption {
	var i *Interruption
	errors.As(context.Cause(ctx), &i)
	return i
}

// Context returns a context that the first signal cancels. The cause of the context wraps the error `terminated` after
// SIGTERM, and context.Canceled after other signals, because a server drains after SIGTERM only. The second signal kills
// the process, because the first one restores the default action.
func Context(terminated error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		received := <-signals
		signal.Stop(signals)
		number, _ := received.(syscall.Signal) // on Unix every os.Signal is a syscall.Signal
		cancel(newInterruption(number, terminated))
	}()
	return ctx
}

func newInterruption(s syscall.Signal, terminated error) *Interruption {
	if s == syscall.SIGTERM {
		return &Interruption{s, terminated}
	}
	return &Interruption{s, context.Canceled}
}

// Run runs a command and returns its exit code. ctx comes from Context. After a signal, Run waits for the command during
// gracePeriod, and then until the command or the function `await` returns. `await` waits for work that must not be cut off,
// such as a migration (app.AwaitMigrations, at most 10 s). If the command still runs when `await` returns, Run calls the
// function `report` and returns the exit code of the signal. If ctx ends without a signal, Run waits for the command.
func Run(ctx context.Context, command func() int, await func(), report func(*Interruption)) int {
	done := make(chan int, 1)
	go func() { done <- command() }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	i := Of(ctx)
	if i == nil {
		return <-done
	}
	select {
	case code := <-done:
		return code
	case <-time.After(gracePeriod):
	}
	awaited := make(chan struct{})
	go func() { await(); close(awaited) }()
	select {
	case code := <-done:
		return code
	case <-awaited:
	}
	report(i)
	return i.ExitCode()
}
