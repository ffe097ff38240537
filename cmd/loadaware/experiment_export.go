package main

import (
	"context"
	"fmt"

	"github.com/loadaware/loadaware/internal/experiment"
)

const experimentExportUsage = `ID --mlflow DIR [flags]

Writes a kept experiment, by its id or its name, into DIR in the layout of MLflow's
file store: a run with the parameters, the report and the models, and below it one
for each setting, whose metrics have the seeds as steps. To look at it:

  mlflow ui --backend-store-uri file:DIR

MLflow 3 opens such a folder with MLFLOW_ALLOW_FILE_STORE=true, or takes it over
into a database with mlflow migrate-filestore. A second export replaces the first.` + experimentPlace

func exportExperiment(ctx context.Context, con console, args []string) error {
	cmd := newCommand("experiment export", experimentExportUsage, "url", "token", "database", "data")
	dir := cmd.String("mlflow", "", "`folder` to write into; made if missing")
	rest, err := cmd.parse(con, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 || *dir == "" {
		return usageErrorf("name one experiment by its id or its name, and a folder by --mlflow; see loadaware experiment export --help")
	}
	st, stop, err := openExperiments(ctx, con, cmd, false)
	if err != nil {
		return err
	}
	defer stop()
	k, err := st.find(ctx, rest[0])
	if err != nil {
		return err
	}
	models, err := st.models(ctx, k)
	if err != nil {
		return err
	}
	kept := &experiment.Kept{ID: k.ID, Name: k.Name, CreatedAt: k.CreatedAt, Fingerprint: k.Fingerprint,
		Parameters: k.Parameters, Rows: k.Rows, Report: k.Report}
	for _, m := range models {
		kept.Models = append(kept.Models, experiment.KeptModel{Task: m.Task, Family: m.Family, Blob: m.Blob})
	}
	if err := experiment.ExportMLflow(*dir, kept); err != nil {
		return err
	}
	_, err = fmt.Fprintf(con.out, "%s is in %s: mlflow ui --backend-store-uri file:%s\n", k.title(), *dir, *dir)
	return err
}
