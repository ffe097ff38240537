// Command dagdata writes runs of synthetic workflows with known dependencies as CSV, for `loadaware import`. The column
// upstream contains the upstream tasks, separated by semicolons. With --rate it writes no runs, but forecasts the newest
// 30 % of them, each from the runs before it, and prints the errors of the forecasts. The same flags give the same output.
//
//	go run ./scripts/dagdata --seed 1 > runs.csv
//	go run ./scripts/dagdata --rate --workflows 40
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/insight/forecast/forecasttest"
)

func main() {
	seed := flag.Uint64("seed", 0, "seed of the first workflow")
	workflows := flag.Uint64("workflows", 8, "number of workflows")
	runs := flag.Int("runs", 60, "number of runs of each workflow")
	rate := flag.Bool("rate", false, "print the errors of forecasts instead of the runs")
	flag.Parse()
	out := bufio.NewWriter(os.Stdout)
	err := generate(out, *seed, *workflows, *runs, *rate)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dagdata:", err)
		os.Exit(1)
	}
}

func generate(out *bufio.Writer, seed, workflows uint64, runs int, rate bool) error {
	var outcomes []forecasttest.Outcome
	if !rate {
		fmt.Fprintln(out, "dag_id,task_id,run_id,started_at,duration_s,memory_max_bytes,feature.size,upstream")
	}
	for s := seed; s < seed+workflows; s++ {
		w, all, err := forecasttest.Generate(s, runs)
		if err != nil {
			return err
		}
		if !rate {
			write(out, s, w, all)
			continue
		}
		rated, err := w.Evaluate(all)
		if err != nil {
			return fmt.Errorf("rate workflow %d: %w", s, err)
		}
		outcomes = append(outcomes, rated...)
	}
	if rate {
		r := forecasttest.Summarise(outcomes)
		fmt.Fprintf(out, "%d runs: median error of the forecast end %.1f %%; the p95 of the end covers %.1f %% of the runs, that of the memory %.1f %%\n", r.Runs, 100*r.MedianError, 100*r.Covered, 100*r.MemoryCovered)
	}
	return nil
}

// write writes one run of the workflow per hour.
func write(out *bufio.Writer, seed uint64, w *forecasttest.Workflow, runs []forecasttest.Run) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range runs {
		for k := range w.Tasks {
			fmt.Fprintf(out, "workflow%d,%s,run%d,%s,%.3f,%.0f,%.6f,%s\n", seed, w.Tasks[k].ID, i, start.Add(time.Duration(i)*time.Hour).Format(time.RFC3339),
				runs[i].Seconds[k], runs[i].Peaks[k], runs[i].Size, strings.Join(w.Tasks[k].Upstream, ";"))
		}
	}
}
