package main

import (
	"context"
	"fmt"
	"strings"
)

// experiments are what can be done about experiments, in the order of --help.
func experiments() []verb {
	return []verb{
		{"run", "try binnings, families and oversampling on a history", runExperiment},
		{"list", "list the runs that were kept", listExperiments},
		{"show", "show one of them", showExperiment},
		{"compare", "compare two of them, setting by setting", compareExperiments},
		{"export", "write one of them as MLflow keeps its runs", exportExperiment},
	}
}

func experimentUsage() string {
	var usage strings.Builder
	usage.WriteString("COMMAND [flags]\n\nTries binnings and families on the history of tasks, and compares them.\n\nCommands:\n")
	for _, v := range experiments() {
		fmt.Fprintf(&usage, "  %-8s %s\n", v.name, v.does)
	}
	usage.WriteString("\nloadaware experiment COMMAND --help says every flag.")
	return usage.String()
}

func experimentVerb(ctx context.Context, con console, args []string) error {
	cmd := newCommand("experiment", experimentUsage())
	if len(args) > 0 {
		for _, v := range experiments() {
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
		return usageErrorf("say what to do: loadaware experiment --help lists it")
	}
	return usageErrorf("there is no command %q of experiment: loadaware experiment --help lists them", rest[0])
}
