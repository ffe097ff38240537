// Command profiles measures how well the usage profile of a run is predicted before it starts. It finds
// the profiles of a history, and predicts each run from the other four fifths of the history:
//
//	go run ./scripts/profiles [-seed 1] HISTORY.csv.gz…
//
// The fifths consist of whole tasks, or of random runs. If the other four fifths have runs of the task, the prediction
// is the most frequent profile of these runs. Otherwise it is the profile that the classifier of package cohort gives
// or, if it gives none, the most frequent profile. The table compares the prediction with the most frequent profile of the
// other fifths and with the profile of the most similar task.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/loadaware/loadaware/internal/cohort"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/source/file"
	"github.com/loadaware/loadaware/internal/usageprofile"
)

func main() {
	seed := flag.Uint64("seed", 1, "seed of the random fifths")
	flag.Parse()
	if err := printTable(os.Stdout, flag.Args(), *seed); err != nil {
		fmt.Fprintln(os.Stderr, "profiles:", err)
		os.Exit(1)
	}
}

func printTable(w io.Writer, paths []string, seed uint64) error {
	fmt.Fprintln(w, "| history, runs, profiles | fifths of | right: most frequent profile % | right: profile of most similar task % | right: prediction % | right: prediction, without outliers % |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, path := range paths {
		h, err := read(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name := fmt.Sprintf("%s, %d, %d", filepath.Base(path), len(h.rows), len(h.set.Profiles))
		for _, split := range []struct {
			name string
			fold []int
		}{{"tasks", h.foldsOfTasks(seed)}, {"runs", h.foldsOfRuns(seed)}} {
			a := h.evaluate(split.fold)
			fmt.Fprintf(w, "| %s | %s | %.1f | %.1f | %.1f | %.1f |\n", name, split.name, 100*a.majority, 100*a.nearest, 100*a.predicted, 100*a.inProfiles)
		}
	}
	return nil
}

type history struct {
	rows   []cohort.Row
	set    *usageprofile.Set
	labels []int // id of the profile of each run, 0 for an outlier
}

func read(path string) (*history, error) {
	in, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, err
	}
	defer in.Close()
	reader, err := file.Open(in)
	if err != nil {
		return nil, err
	}
	var stored []sizing.ContextRow
	for line, err := range reader.All() {
		if err != nil {
			return nil, err
		}
		stored = append(stored, contextRow(&line.Observation, int64(len(stored)+1)))
	}
	return newHistory(stored)
}

func contextRow(o *sizing.Observation, seq int64) sizing.ContextRow {
	return sizing.ContextRow{
		Task: o.Try.TaskKey, Features: o.Features, Metadata: o.Metadata, Usage: o.Usage,
		HistoryRow: sizing.HistoryRow{
			Seq: seq, Outcome: o.Outcome, MemoryMax: o.MemoryMax, CPUMax: o.CPUMax, Duration: o.Duration, Allocated: o.Allocated, Requested: o.Requested,
		},
	}
}

// newHistory finds the usage profiles of the stored tries. It omits tries for which neither the peak nor a lower bound of the
// peak is known.
func newHistory(stored []sizing.ContextRow) (*history, error) {
	h := &history{}
	var runs []usageprofile.Run
	for i := range stored {
		row, hasPeak := cohort.RowOf(&stored[i])
		run, isRun := usageprofile.RunOf(&stored[i])
		if hasPeak && isRun {
			h.rows, runs = append(h.rows, row), append(runs, run)
		}
	}
	var err error
	if h.set, err = usageprofile.Fit(runs, nil); err != nil {
		return nil, err
	}
	if h.set == nil {
		return nil, fmt.Errorf("%d runs have no profiles: %d are needed, and they must differ", len(runs), usageprofile.MinRuns)
	}
	for i := range runs {
		place := h.set.Place(&runs[i].Vector)
		h.labels = append(h.labels, place.Profile.ID)
	}
	return h, nil
}
