package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/loadaware/loadaware/internal/experiment"
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

const experimentExportUsage = `ID --mlflow DIR [flags]

Exports a saved experiment, given by its id or name, into DIR in the layout of MLflow's
file store: a parent run with the parameters, the report and the models, and a child run
for each setting, whose metrics have the seeds as steps. To open it:

  mlflow ui --backend-store-uri file:DIR

MLflow 3 opens such a folder with MLFLOW_ALLOW_FILE_STORE=true, or imports it into a
database with mlflow migrate-filestore. A second export replaces the first.` + experimentPlace

func exportExperiment(ctx context.Context, con console, args []string) error {
	cmd := newCommand("experiment export", experimentExportUsage, "url", "token", "database", "data")
	dir := cmd.String("mlflow", "", "`folder` to write into; created if missing")
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 || *dir == "" {
		return usageErrorf("name one experiment by its id or its name, and a folder with --mlflow; see loadaware experiment export --help")
	}
	st, stop, err := openExperiments(ctx, con, cmd, false)
	if err != nil {
		return err
	}
	defer stop()
	run, err := st.find(ctx, rest[0])
	if err != nil {
		return err
	}
	models, err := st.models(ctx, run)
	if err != nil {
		return err
	}
	kept := &experiment.StoredRun{ID: run.ID, Name: run.Name, CreatedAt: run.CreatedAt, Fingerprint: run.Fingerprint,
		Parameters: run.Parameters, Rows: run.Rows, Report: run.Report}
	for _, m := range models {
		kept.Models = append(kept.Models, experiment.StoredModel{Task: m.Task, Family: m.Family, Blob: m.Blob})
	}
	if err := experiment.ExportMLflow(*dir, kept); err != nil {
		return err
	}
	_, err = fmt.Fprintf(con.out, "%s is in %s: mlflow ui --backend-store-uri file:%s\n", run.title(), *dir, *dir)
	return err
}
