package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/schollz/progressbar/v3"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/backtest/growth"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/client"
	"github.com/loadaware/loadaware/internal/ml/plan"
	"github.com/loadaware/loadaware/internal/render"
	"github.com/loadaware/loadaware/internal/sizing"
)

const phasesUsage = `DAG TASK [flags]
       loadaware phases replay [flags] SERIES.csv

DAG TASK describes the phases of a task of a running server, its next plan, and what limits that
grow during a run would have saved on the learned runs. The static grant of a run is the limit
that it had. For a run that loadaware did not size, this is often the static request. The savings
of such a run include what loadaware would have saved with a constant limit.

replay replays runs sample by sample, and compares limits that grow during a run with the static
grant that loadaware would have given. SERIES.csv has the columns dag_id, task_id, run_id,
seconds, memory_bytes and cpu_cores, plain or gzip; the rows of a run are in order of time,
and the runs of a task in order of their start. - is standard input. Every policy (a rule for
the limits) plans a run before it learns the run's series, except two with hindsight. Nothing is
stored, and no server is needed.

A run that uses more memory than its limit is killed and starts again. The costs of a policy
include the killed tries.
The first run of a task has no plan. The policies learn it, but it counts only if --request-gb
is given.

  loadaware phases pricing train
  loadaware phases replay series.csv
  loadaware phases replay -o json --poll 15 --reaction 30 series.csv.gz`

func runPhases(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("phases", phasesUsage, "url", "token")
	namespace := cmd.NamespaceFlag()
	poll := cmd.Float64("poll", plan.DefaultTiming.Poll, "seconds between two reads of the usage, 1 to 600")
	reaction := cmd.Float64("reaction", plan.DefaultTiming.Reaction, "seconds from a read until a new limit is in force, 1 to 600")
	request := cmd.Float64("request-gb", 0, "static request of every run in GB (1e9 bytes); with 0 the request is 4 GB, and the first run of each task does not count")
	format := cmd.String("o", "table", "output: table, json or markdown")
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if *format != "table" && *format != "json" && *format != "markdown" {
		return cli.UsageErrorf("-o must be table, json or markdown, not %q", *format)
	}
	if len(rest) > 0 && rest[0] != "replay" {
		return taskPhases(ctx, con, cmd, *namespace, *format, rest)
	}
	switch {
	case len(rest) == 0:
		return cli.UsageErrorf("use loadaware phases DAG TASK, or loadaware phases replay SERIES.csv; see loadaware phases --help")
	case len(rest) != 2:
		return cli.UsageErrorf("name one file of series to replay, or - for standard input; see loadaware phases --help")
	case !(*poll >= 1 && *poll <= 600):
		return cli.UsageErrorf("--poll must be 1 to 600 seconds, not %v", *poll)
	case !(*reaction >= 1 && *reaction <= 600):
		return cli.UsageErrorf("--reaction must be 1 to 600 seconds, not %v", *reaction)
	case !(*request >= 0 && *request <= sizing.MaxBytes/1e9):
		return cli.UsageErrorf("--request-gb must be 0 to %d, not %v", sizing.MaxBytes/1_000_000_000, *request)
	}
	runs, err := readSeries(con, rest[1])
	if err != nil {
		return err
	}
	bar := progressbar.NewOptions(len(runs), progressbar.OptionSetDescription("replaying"),
		progressbar.OptionSetWriter(con.Err), progressbar.OptionSetVisibility(cli.IsTerminal(con.Err)),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	report, err := growth.Replay(ctx, runs, growth.Config{
		Timing: plan.Timing{Poll: *poll, Reaction: *reaction}, Request: sizing.Bytes(*request * 1e9),
		Progress: func(runs int) { _ = bar.Add(runs) }, // a drawing error does not matter
	})
	if err != nil {
		return err
	}
	_ = bar.Finish()
	if *format == "json" {
		return render.JSON(con.Out, report)
	}
	return render.Growth(con.Out, report, *format)
}

func taskPhases(ctx context.Context, con cli.Console, cmd *cli.Command, namespace, format string, args []string) error {
	key, more, err := cli.TaskArgument("phases", namespace, args)
	if err != nil {
		return err
	}
	if len(more) > 0 {
		return cli.UsageErrorf("unexpected argument %q; see loadaware phases --help", more[0])
	}
	var answer json.RawMessage
	if err := cmd.Server().Call(ctx, http.MethodGet, client.TaskPath(key, "phases"), nil, &answer); err != nil {
		return cli.ExplainNotFound(err)
	}
	if format == "json" {
		return render.JSON(con.Out, answer)
	}
	var phases api.TaskPhases
	if err := json.Unmarshal(answer, &phases); err != nil {
		return err
	}
	return render.TaskPhases(con.Out, &phases, format)
}

func readSeries(con cli.Console, name string) ([]*growth.Run, error) {
	if name == "-" {
		return growth.Read("standard input", con.In)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the series: %w", err)
	}
	defer file.Close()
	return growth.Read(filepath.Base(name), file)
}
