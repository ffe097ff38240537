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
	"github.com/loadaware/loadaware/internal/sizing"
)

const backtestUsage = `[flags] FILE…

Replays history in order of started_at, and says what loadaware and its rivals
would have wasted on it. Every policy is asked before it is told. A FILE is what
import takes: CSV or JSON lines, plain or gzip; - is standard input. Each file is
a trace of its own; nothing is stored, and no server is needed.`

// backtesting is what the flags of the verb say.
type backtesting struct {
	cfg    backtest.Config
	only   backtest.Selection
	format string
	files  []string
}

func backtestHistory(ctx context.Context, con console, args []string) error {
	b, err := parseBacktest(con, args)
	if err != nil {
		return err
	}
	var traces []*backtest.Trace
	for _, name := range b.files {
		t, err := readTrace(con, name, b.only)
		if err != nil {
			return err
		}
		warnRepeated(con, t)
		traces = append(traces, t)
	}
	bar := progressbar.NewOptions(b.cfg.Steps(traces...), progressbar.OptionSetDescription("replaying"),
		progressbar.OptionSetWriter(con.err), progressbar.OptionSetVisibility(isTerminal(con.err)),
		progressbar.OptionShowCount(), progressbar.OptionClearOnFinish())
	b.cfg.Progress = func(rows int) { _ = bar.Add(rows) } // what the bar cannot show is not missed
	var reports []*backtest.Report
	for _, t := range traces {
		report, err := backtest.Run(ctx, t, b.cfg)
		if err != nil {
			return err
		}
		reports = append(reports, report)
	}
	_ = bar.Finish()
	return backtest.Write(con.out, b.format, reports)
}

// warnRepeated says how many rows of a file told of a try again.
func warnRepeated(con console, t *backtest.Trace) {
	if t.Repeated == 0 {
		return
	}
	fmt.Fprintf(con.err, "%s: warning: %d rows repeat a try (dag_id, task_id, run_id, map_index, try_number), which counts once", t.Name, t.Repeated)
	if t.Contradicted > 0 {
		fmt.Fprintf(con.err, "; %d of them contradict the row before and are left out, as the service refuses them", t.Contradicted)
	}
	fmt.Fprintln(con.err)
}

func parseBacktest(con console, args []string) (*backtesting, error) {
	cmd := newCommand("backtest", backtestUsage)
	feedback := cmd.String("feedback", "immediate", "immediate: a peak is told before the next question; delayed: when its try has ended")
	policies := cmd.String("policies", "all", "policies to replay, separated by commas: all, or some of "+strings.Join(backtest.Policies(), ", "))
	tasks := cmd.String("tasks", "", "task ids to keep, separated by commas; all if empty")
	limit := cmd.Int("limit", 0, "replay only the first rows of each file; 0 for all")
	ttf := cmd.Float64("ttf", 1, "share of its duration after which a kill comes, above 0 to 1")
	defaultGB := cmd.Float64("default-gb", 4, "the static request in GB (1e9 bytes) where a row has none")
	format := cmd.String("o", "table", "output: "+strings.Join(backtest.Formats(), ", "))
	files, err := cmd.parse(con, args)
	if err != nil {
		return nil, err
	}
	b := &backtesting{files: files, format: *format, only: backtest.Selection{Tasks: list(*tasks), Limit: *limit}}
	b.cfg = backtest.Config{Delayed: *feedback == "delayed", TimeToFailure: *ttf, DefaultRequest: sizing.Bytes(*defaultGB * 1e9)}
	if *policies != "all" {
		b.cfg.Policies = list(*policies)
	}
	switch {
	case len(files) == 0:
		return nil, usageErrorf("name the files to replay, or - for standard input; see loadaware backtest --help")
	case *feedback != "immediate" && *feedback != "delayed":
		return nil, usageErrorf("--feedback must be immediate or delayed, not %q", *feedback)
	case *limit < 0:
		return nil, usageErrorf("--limit must be 0 or more, not %d", *limit)
	case !(*ttf > 0 && *ttf <= 1):
		return nil, usageErrorf("--ttf must be above 0 and at most 1, not %v", *ttf)
	case !(*defaultGB > 0 && *defaultGB <= sizing.MaxBytes/1e9):
		return nil, usageErrorf("--default-gb must be above 0, not %v", *defaultGB)
	case !slices.Contains(backtest.Formats(), *format):
		return nil, usageErrorf("-o must be one of %s, not %q", strings.Join(backtest.Formats(), ", "), *format)
	}
	for _, name := range b.cfg.Policies {
		if !slices.Contains(backtest.Policies(), name) {
			return nil, usageErrorf("there is no policy %q: choose all, or some of %s", name, strings.Join(backtest.Policies(), ", "))
		}
	}
	return b, nil
}

// list cuts a comma-separated flag, ignoring blanks.
func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

func readTrace(con console, name string, only backtest.Selection) (*backtest.Trace, error) {
	if name == "-" {
		return backtest.Read("standard input", con.in, only)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open the history: %w", err)
	}
	defer file.Close()
	return backtest.Read(filepath.Base(name), file, only)
}
