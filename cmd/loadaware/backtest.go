package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"

	"github.com/loadaware/loadaware/internal/backtest"
	"github.com/loadaware/loadaware/internal/cli"
	"github.com/loadaware/loadaware/internal/importer"
	"github.com/loadaware/loadaware/internal/sizing"
)

const backtestUsage = `[flags] FILE…

Replays history in order of started_at, and compares the wastage of loadaware and of other
policies, which are rules for the grant. Every policy predicts a row before it receives the
result. A FILE is CSV or JSON lines as in loadaware import, plain or gzip; - is standard
input. Each file is a separate trace. Rows that cannot be read are skipped. Nothing is
stored, and no server is needed. --map and --unit read a CSV with other column names and units.

The wastage is divided by cause (kills: the whole allocation of killed tries; cold start: a
success that was sized without a model of its task, except a retry at the cap; cap: any
other success at the cap or above it; margin: any other success) and by the position of the
run in the history of its task (1, 2-5, 6-32, later).

--risk, --floor, --cap, --max-lifts and --bins are the settings of loadaware's own policy,
as in loadaware whatif.`

type backtestFlags struct {
	cfg    backtest.Config
	only   backtest.Selection
	layout backtest.Layout
	files  []string

	durations bool
}

func backtestHistory(ctx context.Context, con cli.Console, args []string) error {
	b, err := parseBacktest(con, args)
	if err != nil {
		return err
	}
	var traces []*backtest.Trace
	rejected := 0
	for _, name := range b.files {
		t, err := readTrace(con, name, b.only)
		if err != nil {
			return err
		}
		rejected += len(t.Rejected)
		printRejected(con, t)
		printRepeated(con, t)
		traces = append(traces, t)
	}
	bar := progressbar.NewOptions(b.cfg.Steps(traces...), progressbar.OptionSetDescription("replaying"),
		progressbar.OptionSetWriter(con.Err), progressbar.OptionSetVisibility(cli.IsTerminal(con.Err)),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	b.cfg.Progress = func(rows int) { _ = bar.Add(rows) } // a drawing error does not matter
	if err := runBacktest(ctx, con, b, traces, bar); err != nil || rejected == 0 {
		return err
	}
	return &importer.PartialError{Rows: rejected}
}

func runBacktest(ctx context.Context, con cli.Console, b *backtestFlags, traces []*backtest.Trace, bar *progressbar.ProgressBar) error {
	if b.durations {
		return backtestDurations(ctx, con, b, traces, bar)
	}
	var reports []*backtest.Report
	for _, t := range traces {
		report, err := backtest.Run(ctx, t, b.cfg)
		if err != nil {
			return err
		}
		reports = append(reports, report)
	}
	_ = bar.Finish()
	return backtest.Write(con.Out, b.layout, reports)
}

func backtestDurations(ctx context.Context, con cli.Console, b *backtestFlags, traces []*backtest.Trace, bar *progressbar.ProgressBar) error {
	var reports []*backtest.DurationReport
	for _, t := range traces {
		report, err := backtest.Durations(ctx, t, b.cfg)
		if err != nil {
			return err
		}
		reports = append(reports, report)
	}
	_ = bar.Finish()
	return backtest.WriteDurations(con.Out, b.layout.Format, reports)
}

func parseBacktest(con cli.Console, args []string) (*backtestFlags, error) {
	cmd := cli.New("backtest", backtestUsage)
	feedback := cmd.String("feedback", "immediate", "immediate: a policy receives a peak before the next prediction; delayed: when the try has ended; kills always arrive before the next prediction")
	policies := cmd.String("policies", "all", "policies to replay, separated by commas: all (without own-history and usage-profiles), or some of "+strings.Join(backtest.Policies(), ", "))
	tasks := cmd.String("tasks", "", "task ids to replay, separated by commas; all if empty")
	limit := cmd.Int("limit", 0, "number of rows of each file to replay, the oldest ones; 0 for all")
	skip := cmd.Float64("skip", 0, "share of the rows of each file, the oldest ones, that train the policies and count in no figure; at least 0 and below 1")
	ttf := cmd.Float64("ttf", 1, "time to failure: share of the duration after which a kill happens, above 0 and at most 1")
	defaultGB := cmd.Float64("default-gb", 4, "static request, in GB (1e9 bytes), of the rows that have none")
	format := cmd.String("o", "table", "output: "+strings.Join(backtest.Formats(), ", "))
	taskWastage := cmd.Bool("task-wastage", false, "print the wastage by cause and by run for each task and policy; json and csv always contain it")
	settings := newSettingsFlags(cmd)
	cmd.SetHelpDefault("none", "floor", "cap", "bins")
	cmd.SetHelpDefault(fmt.Sprint(sizing.DefaultRiskTarget), "risk")
	cmd.SetHelpDefault(fmt.Sprint(sizing.DefaultMaxLifts), "max-lifts")
	durations := cmd.Bool("durations", false, "evaluate the predicted run times instead: coverage, errors, and the Kolmogorov-Smirnov distance to the later run times; -o table, markdown or json")
	columns := cmd.LayoutFlags()
	similarBy := cmd.String("similar-by", "", "with --durations: names of metadata, separated by commas; the predicted run times of tasks without history are compared with the mean of earlier runs with the same values")
	files, err := cmd.ParseArgs(con, args)
	if err != nil {
		return nil, err
	}
	if err := cli.CheckLayout(columns); err != nil {
		return nil, err
	}
	b := &backtestFlags{files: files, layout: backtest.Layout{Format: *format, TaskWastage: *taskWastage}, only: backtest.Selection{Tasks: cli.SplitList(*tasks), Limit: *limit, Layout: *columns}, durations: *durations}
	b.cfg = backtest.Config{Delayed: *feedback == "delayed", Skip: *skip, TimeToFailure: *ttf, SimilarBy: cli.SplitList(*similarBy), DefaultRequest: sizing.Bytes(*defaultGB * 1e9)}
	if b.cfg.Settings, err = settings.policy(); err != nil {
		return nil, err
	}
	if *durations {
		b.cfg.Policies = []string{"loadaware"}
	} else if *policies != "all" {
		b.cfg.Policies = cli.SplitList(*policies)
	}
	switch {
	case len(files) == 0:
		return nil, cli.UsageErrorf("name the files to replay, or - for standard input; see loadaware backtest --help")
	case *feedback != "immediate" && *feedback != "delayed":
		return nil, cli.UsageErrorf("--feedback must be immediate or delayed, not %q", *feedback)
	case *limit < 0:
		return nil, cli.UsageErrorf("--limit must be 0 or more, not %d", *limit)
	case !(*skip >= 0 && *skip < 1):
		return nil, cli.UsageErrorf("--skip must be at least 0 and below 1, not %v", *skip)
	case !(*ttf > 0 && *ttf <= 1):
		return nil, cli.UsageErrorf("--ttf must be above 0 and at most 1, not %v", *ttf)
	case !(*defaultGB > 0 && *defaultGB <= sizing.MaxBytes/1e9):
		return nil, cli.UsageErrorf("--default-gb must be above 0 and at most %d, not %v", sizing.MaxBytes/1_000_000_000, *defaultGB)
	case !slices.Contains(backtest.Formats(), *format):
		return nil, cli.UsageErrorf("-o must be one of %s, not %q", strings.Join(backtest.Formats(), ", "), *format)
	}
	for _, name := range b.cfg.Policies {
		if !slices.Contains(backtest.Policies(), name) {
			return nil, cli.UsageErrorf("unknown policy %q; use all, or some of %s", name, strings.Join(backtest.Policies(), ", "))
		}
	}
	usesSettings := func(policy string) bool { return policy == backtest.Loadaware || policy == backtest.OwnHistory }
	if _, given, _ := settings.request(); given && len(b.cfg.Policies) > 0 && !slices.ContainsFunc(b.cfg.Policies, usesSettings) {
		fmt.Fprintf(con.Err, "warning: --risk, --floor, --cap, --max-lifts and --bins have no effect: only the policies %s and %s use them\n", backtest.Loadaware, backtest.OwnHistory)
	}
	return b, nil
}

func printRejected(con cli.Console, t *backtest.Trace) {
	var rejections importer.Rejections
	for _, err := range t.Rejected {
		rejections.Add(err.Error())
	}
	rejections.Print(con.Err, t.Name)
}

func printRepeated(con cli.Console, t *backtest.Trace) {
	if t.Repeated == 0 {
		return
	}
	fmt.Fprintf(con.Err, "%s: warning: rows that repeat a try (dag_id, task_id, run_id, map_index, try_number), which counts once: %d", t.Name, t.Repeated)
	if t.Contradicted > 0 {
		fmt.Fprintf(con.Err, "; those that contradict an earlier row and are left out, because the service rejects them: %d", t.Contradicted)
	}
	fmt.Fprintln(con.Err)
}

func readTrace(con cli.Console, name string, only backtest.Selection) (*backtest.Trace, error) {
	if name == "-" {
		return backtest.Read("standard input", con.In, only)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the history: %w", err)
	}
	defer file.Close()
	return backtest.Read(filepath.Base(name), file, only)
}
