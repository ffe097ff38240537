// Package experiments implements the command experiment, which evaluates model families on a history, and lists, shows,
// compares and exports saved experiments.
package experiments

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loadaware/loadaware/internal/app"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/experiment/tracking"
	"github.com/loadaware/loadaware/internal/pglocal"
)

func subcommands() []cli.Subcommand {
	return []cli.Subcommand{
		{Name: "run", Summary: "evaluate binnings, model families and oversampling on a history", Run: runExperiment},
		{Name: "list", Summary: "list the saved experiments", Run: listExperiments},
		{Name: "show", Summary: "show one saved experiment", Run: showExperiment},
		{Name: "compare", Summary: "compare two saved experiments", Run: compareExperiments},
		{Name: "export", Summary: "export a saved experiment to an MLflow file store", Run: exportExperiment},
	}
}

func usage() string {
	var text strings.Builder
	text.WriteString("COMMAND [flags]\n\nEvaluates binnings and model families on the history of tasks.\n\nCommands:\n")
	for _, v := range subcommands() {
		fmt.Fprintf(&text, "  %-8s %s\n", v.Name, v.Summary)
	}
	text.WriteString("\nloadaware experiment COMMAND --help lists every flag.")
	return text.String()
}

// Run runs the command experiment.
func Run(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("experiment", usage())
	if len(args) > 0 {
		for _, v := range subcommands() {
			if v.Name == args[0] {
				return v.Run(ctx, con, args[1:])
			}
		}
	}
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return cli.UsageErrorf("name a command; see loadaware experiment --help")
	}
	return cli.UsageErrorf("unknown command %q; see loadaware experiment --help", rest[0])
}

const experimentPlace = `

Where experiments are saved: --url (LOADAWARE_URL), --database or --data if given; else
DATABASE_URL if set; else the server at LOADAWARE_ADDR (127.0.0.1:8080 if not set) if it
answers; else the data folder. If a server uses that folder, the command uses the server.`

// openExperiments opens the store that experimentPlace describes. It creates a data folder only if `saving` is true and the
// command line names the folder.
func openExperiments(ctx context.Context, con cli.Console, cmd *cli.Command, saving bool) (st tracking.Store, stop func(), err error) {
	server, storeNamed := cmd.Server(), cmd.Given("database") || cmd.Given("data")
	noStop := func() {}
	switch {
	case cmd.ServerGiven() || !storeNamed && cmd.URL != "":
		return tracking.NewServerStore(server), noStop, nil
	case storeNamed || cmd.DatabaseURL != "":
	case server.IsAvailable(ctx):
		return tracking.NewServerStore(server), noStop, nil
	}
	mayCreate := saving && storeNamed
	if !cmd.HasDatabase() && !mayCreate {
		cause := ""
		if !storeNamed {
			cause = fmt.Sprintf("no server answers at %s, and ", server.URL)
		}
		problem := "no saved experiments"
		if saving {
			problem = "no place to save experiments"
		}
		return nil, nil, fmt.Errorf("%s: %sthe data folder %s has no database; name a server with --url, another folder with --data, or a database with --database",
			problem, cause, cmd.Data)
	}
	database, stop, err := app.OpenStore(ctx, &cmd.Config, cmd.Logger(con.Err))
	if inUse := (*pglocal.InUseError)(nil); errors.As(err, &inUse) && inUse.Addr != "" {
		return tracking.NewServerStore(client.New(cmd.ServerAt(inUse.Addr), cmd.Token)), noStop, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return tracking.NewDatabaseStore(database, cmd.Location()), stop, nil
}
