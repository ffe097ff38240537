// Command suggest measures how well `loadaware campaign suggest` chooses rows. It holds out a quarter of the rows of each
// heavy task, which uses at least 1 % of the memory time and has at least 500 rows. It learns the task three times: from all
// other rows, from a share of these rows that `suggest` chooses (at most 2,000 rows), and from the same number of random
// rows. It compares the three models on the held-out rows by the wasted memory time and the u score: over-estimates plus ten
// times the under-estimates, per 100 rows. `suggest` gets only the features of the rows, not their peaks.
//
//	go run ./scripts/suggest [-share 0.25] [-seeds 5] HISTORY.csv.gz
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
	"github.com/loadaware/loadaware/internal/ml/cost"
	"github.com/loadaware/loadaware/internal/ml/score"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// minRows is the smallest number of rows of a heavy task. The tasks that the flag -tasks names may have fewer rows.
const minRows = 500

func fail(err error) {
	fmt.Fprintln(os.Stderr, "suggest:", err)
	os.Exit(1)
}

func main() {
	share := flag.Float64("share", 0.25, "share of the training rows that suggest chooses, at most 2,000 rows")
	seeds := flag.Uint64("seeds", 5, "number of random splits into training rows and held-out rows")
	only := flag.String("tasks", "", "comma-separated task ids; all heavy tasks if empty")
	flag.Parse()
	if flag.NArg() != 1 {
		fail(errors.New("usage: go run ./scripts/suggest [flags] HISTORY.csv.gz"))
	}
	if err := run(flag.Arg(0), *share, *seeds, *only); err != nil {
		fail(err)
	}
}

func run(name string, share float64, seeds uint64, only string) error {
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
			if err := task.measure(seed, share, &sums); err != nil {
				return err
			}
		}
		sums.print(task.dataset.Task.Task)
		all.add(&sums)
	}
	all.print("all")
	return nil
}

// heavyTask is a task to measure. Its peaks are divided into bins.
type heavyTask struct {
	dataset *taskmodel.Dataset
	rows    []sizing.Observation
	edges   []float64 // upper edges of the bins
	bin     []int     // index of each row's bin
}

// heavyTasks returns the tasks that use at least 1 % of the memory time and have at least minRows rows with a peak. If
// `named` contains task ids, it returns the tasks with these ids that have a row with a peak.
func heavyTasks(a *suggest.Archive, named string) []*heavyTask {
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
		if named == "" && use[name] >= total/100 && len(rows) >= minRows || slices.Contains(strings.Split(named, ","), name) {
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

const bins = 3

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

type figures struct {
	u      float64 // u score
	wasted float64 // GB·h per held-out row
}

// totals are sums of figures over splits, one sum for each choice of training rows.
type totals struct {
	splits                 int
	all, suggested, random figures
}

func (f *figures) add(o figures) { f.u, f.wasted = f.u+o.u, f.wasted+o.wasted }

func (s *totals) add(o *totals) {
	s.splits += o.splits
	s.all.add(o.all)
	s.suggested.add(o.suggested)
	s.random.add(o.random)
}

func (s *totals) print(name string) {
	for _, f := range []struct {
		name                   string
		all, suggested, random float64
	}{{"u score", s.all.u, s.suggested.u, s.random.u}, {"wasted GB·h", s.all.wasted, s.suggested.wasted, s.random.wasted}} {
		n := float64(s.splits)
		fmt.Printf("%-20s %-12s all %.2f, suggested %.2f, random %.2f; suggested / all %.3f, suggested / random %.3f, all / random %.3f\n",
			name, f.name, f.all/n, f.suggested/n, f.random/n, f.suggested/f.all, f.suggested/f.random, f.all/f.random)
	}
}

// measure splits the rows at random, learns the task from each of the three choices of training rows, and adds the figures
// to sums.
func (t *heavyTask) measure(seed uint64, share float64, sums *totals) error {
	rng := rand.New(rand.NewPCG(seed, 24))
	order := rng.Perm(len(t.rows))
	train, test := order[:len(order)*3/4], order[len(order)*3/4:]
	slices.Sort(train)
	candidates := make([]suggest.Candidate, len(train))
	for i, row := range train {
		candidates[i].Features = t.rows[row].Features
	}
	count := int(share * float64(len(train)))
	var chosen, random []int
	for _, s := range suggest.Rank(candidates, nil, count) {
		chosen = append(chosen, train[s.Index])
	}
	for _, i := range rng.Perm(len(train))[:len(chosen)] {
		random = append(random, train[i])
	}
	sums.splits++
	for _, set := range []struct {
		rows []int
		sum  *figures
	}{{train, &sums.all}, {chosen, &sums.suggested}, {random, &sums.random}} {
		f, err := t.evaluate(set.rows, test)
		if err != nil {
			return err
		}
		set.sum.add(f)
	}
	return nil
}

// evaluate learns the training rows in the order of the file and returns the figures of the held-out rows.
func (t *heavyTask) evaluate(train, test []int) (f figures, err error) {
	train = slices.Sorted(slices.Values(train))
	served, err := t.dataset.Serve(train)
	if err != nil {
		return f, err
	}
	actual, predicted, p := []int{}, []int{}, make([]float64, len(t.edges))
	for _, i := range test {
		served.Probabilities(i, t.edges, p)
		actual, predicted = append(actual, t.bin[i]), append(predicted, score.Decide(p, score.DefaultPenalty))
		f.wasted += t.waste(served, i) / float64(len(test))
	}
	confusion, err := score.Count(actual, predicted, len(t.edges))
	f.u = confusion.UScore(score.DefaultPenalty)
	return f, err
}

// waste returns the wasted memory time of a held-out row in GB·h, as in a backtest.
func (t *heavyTask) waste(served *taskmodel.ServedModel, row int) float64 {
	o := &t.rows[row]
	policy := sizing.Policy{}.WithDefaults()
	sized := served.Size(row, taskmodel.Question{Requested: o.Requested, RiskTarget: policy.RiskTarget, Lifts: *policy.MaxLifts})
	rungs := []float64{float64(sized.Limit)}
	for _, rung := range sized.Ladder {
		if rung > sized.Limit {
			rungs = append(rungs, float64(rung))
		}
	}
	wasted, _ := cost.LadderWastage(float64(o.MemoryMax), 0, rungs...)
	return wasted * o.Duration.Hours() / 1e9
}
