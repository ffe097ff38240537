package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// interruptGrace is how long a verb may take to stop by itself after a signal: long
// enough to report what it stored, short enough for a person at a terminal.
const interruptGrace = 700 * time.Millisecond

// interruption is the cause of a context that a signal ended.
type interruption struct {
	signal syscall.Signal
	cause  error
}

func (i *interruption) Error() string { return "interrupted by " + signalName(i.signal) }
func (i *interruption) Unwrap() error { return i.cause }

// exitCode follows the shell's convention: 130 for SIGINT, 143 for SIGTERM.
func (i *interruption) exitCode() int { return 128 + int(i.signal) }

// explain adds to the signal's name what the verb said when it stopped.
func (i *interruption) explain(err error) string {
	if errors.Is(err, i) || err.Error() == context.Canceled.Error() {
		return strings.ReplaceAll(err.Error(), context.Canceled.Error(), i.Error())
	}
	return i.Error() + ": " + err.Error()
}

func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}
	if name := names[s]; name != "" {
		return name
	}
	return s.String()
}

// interruptionOf returns why ctx ended, or nil if no signal ended it.
func interruptionOf(ctx context.Context) *interruption {
	var i *interruption
	errors.As(context.Cause(ctx), &i)
	return i
}

// untilSignalled returns a context that ends with the first signal. A second one ends
// the process at once: the default is back in force before anybody can see that the
// first one came.
func untilSignalled() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	first := make(chan os.Signal, 1)
	signal.Notify(first, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		received := <-first
		signal.Stop(first)
		number, _ := received.(syscall.Signal) // every signal of the list above is one
		cancel(&interruption{number, causeOf(received)})
	}()
	return ctx
}

// stepGrace is how long an interruption waits for a step of the tables that is being
// rolled back: a process that ended earlier would leave it marked as broken off.
const stepGrace = 10 * time.Second

// applyingSteps counts the changes of the tables under way in this process.
var applyingSteps sync.WaitGroup

// applySteps runs a change of the tables, which an interruption waits for.
func applySteps(apply func() error) error {
	applyingSteps.Add(1)
	defer applyingSteps.Done()
	return apply()
}

// runInterruptible returns the exit code of what the arguments ask for. Some verbs
// cannot notice the end of ctx, because they read standard input or compute: after
// interruptGrace the process ends without them. All that was acknowledged is stored,
// and a private PostgreSQL shuts down with its parent.
func runInterruptible(ctx context.Context, con console, args []string) int {
	if !stopsByItself(args) {
		con.in = &interruptibleReader{ctx: ctx, from: con.in}
	}
	done := make(chan int, 1)
	go func() { done <- run(ctx, con, args) }()
	select {
	case code := <-done:
		return code
	case <-ctx.Done():
	}
	if stopsByItself(args) {
		return <-done
	}
	select {
	case code := <-done:
		return code
	case <-time.After(interruptGrace):
	}
	rolledBack := make(chan struct{})
	go func() { applyingSteps.Wait(); close(rolledBack) }()
	select {
	case code := <-done:
		return code
	case <-rolledBack:
	case <-time.After(stepGrace):
	}
	i := interruptionOf(ctx)
	fmt.Fprintln(con.err, "loadaware:", i)
	return i.exitCode()
}

// stopsByItself reports whether the verb drains in its own time: serve, and the learner
// that serve ends by ending its input.
func stopsByItself(args []string) bool {
	return len(args) > 0 && (args[0] == "serve" || args[0] == "train" && isSupervised())
}

// interruptibleReader reads standard input until ctx ends, also while a read of the
// operating system waits for input.
type interruptibleReader struct {
	ctx   context.Context
	from  io.Reader
	start sync.Once
	pipe  *io.PipeReader
}

// Read implements io.Reader. The first call starts the goroutine that reads ahead.
func (r *interruptibleReader) Read(p []byte) (int, error) {
	r.start.Do(func() {
		var in *io.PipeWriter
		r.pipe, in = io.Pipe()
		context.AfterFunc(r.ctx, func() { in.CloseWithError(context.Cause(r.ctx)) })
		go func() {
			_, err := io.Copy(in, r.from)
			in.CloseWithError(err)
		}()
	})
	return r.pipe.Read(p)
}
