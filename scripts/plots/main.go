// Command plots draws the pictures of docs/learning.md. It replays a history: the models predict
// each run before they learn from it. It writes one SVG per picture. The output is deterministic.
//
//	go run ./scripts/plots                          # the demo history, into docs
//	go run ./scripts/plots -o /tmp -task load my.csv.gz
//
// A FILE has a format of `loadaware import`. The command uses no server and no store.
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
	folder := flag.String("o", "docs", "folder for the pictures")
	task := flag.String("task", "predict_demand", "task_id of the pictures of one task")
	flag.Parse()
	if err := draw(*folder, *task, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

// draw writes all pictures of the history in a file; an empty name selects the demo history.
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
		return fmt.Errorf("-task %q: the history has no measured run of it; choose another task", task)
	}
	steps, err := replay(rows, sizing.DefaultRiskTarget)
	if err != nil {
		return err
	}
	drifted, err := replay(drift(rows), sizing.DefaultRiskTarget)
	if err != nil {
		return err
	}
	targets, err := replayTargets(rows)
	if err != nil {
		return err
	}
	rivals, err := backtestPolicies(history)
	if err != nil {
		return err
	}
	for file, picture := range map[string]figure{
		"allocation.svg": allocationFigure(steps, task), "risk.svg": riskFigure(steps),
		"drift.svg": driftFigure(drifted, task), "target.svg": targetFigure(targets), "rivals.svg": policiesFigure(rivals),
	} {
		if err := os.WriteFile(filepath.Join(folder, file), picture.svg(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// read returns the runs with a known peak and duration, in the order of their start.
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

// backtestPolicies replays all policies of the backtest.
func backtestPolicies(history []byte) ([]backtest.Result, error) {
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
