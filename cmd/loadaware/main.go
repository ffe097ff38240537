// Command loadaware predicts, before the launch of an Airflow task, how much memory and CPU the
// task needs. It learns from the reports after the end of the task.
//
// This package parses the command line and calls the other packages. Only this package and the packages
// in internal/cli define flags of loadaware. This package contains no sizing rule.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/loadaware/loadaware/internal/app"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/cli/campaigns"
	"github.com/loadaware/loadaware/internal/cli/experiments"
	"github.com/loadaware/loadaware/internal/cli/imports"
	"github.com/loadaware/loadaware/internal/httpserver"
	"github.com/loadaware/loadaware/internal/interrupt"
)

func subcommands() []cli.Subcommand {
	return []cli.Subcommand{
		{Name: "serve", Summary: "serve predictions over HTTP", Run: serve},
		{Name: "tasks", Summary: "list the tasks that a server knows", Run: listTasks},
		{Name: "savings", Summary: "print what a server saved, from its ledger", Run: printSavings},
		{Name: "report", Summary: "compare requested, granted and used memory per task", Run: printReport},
		{Name: "predict", Summary: "ask a server how much a task needs", Run: predictTask},
		{Name: "runtime", Summary: "describe run times, and find timeouts that do not fit", Run: runTimes},
		{Name: "profiles", Summary: "list groups of runs that use resources alike", Run: usageProfiles},
		{Name: "explain", Summary: "explain an answer", Run: explainAnswer},
		{Name: "whatif", Summary: "replay history with other settings", Run: whatIf},
		{Name: "policy", Summary: "print or change the policy of a task", Run: runPolicy},
		{Name: "train", Summary: "train a task now; without a task, run the trainer process, as serve does", Run: train},
		{Name: "import", Summary: "send history to a server, or into its database", Run: imports.Run},
		{Name: "backtest", Summary: "replay history and compare loadaware with other rules", Run: backtestHistory},
		{Name: "phases", Summary: "describe the phases and the plan of a task, or replay limits that grow during a run", Run: runPhases},
		{Name: "experiment", Summary: "evaluate binnings and model families on a history", Run: experiments.Run},
		{Name: "campaign", Summary: "reproduce archived runs in a sandbox to learn their usage", Run: campaigns.Run},
		{Name: "migrate", Summary: "migrate the tables of the database up or down", Run: migrate},
		{Name: "doctor", Summary: "check a deployment and print advice", Run: checkDeployment},
		{Name: "token", Summary: "create a bearer token and its hash for LOADAWARE_TOKENS", Run: createToken},
		{Name: "version", Summary: "print the version", Run: version},
	}
}

func main() {
	con := cli.Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(runInterruptible(interrupt.Context(httpserver.ErrTerminated), con, os.Args[1:]))
}

// runInterruptible runs a command and returns the exit code. After a signal it waits up to 0.7 s for a command without its
// own shutdown, and longer only for a migration. Then the process exits, even during a computation. No report is
// lost, because all acknowledged reports are stored; the result of the computation is lost.
func runInterruptible(ctx context.Context, con cli.Console, args []string) int {
	if stopsByItself(args) {
		return run(ctx, con, args)
	}
	con.In = interrupt.NewReader(ctx, con.In)
	return interrupt.Run(ctx, func() int { return run(ctx, con, args) }, app.AwaitMigrations,
		func(i *interrupt.Interruption) { fmt.Fprintln(con.Err, "loadaware:", i) })
}

// stopsByItself reports whether the command has its own shutdown. serve stops the trainer process (train) by closing
// its input.
func stopsByItself(args []string) bool {
	return len(args) > 0 && (args[0] == "serve" || args[0] == "train" && app.IsSupervised())
}

// run runs a command, prints its error, and returns the exit code.
func run(ctx context.Context, con cli.Console, args []string) int {
	err := dispatch(ctx, con, args)
	if i := interrupt.Of(ctx); i != nil && err != nil && !stopsByItself(args) {
		fmt.Fprintln(con.Err, "loadaware:", i.Explain(err))
		return i.ExitCode()
	}
	if message := cli.ErrorMessage(err); message != "" {
		fmt.Fprintln(con.Err, "loadaware:", message)
	}
	return cli.ExitCode(err)
}

func dispatch(ctx context.Context, con cli.Console, args []string) error {
	if len(args) == 0 {
		printUsage(con.Err)
		return cli.UsageErrorf("no command given")
	}
	switch args[0] {
	case "help", "--help", "-help", "-h":
		printUsage(con.Out)
		return nil
	case "--version", "-version":
		return version(ctx, con, args[1:])
	}
	for _, v := range subcommands() {
		if v.Name == args[0] {
			return v.Run(ctx, con, args[1:])
		}
	}
	return cli.UsageErrorf("unknown command %q; see loadaware --help", args[0])
}

func printUsage(w io.Writer) {
	fmt.Fprint(w, "loadaware sizes Airflow tasks: it predicts before a launch and learns from reports afterwards.\n\nUsage: loadaware COMMAND [flags]\n\nCommands:\n")
	for _, v := range subcommands() {
		fmt.Fprintf(w, "  %-10s %s\n", v.Name, v.Summary)
	}
	fmt.Fprint(w, "\nloadaware --version prints the version.\nloadaware COMMAND --help lists every flag with its default and its environment variable.\n\n", cli.ExitCodes)
}
