// Command loadaware predicts how much memory and CPU an Airflow task needs before its
// launch, and learns from the reports after its end.
//
// This package parses the command line and calls the other packages. It alone knows flags,
// terminals and exit codes. It contains no sizing rule.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/loadaware/loadaware/internal/app"
	"github.com/loadaware/loadaware/internal/httpserver"
	"github.com/loadaware/loadaware/internal/interrupt"
)

// A verb is one subcommand.
type verb struct {
	name, summary string
	run           func(ctx context.Context, con console, args []string) error
}

// verbs returns all subcommands in the order of --help.
func verbs() []verb {
	return []verb{
		{"serve", "serve predictions over HTTP", serve},
		{"tasks", "list the tasks that a server knows", listTasks},
		{"predict", "ask a server how much a task needs", predictTask},
		{"policy", "print or change the policy of a task", policyVerb},
		{"train", "train a task now; without a task run the trainer process of serve", train},
		{"import", "send history to a server, or into its database", importHistory},
		{"backtest", "replay history and compare loadaware with other policies", backtestHistory},
		{"experiment", "evaluate binnings and model families on a history", experimentVerb},
		{"migrate", "migrate the tables of the database up or down", migrate},
		{"doctor", "check a deployment and print advice", doctorVerb},
		{"token", "create a bearer token and its hash for LOADAWARE_TOKENS", createToken},
		{"version", "print the version", version},
	}
}

func main() {
	con := console{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	os.Exit(runInterruptible(interrupt.Context(httpserver.ErrTerminated), con, os.Args[1:]))
}

// runInterruptible runs the verb and returns its exit code. After a signal it does not wait
// for verbs that compute: everything acknowledged is stored, and a private PostgreSQL shuts
// down with its parent process.
func runInterruptible(ctx context.Context, con console, args []string) int {
	if stopsByItself(args) {
		return run(ctx, con, args)
	}
	con.in = interrupt.NewReader(ctx, con.in)
	return interrupt.Run(ctx, func() int { return run(ctx, con, args) }, app.AwaitMigrations,
		func(i *interrupt.Interruption) { fmt.Fprintln(con.err, "loadaware:", i) })
}

// stopsByItself reports whether the verb has its own shutdown: serve, and the trainer
// process, which serve stops by closing its input.
func stopsByItself(args []string) bool {
	return len(args) > 0 && (args[0] == "serve" || args[0] == "train" && app.IsSupervised())
}

// run runs the verb in the arguments and returns the exit code.
func run(ctx context.Context, con console, args []string) int {
	err := dispatch(ctx, con, args)
	if i := interrupt.Of(ctx); i != nil && err != nil && !stopsByItself(args) {
		fmt.Fprintln(con.err, "loadaware:", i.Explain(err))
		return i.ExitCode()
	}
	if message := errorMessage(err); message != "" {
		fmt.Fprintln(con.err, "loadaware:", message)
	}
	return exitCode(err)
}

func dispatch(ctx context.Context, con console, args []string) error {
	if len(args) == 0 {
		con.usage(con.err)
		return usageErrorf("no command given")
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
	return usageErrorf("unknown command %q; see loadaware --help", args[0])
}
