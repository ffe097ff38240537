// Command shapedata measures on synthetic tasks how well the classifier predicts the shapes of run times. A shape
// is a distribution of the ratio of run time to prediction. The same flags give the same output.
//
//	go run ./scripts/shapedata --seeds 5
//	go run ./scripts/shapedata --seeds 20 --blind
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/loadaware/loadaware/internal/cohort/shapetest"
)

func main() {
	seed := flag.Uint64("seed", 0, "seed of the generator")
	seeds := flag.Uint64("seeds", 1, "number of seeds, from --seed on")
	tasks := flag.Int("tasks", 400, "number of tasks with a history")
	blind := flag.Bool("blind", false, "generate metadata that say nothing about the shape")
	flag.Parse()
	for s := *seed; s < *seed+*seeds; s++ {
		r, err := shapetest.Evaluate(shapetest.Config{Seed: s, Tasks: *tasks, UnrelatedMetadata: *blind})
		if err != nil {
			fmt.Fprintf(os.Stderr, "shapedata: measure seed %d: %v\n", s, err)
			os.Exit(1)
		}
		write(s, r)
	}
}

// write prints the figures of a seed. The figures in brackets were measured without the classifier.
func write(seed uint64, r *shapetest.Result) {
	fmt.Printf("seed %d: %d shapes take %d bytes, of which the classifier %d\n", seed, r.Shapes, r.Bytes, r.Classifier)
	fmt.Printf("right shape for %s of the newest 20 %% of the runs; %.1f %% of the new tasks have the most frequent kind of shape\n", percent(r.Newest), 100*r.Majority)
	for i := range r.New {
		n := &r.New[i]
		fmt.Printf("new tasks with %2d runs: right shape for %s of the runs, pinball loss of p95 %.4f (%.4f)\n", n.Runs, percent(n.Right), n.Loss.With, n.Loss.Without)
		for _, kind := range shapetest.Kinds {
			fmt.Printf("  %-8s p95 covers %s, p99 covers %s\n", kind, percent(n.P95[kind]), percent(n.P99[kind]))
		}
	}
}

func percent(p shapetest.Paired) string {
	return fmt.Sprintf("%.1f %% (%.1f %%)", 100*p.With, 100*p.Without)
}
