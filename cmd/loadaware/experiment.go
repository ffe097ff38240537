package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loadaware/loadaware/internal/app"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/experiment/tracking"
	"github.com/loadaware/loadaware/internal/pglocal"
)

// experimentVerbs returns the subcommands of experiment in the order of --help.
func experimentVerbs() []verb {
	return []verb{
		{"run", "evaluate binnings, model families and oversampling on a history", runExperiment},
		{"list", "list the saved experiments", listExperiments},
		{"show", "show one saved experiment", showExperiment},
		{"compare", "compare two saved experiments by setting", compareExperiments},
		{"export", "export a saved experiment to an MLflow file store", exportExperiment},
	}
}

func experimentUsage() string {
	var usage strings.Builder
	usage.WriteString("COMMAND [flags]\n\nEvaluates binnings and model families on the history of tasks.\n\nCommands:\n")
	for _, v := range experimentVerbs() {
		fmt.Fprintf(&usage, "  %-8s %s\n", v.name, v.summary)
	}
	usage.WriteString("\nloadaware experiment COMMAND --help lists every flag.")
	return usage.String()
}

func experimentVerb(ctx context.Context, con console, args []string) error {
	cmd := newCommand("experiment", experimentUsage())
	if len(args) > 0 {
		for _, v := range experimentVerbs() {
			if v.name == args[0] {
				return v.run(ctx, con, args[1:])
			}
		}
	}
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return usageErrorf("name a command; see loadaware experiment --help")
	}
	return usageErrorf("unknown command %q; see loadaware experiment --help", rest[0])
}

// experimentPlace is the part of the help about the place of saved experiments.
const experimentPlace = `

Where: --url (LOADAWARE_URL), --database or --data if given; else DATABASE_URL if
set; else the server at LOADAWARE_ADDR (127.0.0.1:8080 if not set) if it answers;
else the data folder. If a server uses that folder, the command asks the server.`

// openExperiments opens the store that experimentPlace describes. It creates a data folder
// only to save into a folder that the command line names.
func openExperiments(ctx context.Context, con console, cmd *command, saving bool) (tracking.Store, func(), error) {
	server, storeNamed := cmd.server(), cmd.given("database") || cmd.given("data")
	noStop := func() {}
	switch {
	case cmd.serverGiven() || !storeNamed && cmd.URL != "":
		return tracking.NewServerStore(server), noStop, nil
	case storeNamed || cmd.DatabaseURL != "":
	case server.IsAvailable(ctx):
		return tracking.NewServerStore(server), noStop, nil
	}
	mayCreate := saving && storeNamed
	if !cmd.HasDatabase() && !mayCreate {
		return nil, nil, fmt.Errorf("no saved experiments: no server answers at %s, and the data folder %s does not exist; name a server with --url, another folder with --data, or a database with --database",
			server.URL, cmd.Data)
	}
	st, stop, err := app.OpenStore(ctx, &cmd.Config, cmd.Logger(con.err))
	if inUse := (*pglocal.InUseError)(nil); errors.As(err, &inUse) && inUse.Addr != "" {
		return tracking.NewServerStore(client.New("http://"+inUse.Addr, cmd.Token)), noStop, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return tracking.NewDatabaseStore(st, cmd.Location()), stop, nil
}
