// Command calibration replays synthetic tasks of twenty kinds and prints, for each
// kind, the risk that was promised of first tries beside the share that was killed.
// The same seed gives the same table:
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
	seed := flag.Uint64("seed", 1, "of the random numbers")
	runs := flag.Int("runs", 400, "of each task")
	tasks := flag.Int("tasks", 8, "of each kind, each replayed alone")
	flag.Parse()
	if err := table(os.Stdout, kinds, *seed, *tasks, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "calibration:", err)
		os.Exit(1)
	}
}

// table prints a row for each kind.
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

// sums are over first tries that carried a promise; used and wasted are GB·h of all.
type sums struct {
	rows, killed           int
	promised, used, wasted float64
}

// verdict holds the number of killed first tries against the sum of promises P: it may
// differ by half of P, or by three standard deviations of a Poisson count where that is
// more.
func (s sums) verdict() string {
	if math.Abs(float64(s.killed)-s.promised) <= max(s.promised/2, 3*math.Sqrt(s.promised)) {
		return "yes"
	}
	return "no"
}

// replay plays tasks of a kind, each as a DAG of its own.
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
