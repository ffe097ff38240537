// Command suggest measures how well `loadaware campaign suggest` chooses rows. It holds out a quarter of
// the rows of each heavy task. It learns the task from all other rows, from a share of them that suggest
// chooses, and from a random share of the same size, and compares the u scores on the held-out rows. The
// choice sees the features of the other rows and, with -peaks, their peaks.
//
//	go run ./scripts/suggest [-share 0.25] [-seeds 5] [-peaks] HISTORY.csv.gz
package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/campaign/suggest"
	"github.com/loadaware/loadaware/internal/ml/binning"
	"github.com/loadaware/loadaware/internal/ml/score"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// minRows is the minimum number of rows of a heavy task.
const minRows = 500

// fail prints err and ends the command.
func fail(err error) {
	fmt.Fprintln(os.Stderr, "suggest:", err)
	os.Exit(1)
}

func main() {
	share := flag.Float64("share", 0.25, "share of the training rows that suggest chooses")
	seeds := flag.Uint64("seeds", 5, "number of random splits into training rows and held-out rows")
	peaks := flag.Bool("peaks", false, "suggest sees the peaks of the training rows")
	only := flag.String("tasks", "", "comma-separated task ids; all heavy tasks if empty")
	flag.Parse()
	if flag.NArg() != 1 {
		fail(errors.New("usage: go run ./scripts/suggest [flags] HISTORY.csv.gz"))
	}
	if err := run(flag.Arg(0), *share, *seeds, *peaks, *only); err != nil {
		fail(err)
	}
}

// run measures each heavy task and prints the u scores.
func run(name string, share float64, seeds uint64, peaks bool, only string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	archive, err := suggest.Read(f)
	if err != nil {
		return err
	}
	var all totals
	for _, task := range heavyTasks(archive, only) {
		var sums totals
		for seed := range seeds {
			if err := task.measure(seed, share, peaks, &sums); err != nil {
				return err
			}
		}
		sums.print(task.dataset.Task.Task)
		all.add(&sums)
	}
	all.print("all")
	return nil
}

// heavyTask is a task with its rows. The peaks are divided into bins.
type heavyTask struct {
	dataset *taskmodel.Dataset
	rows    []sizing.Observation
	edges   []float64 // upper edges of the bins
	bin     []int     // index of each row's bin
}

// heavyTasks returns the tasks that use at least 1 % of the memory time, as in the experiments, or the
// tasks with the given ids.
func heavyTasks(a *suggest.Archive, only string) []*heavyTask {
	byTask := map[string][]sizing.Observation{}
	use, total := map[string]float64{}, 0.0
	for i := range a.Rows {
		o := &a.Rows[i]
		if o.MemoryMax == 0 {
			continue
		}
		byTask[o.Try.Task] = append(byTask[o.Try.Task], *o)
		use[o.Try.Task] += float64(o.MemoryMax) * o.Duration.Seconds()
		total += float64(o.MemoryMax) * o.Duration.Seconds()
	}
	var names []string
	for name, rows := range byTask {
		if only == "" && use[name] >= total/100 && len(rows) >= minRows || slices.Contains(strings.Split(only, ","), name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	tasks := make([]*heavyTask, len(names))
	for i, name := range names {
		tasks[i] = newHeavyTask(byTask[name])
	}
	return tasks
}

// bins is the number of bins, as in the published study.
const bins = 3 // see docs/experiments.md

// newHeavyTask prepares the rows of a task for learning and divides the peaks into bins.
func newHeavyTask(rows []sizing.Observation) *heavyTask {
	h := &sizing.History{Task: rows[0].Try.TaskKey, Total: len(rows)}
	peaks := make([]float64, len(rows))
	top := 0.0
	for i := range rows {
		o := &rows[i]
		h.Schema.Extend(o.Features)
		peaks[i] = float64(o.MemoryMax)
		top = max(top, peaks[i], float64(o.Requested.Memory))
	}
	for i := range rows {
		o := &rows[i]
		h.LastSeq++
		h.Rows = append(h.Rows, sizing.HistoryRow{
			Seq: h.LastSeq, At: o.StartedAt, RunID: o.Try.RunID, MapIndex: o.Try.MapIndex, Try: 1, Outcome: sizing.Success,
			MemoryMax: o.MemoryMax, CPUMax: o.CPUMax, Duration: o.Duration, Requested: o.Requested,
			Features: h.Schema.Row(o.Features, nil), Weight: 1,
		})
	}
	t := &heavyTask{dataset: taskmodel.NewDataset(h), rows: rows}
	edges, err := (&binning.History{Peaks: peaks}).Search(bins, top, 0)
	if err != nil {
		fail(err)
	}
	t.edges = edges
	for _, p := range peaks {
		t.bin = append(t.bin, binning.Index(edges, p))
	}
	return t
}

// totals contains sums of u scores over splits, one per choice of training rows.
type totals struct {
	splits                 int
	all, suggested, random float64
}

func (s *totals) add(o *totals) {
	s.splits += o.splits
	s.all += o.all
	s.suggested += o.suggested
	s.random += o.random
}

// print prints the mean u scores and their ratios.
func (s *totals) print(name string) {
	n := float64(s.splits)
	fmt.Printf("%-28s u score: all %.2f, suggested %.2f, random %.2f; suggested / all %.3f, suggested / random %.3f\n",
		name, s.all/n, s.suggested/n, s.random/n, s.suggested/s.all, s.suggested/s.random)
}

// measure splits the rows at random, learns the three choices of training rows, and adds their u scores
// to sums.
func (t *heavyTask) measure(seed uint64, share float64, peaks bool, sums *totals) error {
	rng := rand.New(rand.NewPCG(seed, 24))
	order := rng.Perm(len(t.rows))
	train, test := order[:len(order)*3/4], order[len(order)*3/4:]
	slices.Sort(train)
	candidates := make([]suggest.Candidate, len(train))
	for i, row := range train {
		candidates[i].Features = t.rows[row].Features
		if peaks {
			candidates[i].Peak = t.rows[row].MemoryMax
		}
	}
	count := int(share * float64(len(train)))
	var chosen, random []int
	for _, s := range suggest.Rank(candidates, nil, count) {
		chosen = append(chosen, train[s.Index])
	}
	for _, i := range rng.Perm(len(train))[:count] {
		random = append(random, train[i])
	}
	sums.splits++
	for _, set := range []struct {
		rows []int
		sum  *float64
	}{{train, &sums.all}, {chosen, &sums.suggested}, {random, &sums.random}} {
		u, err := t.uScore(set.rows, test)
		if err != nil {
			return err
		}
		*set.sum += u
	}
	return nil
}

// uScore learns the training rows in the order of time and returns the u score on the held-out rows.
func (t *heavyTask) uScore(train, test []int) (float64, error) {
	train = slices.Sorted(slices.Values(train))
	served, err := t.dataset.Serve(train)
	if err != nil {
		return 0, err
	}
	actual, predicted, p := []int{}, []int{}, make([]float64, len(t.edges))
	for _, i := range test {
		served.Probabilities(i, t.edges, p)
		actual, predicted = append(actual, t.bin[i]), append(predicted, score.Decide(p, score.DefaultPenalty))
	}
	confusion, err := score.Count(actual, predicted, len(t.edges))
	return confusion.UScore(score.DefaultPenalty), err
}
