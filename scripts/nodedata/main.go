// Command nodedata writes runs of synthetic workflows on several machine types as CSV, for `loadaware import`. With --rate
// it writes no runs, but prints the errors of the run times that package placement expects on machine types on which a task
// has never run. The same flags give the same output.
//
//	go run ./scripts/nodedata --seed 1 > runs.csv
//	go run ./scripts/nodedata --rate --seeds 10
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/loadaware/loadaware/internal/insight/placement/placementtest"
)

func main() {
	seed := flag.Uint64("seed", 0, "seed of the generator")
	workflows := flag.Int("workflows", 5, "number of workflows")
	rate := flag.Bool("rate", false, "print the errors of the expected run times instead of the runs")
	seeds := flag.Uint64("seeds", 1, "with --rate: number of seeds, from --seed on")
	flag.Parse()
	if *rate {
		rateSeeds(*seed, *seeds, *workflows)
		return
	}
	out := bufio.NewWriter(os.Stdout)
	write(out, placementtest.Generate(*seed, *workflows))
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "nodedata: write the runs:", err)
		os.Exit(1)
	}
}

// write writes the runs as CSV. Every run has a peak of 1 GB.
func write(out *bufio.Writer, d *placementtest.Dataset) {
	fmt.Fprintln(out, "dag_id,task_id,run_id,started_at,duration_s,memory_max_bytes,node_type,feature.input_bytes")
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range d.Runs {
		r := &d.Runs[i]
		fmt.Fprintf(out, "%s,%s,%s,%s,%.3f,1000000000,%s,%.0f\n", r.Task.DAG, r.Task.Task, d.Samples[i],
			start.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), r.Seconds, r.Placement.NodeType, r.Features["input_bytes"].Num)
	}
}

// rateSeeds prints how often package placement predicts correctly whether a task runs faster or slower on another machine
// type, and the error of the factor by which it expects the run time to change.
func rateSeeds(from, count uint64, workflows int) {
	var errors []float64
	directed, right, near := 0, 0, 0
	for seed := from; seed < from+count; seed++ {
		for _, o := range placementtest.Generate(seed, workflows).Evaluate() {
			errors = append(errors, o.Error())
			if o.HasDirection() {
				directed++
				if o.IsRight() {
					right++
				}
			}
			if o.Error() <= .2 {
				near++
			}
		}
	}
	slices.Sort(errors)
	if len(errors) == 0 || directed == 0 {
		fmt.Println("no run time was expected on another machine type")
		return
	}
	fmt.Printf("%d changes of the machine type: direction right in %.1f %% of the %d that change the run time by 5 %% or more; error of the factor: median %.1f %%, within 20 %% in %.1f %%\n",
		len(errors), 100*float64(right)/float64(directed), directed, 100*errors[len(errors)/2], 100*float64(near)/float64(len(errors)))
}
