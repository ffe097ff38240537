// Command plots draws the pictures of docs/learning.md and docs/phases.md as SVG files. For most pictures it replays a
// history: the models predict each run before they learn it. The picture of phases shows synthetic runs. The output is
// deterministic.
//
//	go run ./scripts/plots                          # the demo history, into docs
//	go run ./scripts/plots -o /tmp -task load my.csv.gz
//
// The history has a format of `loadaware import`. The command uses no server and no store.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/testdata/demo"
)

func main() {
	folder := flag.String("o", "docs", "folder for the pictures")
	task := flag.String("task", "predict_demand", "task_id of the task in the pictures of a single task")
	flag.Parse()
	if err := draw(*folder, *task, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

// draw draws all pictures into a folder. It replays the history in the file `name`, or the demo history if `name` is empty.
func draw(folder, task, name string) error {
	history := demo.CSV
	if name != "" {
		var err error
		if history, err = os.ReadFile(name); err != nil {
			return err
		}
	}
	steps, err := replay(history, sizing.DefaultRiskTarget)
	if err != nil {
		return err
	}
	if len(stepsOf(steps, task)) == 0 {
		return fmt.Errorf("-task %q: the history has no measured run of this task; choose another task", task)
	}
	changed, err := drift(history)
	if err != nil {
		return err
	}
	drifted, err := replay(changed, sizing.DefaultRiskTarget)
	if err != nil {
		return err
	}
	targets, err := replayTargets(history)
	if err != nil {
		return err
	}
	policies, err := backtestPolicies(history)
	if err != nil {
		return err
	}
	for file, picture := range map[string]figure{
		"allocation.svg": allocationFigure(steps, task), "risk.svg": riskFigure(steps),
		"drift.svg": driftFigure(drifted, task), "target.svg": targetFigure(targets), "policies.svg": policiesFigure(policies),
		"phases.svg": phasesFigure(),
	} {
		if err := os.WriteFile(filepath.Join(folder, file), picture.svg(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
