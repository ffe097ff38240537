// Command seriesdata writes the memory and CPU usage of synthetic runs over time as CSV, for
// `loadaware phases replay`. The same flags give the same output.
//
//	go run ./scripts/seriesdata --family walks,modes --tasks 12 --runs 20 --seed 1 > series.csv
//	go run ./scripts/seriesdata --family workflow,spikes --tasks 12 --seed 1 > irregular.csv
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/plan/plantest"
)

func main() {
	designed := strings.Join(plantest.Families(), ",")
	irregular := strings.Join(plantest.IrregularFamilies(), ",")
	names := flag.String("family", designed, "families of synthetic runs, separated by commas: some of "+designed+","+irregular)
	tasks := flag.Int("tasks", 12, "number of tasks of each family")
	runs := flag.Int("runs", 20, "number of runs of each task; the families "+irregular+" have 5 to 200")
	seed := flag.Uint64("seed", 0, "seed of the generator")
	flag.Parse()
	families := strings.Split(*names, ",")
	for _, family := range families {
		if !slices.Contains(plantest.Families(), family) && !slices.Contains(plantest.IrregularFamilies(), family) {
			fmt.Fprintf(os.Stderr, "seriesdata: --family %q: unknown; choose among %s,%s\n", family, designed, irregular)
			os.Exit(2)
		}
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	fmt.Fprintln(out, "dag_id,task_id,run_id,seconds,memory_bytes,cpu_cores")
	for _, family := range families {
		if slices.Contains(plantest.IrregularFamilies(), family) {
			writeIrregular(out, family, *tasks, *seed)
			continue
		}
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

// writeIrregular writes runs whose samples have uneven distances in time. Unknown CPU is an empty cell.
func writeIrregular(out io.Writer, family string, tasks int, seed uint64) {
	for _, r := range plantest.GenerateIrregular(family, tasks, seed) {
		for i, m := range r.Memory {
			cores := ""
			if !math.IsNaN(r.CPU[i]) {
				cores = strconv.FormatFloat(r.CPU[i], 'f', 2, 64)
			}
			fmt.Fprintf(out, "%s,%s,%s,%g,%.0f,%s\n", family, r.Task, r.ID, r.Seconds[i], m, cores)
		}
	}
}
