package main

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/cli"
	insight "github.com/loadaware/loadaware/internal/insight/report"
	"github.com/loadaware/loadaware/internal/insight/savings"
	"github.com/loadaware/loadaware/internal/render"
)

const reportUsage = `[flags]

Compares the requested, granted and used memory of every task of a running server, the task
with the largest wastage first, and prints what was saved and why a task is not sized better.
With --static it prints one request per task and per group, ready to paste into a DAG, for
teams that use no predictions.`

func printReport(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("report", reportUsage, "url", "token")
	query := windowFlags(cmd)
	static := cmd.Bool("static", false, "print one static request per task and per group")
	format := cmd.String("o", "table", "output: "+strings.Join(render.ReportFormats(), ", "))
	if err := parseReport(cmd, con, args, format); err != nil {
		return err
	}
	values := query()
	if *static {
		values.Set("static", "true")
	}
	var r insight.Report
	if err := cmd.Server().Call(ctx, http.MethodGet, "/report?"+values.Encode(), nil, &r); err != nil {
		return err
	}
	if *static && *format == "table" && len(r.Tasks) > 0 {
		return render.Static(con.Out, &r)
	}
	return render.Report(con.Out, *format, cli.IsTerminal(con.Out) && os.Getenv("NO_COLOR") == "", &r)
}

const savingsUsage = `[flags]

Prints what a running server saved: the memory that tries requested, got, used and lost to
OOM kills, over all reported tries or over the days of --from and --to.`

func printSavings(ctx context.Context, con cli.Console, args []string) error {
	cmd := cli.New("savings", savingsUsage, "url", "token")
	query := windowFlags(cmd)
	by := cmd.String("by", "dag", "rows: day, dag, task or owner")
	format := cmd.String("o", "table", "output: "+strings.Join(render.ReportFormats(), ", "))
	if err := parseReport(cmd, con, args, format); err != nil {
		return err
	}
	values := query()
	values.Set("by", *by)
	var answer savings.Answer
	if err := cmd.Server().Call(ctx, http.MethodGet, "/savings?"+values.Encode(), nil, &answer); err != nil {
		return err
	}
	return render.Savings(con.Out, *format, &answer)
}

// windowFlags defines the flags that select days and tasks. The returned function returns their query; call it after
// the flags are parsed.
func windowFlags(cmd *cli.Command) func() url.Values {
	flags := map[string]*string{
		"from":      cmd.String("from", "", "first UTC `day`, such as 2020-01-31; the first day of the history if empty"),
		"to":        cmd.String("to", "", "UTC `day` after the last one; up to the newest day if empty"),
		"namespace": cmd.String("namespace", "", "only this namespace; all if empty"),
		"dag_id":    cmd.String("dag", "", "only this DAG; all if empty"),
		"task_id":   cmd.String("task", "", "only tasks of this name; all if empty"),
	}
	return func() url.Values {
		query := url.Values{}
		for name, value := range flags {
			if *value != "" {
				query.Set(name, *value)
			}
		}
		return query
	}
}

func parseReport(cmd *cli.Command, con cli.Console, args []string, format *string) error {
	rest, err := cmd.ParseArgs(con, args)
	if err != nil {
		return err
	}
	if !slices.Contains(render.ReportFormats(), *format) {
		return cli.UsageErrorf("-o must be one of %s, not %q", strings.Join(render.ReportFormats(), ", "), *format)
	}
	if len(rest) > 0 {
		return cli.UsageErrorf("%s takes no arguments, but was given %q; see loadaware %s --help", cmd.Name(), rest, cmd.Name())
	}
	return nil
}
