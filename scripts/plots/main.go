// Command plots draws the pictures of docs/learning.md: it replays a history for
// loadaware's models, asked before they are told, and writes one SVG a picture.
// Nothing is random: the same history gives the same bytes.
//
//	go run ./scripts/plots                          # the demo history, into docs
//	go run ./scripts/plots -o /tmp -task load my.csv.gz
//
// A FILE is what `loadaware import` takes. It knows how to replay and to draw, and
// nothing of servers or stores.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/loadaware/loadaware/internal/backtest"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
	"github.com/loadaware/loadaware/testdata/demo"
)

func main() {
	folder := flag.String("o", "docs", "folder to write the pictures to")
	task := flag.String("task", "predict_demand", "task_id whose allocations are drawn")
	flag.Parse()
	if err := draw(*folder, *task, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

// draw writes every picture of a history; name is "" for the demo's.
func draw(folder, task, name string) error {
	history := demo.CSV
	if name != "" {
		var err error
		if history, err = os.ReadFile(name); err != nil {
			return err
		}
	}
	rows, err := read(history)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(rows, func(o sizing.Observation) bool { return o.Try.Task == task }) {
		return fmt.Errorf("no run of task %q was measured: choose another -task", task)
	}
	steps, err := play(rows, sizing.DefaultRiskTarget)
	if err != nil {
		return err
	}
	drifted, err := play(drift(rows), sizing.DefaultRiskTarget)
	if err != nil {
		return err
	}
	targets, err := targetsOf(rows)
	if err != nil {
		return err
	}
	rivals, err := rivalsOf(history)
	if err != nil {
		return err
	}
	for file, picture := range map[string]figure{
		"allocation.svg": allocationFigure(steps, task), "risk.svg": riskFigure(steps),
		"drift.svg": driftFigure(drifted, task), "target.svg": targetFigure(targets), "rivals.svg": rivalsFigure(rivals),
	} {
		if err := os.WriteFile(filepath.Join(folder, file), picture.svg(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// read keeps the runs that tell what they needed, in order of their start.
func read(history []byte) ([]sizing.Observation, error) {
	in, err := file.Open(bytes.NewReader(history))
	if err != nil {
		return nil, err
	}
	var rows []sizing.Observation
	for row, err := range in.All() {
		if err != nil {
			return nil, err
		}
		if _, known := row.Observation.Peak(); known == sizing.Exact && row.Observation.Duration > 0 {
			rows = append(rows, row.Observation)
		}
	}
	slices.SortStableFunc(rows, func(a, b sizing.Observation) int { return a.StartedAt.Compare(b.StartedAt) })
	return rows, nil
}

// rivalsOf replays every policy that the backtest knows.
func rivalsOf(history []byte) ([]backtest.Result, error) {
	t, err := backtest.Read("history", bytes.NewReader(history), backtest.Selection{})
	if err != nil {
		return nil, err
	}
	report, err := backtest.Run(context.Background(), t, backtest.Config{})
	if err != nil {
		return nil, err
	}
	return report.Results, nil
}
