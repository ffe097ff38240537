// Command withpg runs a command with a private PostgreSQL, whose DSN is in LOADAWARE_TEST_DSN. It exits with the status
// of the command, with 1 for an error of its own, or with 2 if no command is given. For example:
//
//	go run ./internal/pglocal/pgtest/withpg go test ./...
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/loadaware/loadaware/internal/pglocal"
	"github.com/loadaware/loadaware/internal/pglocal/pgtest"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: withpg COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "withpg:", err)
	}
	os.Exit(code)
}

// run returns the exit code of the command, or 1 if PostgreSQL or the command did not start, if the command
// was killed or succeeded after an interruption, or if it succeeded and PostgreSQL did not stop or its
// data folder could not be removed.
func run(command []string) (code int, err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	server, err := pgtest.Start(ctx)
	if err != nil {
		return 1, err
	}
	defer func() {
		if failed := errors.Join(server.Stop(), pglocal.Remove(context.Background(), server.DataDir())); failed != nil {
			code, err = max(code, 1), errors.Join(err, failed)
		}
	}()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), pgtest.Env+"="+server.DSN())
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil { // the command did not start, or it succeeded after an interruption
		return 1, err
	}
	return 0, nil
}
