package main

import (
	"context"
	"fmt"
	"os"
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
		{"tasks", "list the tasks that a server knows", listTasks},
		{"predict", "ask a server how much a task needs", predictTask},
		{"policy", "print or change what people decided for a task", policyVerb},
		{"train", "train a task now; without one learn what is due, as serve starts it", train},
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
	con := console{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	os.Exit(runInterruptible(untilSignalled(), con, os.Args[1:]))
}

// run does what the arguments say, and returns the exit code.
func run(ctx context.Context, con console, args []string) int {
	err := dispatch(ctx, con, args)
	if i := interruptionOf(ctx); i != nil && err != nil && !stopsByItself(args) {
		fmt.Fprintln(con.err, "loadaware:", i.explain(err))
		return i.exitCode()
	}
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
