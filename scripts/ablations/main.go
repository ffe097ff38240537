// Command ablations replays traces with the complete learner and without one part of it at a time,
// and prints the results as a Markdown table.
//
//	go run ./scripts/ablations TRACE.csv.gz...
//	go run ./scripts/ablations -rows 3000 -parts "boosted trees,known kills" TRACE.csv.gz
//
// A cell has the form utilisation % / killed %. A TRACE has a format of `loadaware import`. The
// table is deterministic.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/loadaware/loadaware/internal/backtest"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

func main() {
	rows := flag.Int("rows", 0, "replay only the first rows of each trace; 0 for all")
	delayed := flag.Bool("delayed", false, "learn a peak only when its run has ended (kills: at once)")
	names := flag.String("parts", "", "parts to take out, one at a time, separated by commas; all if empty")
	flag.Parse()
	chosen, err := choose(*names)
	if err == nil {
		err = run(context.Background(), os.Stdout, options{rows: *rows, delayed: *delayed, parts: chosen, files: flag.Args()})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ablations:", err)
		os.Exit(1)
	}
}

type options struct {
	rows    int
	delayed bool
	parts   []part
	files   []string
}

func choose(names string) ([]part, error) {
	if names == "" {
		return parts, nil
	}
	var chosen []part
	for _, name := range strings.Split(names, ",") {
		at := slices.IndexFunc(parts, func(p part) bool { return p.name == name })
		if at < 0 {
			return nil, fmt.Errorf("-parts: unknown part %q; choose among %s", name, strings.Join(partNames(), ", "))
		}
		chosen = append(chosen, parts[at])
	}
	return chosen, nil
}

func partNames() []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

// run writes the table of all traces and parts.
func run(ctx context.Context, w io.Writer, o options) error {
	if len(o.files) == 0 {
		return fmt.Errorf("no trace given; name the files to replay")
	}
	rows := append([]part{{name: "nothing"}}, o.parts...)
	cells := make([][]string, len(rows))
	for i := range cells {
		cells[i] = make([]string, len(o.files))
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for f, file := range o.files {
		for i, p := range rows {
			group.Go(func() (err error) {
				cells[i][f], err = p.replay(ctx, file, o)
				return err
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Fprint(w, "| taken out |")
	for _, file := range o.files {
		fmt.Fprintf(w, " %s |", traceName(file))
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---:|", len(o.files)))
	for i := range rows {
		fmt.Fprintf(w, "| %s | %s |\n", rows[i].name, strings.Join(cells[i], " | "))
	}
	return nil
}

func traceName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return name
}

// replay returns a cell of the table: utilisation % / killed %.
func (p part) replay(ctx context.Context, file string, o options) (string, error) {
	trace, err := p.read(file, o.rows)
	if err != nil {
		return "", err
	}
	report, err := backtest.Run(ctx, trace, backtest.Config{
		Policies: []string{backtest.Loadaware}, Delayed: o.delayed,
		NewModel: func() *taskmodel.Model { return taskmodel.NewAblated(p.ablation) },
	})
	if err != nil {
		return "", fmt.Errorf("replay with the part %q left out: %w", p.name, err)
	}
	f := &report.Results[0].Figures
	return fmt.Sprintf("%.1f/%.1f", f.Utilisation, f.Killed), nil
}
