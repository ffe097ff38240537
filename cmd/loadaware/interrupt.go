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

	"github.com/loadaware/loadaware/internal/httpserver"
)

// interruptGrace is how long a verb may take to stop after a signal: long enough to print
// its result, short enough for a person at a terminal.
const interruptGrace = 700 * time.Millisecond

// interruption is the cause of a context that a signal cancelled.
type interruption struct {
	signal syscall.Signal
	cause  error
}

func (i *interruption) Error() string { return "interrupted by " + signalName(i.signal) }
func (i *interruption) Unwrap() error { return i.cause }

// exitCode follows the shell's convention: 130 for SIGINT, 143 for SIGTERM.
func (i *interruption) exitCode() int { return 128 + int(i.signal) }

// explain combines the name of the signal with the error of the verb.
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

// interruptionOf returns the interruption that cancelled ctx, or nil.
func interruptionOf(ctx context.Context) *interruption {
	var i *interruption
	errors.As(context.Cause(ctx), &i)
	return i
}

// untilSignalled returns a context that the first signal cancels. The second signal kills
// the process, because the default action is restored before the cancellation.
func untilSignalled() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		received := <-signals
		signal.Stop(signals)
		number, _ := received.(syscall.Signal) // all of them are
		cancel(&interruption{number, cancelCause(received)})
	}()
	return ctx
}

// migrationGrace is how long an interruption waits for the rollback of a migration. If the
// process ended earlier, the migration would stay marked as incomplete.
const migrationGrace = 10 * time.Second

// runningMigrations counts the running migrations of this process.
var runningMigrations sync.WaitGroup

// runMigration runs a migration. An interruption waits for its end.
func runMigration(migrate func() error) error {
	runningMigrations.Add(1)
	defer runningMigrations.Done()
	return migrate()
}

// runInterruptible runs the verb and returns its exit code. Some verbs do not check ctx
// while they compute: after interruptGrace it returns without waiting for them. Everything
// acknowledged is stored, and a private PostgreSQL shuts down with its parent process.
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
	go func() { runningMigrations.Wait(); close(rolledBack) }()
	select {
	case code := <-done:
		return code
	case <-rolledBack:
	case <-time.After(migrationGrace):
	}
	i := interruptionOf(ctx)
	fmt.Fprintln(con.err, "loadaware:", i)
	return i.exitCode()
}

// stopsByItself reports whether the verb has its own shutdown: serve, and the trainer
// process, which serve stops by closing its input.
func stopsByItself(args []string) bool {
	return len(args) > 0 && (args[0] == "serve" || args[0] == "train" && isSupervised())
}

// interruptibleReader reads standard input until ctx ends, even while a system call waits
// for input.
type interruptibleReader struct {
	ctx   context.Context
	from  io.Reader
	start sync.Once
	pipe  *io.PipeReader
}

// Read implements io.Reader. The first call starts a goroutine that reads ahead.
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

// cancelCause returns the cause of a context that a signal cancels. Only SIGTERM lets the
// server drain; after a person's Ctrl-C it stops at once.
func cancelCause(signal os.Signal) error {
	if signal == syscall.SIGTERM {
		return httpserver.ErrTerminated
	}
	return context.Canceled
}
