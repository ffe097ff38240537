package experiments

import (
	"context"
	"fmt"

	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/experiment/tracking"
)

const experimentListUsage = `[flags]

Lists the saved experiments, newest first.` + experimentPlace

func listExperiments(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("experiment list", experimentListUsage, "url", "token", "database", "data")
	limit := cmd.Int("limit", 20, "maximum number of experiments")
	before := cmd.Int64("before", 0, "only experiments with a lower id, for the next page; 0 for the newest")
	format := cmd.FormatFlag()
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if err := cli.CheckFormat(*format); err != nil {
		return err
	}
	if len(rest) > 0 || *limit < 1 || *before < 0 {
		return cli.UsageErrorf("list takes no argument; --limit must be 1 or more, and --before 0 or more; see loadaware experiment list --help")
	}
	experiments, stop, err := openExperiments(ctx, con, cmd, false)
	if err != nil {
		return err
	}
	defer stop()
	runs, err := experiments.List(ctx, *before, *limit)
	if err != nil {
		return err
	}
	return tracking.WriteList(con.Out, *format, runs)
}

const experimentShowUsage = `ID [flags]

Shows a saved experiment, given by its id or name: means over the seeds, and its models.
json has the whole report; csv has a line for each seed of each combination of task, bins,
family, oversampling and split.` + experimentPlace

func showExperiment(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("experiment show", experimentShowUsage, "url", "token", "database", "data")
	format := cmd.FormatFlag()
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if err := cli.CheckFormat(*format); err != nil {
		return err
	}
	if len(rest) != 1 {
		return cli.UsageErrorf("name one experiment by id or name; see loadaware experiment list")
	}
	experiments, stop, err := openExperiments(ctx, con, cmd, false)
	if err != nil {
		return err
	}
	defer stop()
	run, err := experiments.Find(ctx, rest[0])
	if err != nil {
		return err
	}
	if run.Models, err = experiments.DescribeModels(ctx, run.ID); err != nil {
		return err
	}
	return run.Write(con.Out, *format)
}

const experimentCompareUsage = `A B [flags]

Compares two saved experiments, A and B, for each combination of task, bins, family,
oversampling and split: the u score (lower is better) and the accuracy (higher is better),
as means over the seeds. u_diff and acc_diff are B minus A. u_se and acc_se are the standard
errors of these differences, from pairs of rows with the same seed, if A and B have the same
seeds.` + experimentPlace

func compareExperiments(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("experiment compare", experimentCompareUsage, "url", "token", "database", "data")
	format := cmd.FormatFlag()
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if err := cli.CheckFormat(*format); err != nil {
		return err
	}
	if len(rest) != 2 {
		return cli.UsageErrorf("name two experiments by id or name; see loadaware experiment list")
	}
	experiments, stop, err := openExperiments(ctx, con, cmd, false)
	if err != nil {
		return err
	}
	defer stop()
	a, err := experiments.Find(ctx, rest[0])
	if err != nil {
		return err
	}
	b, err := experiments.Find(ctx, rest[1])
	if err != nil {
		return err
	}
	return tracking.Compare(a, b).Write(con.Out, con.Err, *format)
}

const experimentExportUsage = `ID --mlflow DIR [flags]

Exports a saved experiment, given by its id or name, into DIR in the layout of MLflow's
file store: a parent run with the parameters, the report and the models, and a child run
for each combination of task, bins, family, oversampling and split. The metrics of a child
run have the seeds as steps. To open it:

  mlflow ui --backend-store-uri file:DIR

MLflow 3 opens such a folder with MLFLOW_ALLOW_FILE_STORE=true, or imports it into a
database with mlflow migrate-filestore. A second export replaces the first.` + experimentPlace

func exportExperiment(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("experiment export", experimentExportUsage, "url", "token", "database", "data")
	dir := cmd.String("mlflow", "", "`folder` to write into; created if missing")
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 || *dir == "" {
		return cli.UsageErrorf("name one experiment by its id or its name, and a folder with --mlflow; see loadaware experiment export --help")
	}
	st, stop, err := openExperiments(ctx, con, cmd, false)
	if err != nil {
		return err
	}
	defer stop()
	run, err := st.Find(ctx, rest[0])
	if err != nil {
		return err
	}
	if err := tracking.Export(ctx, st, run, *dir); err != nil {
		return err
	}
	_, err = fmt.Fprintf(con.Out, "%s is in %s: mlflow ui --backend-store-uri file:%s\n", run.Title(), *dir, *dir)
	return err
}
