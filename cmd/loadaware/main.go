package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// A verb is one thing that the command does, in a file of its own.
type verb struct {
	name, does string
	run        func(ctx context.Context, con console, args []string) error
}

// verbs are in the order of --help.
func verbs() []verb {
	return []verb{
		{"serve", "answer how much a task needs, over HTTP", serve},
		{"train", "learn what is due; serve starts one for itself", train},
		{"import", "send history to a server, or into its database", importHistory},
		{"backtest", "replay history: what loadaware and its rivals would have wasted", backtestHistory},
		{"experiment", "try binnings and families on a history, and compare them", experimentVerb},
		{"migrate", "bring the database's tables up to date, or take steps back", migrate},
		{"doctor", "look at a deployment, and say what is wrong and what to do", doctor},
		{"token", "make a bearer token and its hashed form for LOADAWARE_TOKENS", makeToken},
		{"version", "say which build this is", version},
	}
}

func main() {
	ctx := untilSignalled()
	os.Exit(run(ctx, console{in: os.Stdin, out: os.Stdout, err: os.Stderr}, os.Args[1:]))
}

// untilSignalled ends with the first signal. A second one ends the process at once:
// the default is back in force before anybody can see that the first one came.
func untilSignalled() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	first := make(chan os.Signal, 1)
	signal.Notify(first, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		signalled := <-first
		signal.Stop(first)
		cancel(causeOf(signalled))
	}()
	return ctx
}

// run does what the arguments say, and returns the exit code.
func run(ctx context.Context, con console, args []string) int {
	err := dispatch(ctx, con, args)
	if message := complaint(err); message != "" {
		fmt.Fprintln(con.err, "loadaware:", message)
	}
	return exitCode(err)
}

func dispatch(ctx context.Context, con console, args []string) error {
	if len(args) == 0 {
		con.usage(con.err)
		return usageErrorf("no command was given")
	}
	switch args[0] {
	case "help", "--help", "-help", "-h":
		con.usage(con.out)
		return nil
	case "--version", "-version":
		return version(ctx, con, args[1:])
	}
	for _, v := range verbs() {
		if v.name == args[0] {
			return v.run(ctx, con, args[1:])
		}
	}
	return usageErrorf("there is no command %q: loadaware --help lists them", args[0])
}
