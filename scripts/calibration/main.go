// Command calibration replays synthetic tasks of twenty kinds. For each kind it prints the utilisation of the
// granted memory, the mean promised risk of the first tries and the share of them that was killed. The output is
// deterministic.
//
//	go run ./scripts/calibration            # 20 kinds × 8 tasks × 400 runs
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/loadaware/loadaware/internal/backtest"
	"github.com/loadaware/loadaware/internal/source/file"
)

func main() {
	seed := flag.Uint64("seed", 1, "seed of the random numbers")
	runs := flag.Int("runs", 400, "runs per task")
	tasks := flag.Int("tasks", 8, "tasks per kind; each is replayed alone")
	flag.Parse()
	if err := table(os.Stdout, kinds, *seed, *tasks, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "calibration:", err)
		os.Exit(1)
	}
}

func table(w io.Writer, kinds []kind, seed uint64, tasks, runs int) error {
	fmt.Fprintln(w, "| kind of task | rows | util % | promised % | killed % | calibrated |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, k := range kinds {
		s, err := replay(k, seed, tasks, runs)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "| %s | %d | %.1f | %.2f | %.2f | %s |\n", k.name, s.rows, 100*s.used/(s.used+s.wasted),
			100*s.promised/float64(s.rows), 100*float64(s.killed)/float64(s.rows), s.verdict())
	}
	return nil
}

// sums are totals over tasks.
type sums struct {
	rows, killed int     // first tries with a promised risk; those of them that were killed
	promised     float64 // sum of the promised risks
	used, wasted float64 // GB·h of all runs
}

// verdict compares the number of killed first tries with the sum P of the promised risks. The two may differ by half of P or
// by three standard deviations of a Poisson count, whichever is larger.
func (s sums) verdict() string {
	if math.Abs(float64(s.killed)-s.promised) <= max(s.promised/2, 3*math.Sqrt(s.promised)) {
		return "yes"
	}
	return "no"
}

// replay replays a number of tasks of one kind and returns their sums. Each task is replayed alone.
func replay(k kind, seed uint64, tasks, runs int) (s sums, err error) {
	for n := range tasks {
		var history bytes.Buffer
		if err := file.Write(&history, k.history(seed, n, runs)); err != nil {
			return s, err
		}
		t, err := backtest.Read(k.name, &history, backtest.Selection{})
		if err != nil {
			return s, err
		}
		report, err := backtest.Run(context.Background(), t, backtest.Config{Policies: []string{"loadaware"}})
		if err != nil {
			return s, err
		}
		f := report.Results[0].Figures
		s.rows += f.Risk.Rows
		s.killed += f.Risk.Killed
		s.promised += f.Risk.PromisedSum
		s.used, s.wasted = s.used+f.UsedGBh, s.wasted+f.WastedGBh
	}
	return s, nil
}
