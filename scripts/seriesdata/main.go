// Command seriesdata writes the memory and CPU usage of synthetic runs over time as CSV, for
// `loadaware phases replay`. The same flags give the same output.
//
//	go run ./scripts/seriesdata --family walks,modes --tasks 12 --runs 20 --seed 1 > series.csv
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/plan/plantest"
)

func main() {
	all := strings.Join(plantest.Families(), ",")
	names := flag.String("family", all, "how memory grows, separated by commas: some of "+all)
	tasks := flag.Int("tasks", 12, "number of tasks")
	runs := flag.Int("runs", 20, "number of runs of each task")
	seed := flag.Uint64("seed", 0, "seed of the generator")
	flag.Parse()
	families := strings.Split(*names, ",")
	for _, family := range families {
		if !slices.Contains(plantest.Families(), family) {
			fmt.Fprintf(os.Stderr, "seriesdata: --family %q: unknown; choose among %s\n", family, all)
			os.Exit(2)
		}
	}
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprintln(out, "dag_id,task_id,run_id,seconds,memory_bytes,cpu_cores")
	for _, family := range families {
		for _, r := range plantest.Generate(family, *tasks, *runs, *seed) {
			for i, m := range r.Memory {
				fmt.Fprintf(out, "%s,%s,%s,%d,%.0f,%.2f\n", family, r.Task, r.ID, i*plantest.Step, m, r.CPU[i])
			}
		}
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "seriesdata: write the series:", err)
		os.Exit(1)
	}
}
