package experiment

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/binning"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// The origins of the edges of a binning (Binning.Found).
const (
	foundGiven     = "given"            // the user gave the edges
	foundExact     = "searched"         // exact search for the highest Binning.Optimal
	foundExactTime = "searched by time" // exact search for the highest Binning.TimeOptimal
	foundStride    = "stride search"    // exhaustive search over the multiples of a stride
)

const (
	minBins, maxBins = 2, 4 // smallest and largest number of bins of the search

	topMargin = 0.2 // share by which the top edge is above the largest peak, if a peak exceeds the largest request
)

// Binning holds the bins of a task, and the shares of the static cost that a perfect classifier
// over these bins would save. The static cost is the cost if every run gets the top edge.
type Binning struct {
	Task        string    `json:"task"`
	BinsGB      []float64 `json:"bins_gb"`      // upper edges, ascending
	Found       string    `json:"found"`        // given, searched, searched by time, stride search
	Optimal     float64   `json:"optimal"`      // saved share of the static cost, 0 … 1
	TimeOptimal float64   `json:"time_optimal"` // Optimal with runs weighted by duration

	edges []float64 // BinsGB in bytes
}

type binner struct {
	dataset            *taskmodel.Dataset
	name               string          // name of the task in the report
	runs               binning.History // peaks with a weight of 1
	weightedByDuration binning.History // peaks weighted by durations
}

func newBinner(dataset *taskmodel.Dataset, name string) *binner {
	peaks, seconds := make([]float64, dataset.Len()), make([]float64, dataset.Len())
	for i := range peaks {
		peaks[i], seconds[i] = dataset.Peak(i), dataset.Seconds(i)
	}
	return &binner{dataset, name, binning.History{Peaks: peaks}, binning.History{Peaks: peaks, Weights: seconds}}
}

// binningOf returns the binning with the given edges, which are in bytes. `found` says where the edges come from
// (Binning.Found).
func (c *binner) binningOf(found string, edges []float64) Binning {
	top := edges[len(edges)-1]
	b := Binning{
		Task: c.name, Found: found, BinsGB: make([]float64, len(edges)), edges: edges,
		Optimal: c.runs.Improvement(edges, top), TimeOptimal: c.weightedByDuration.Improvement(edges, top),
	}
	for i, edge := range edges {
		b.BinsGB[i] = edge / 1e9
	}
	return b
}

// top returns the largest request if it covers every peak, else the largest peak plus topMargin, rounded up to whole MB.
func (c *binner) top() float64 {
	requested := sizing.Bytes(0)
	for i := range c.dataset.Len() {
		requested = max(requested, c.dataset.Row(i).Requested.Memory)
	}
	if float64(requested) >= slices.Max(c.runs.Peaks) {
		return float64(requested)
	}
	return binning.Top(c.runs.Peaks, topMargin, 1e6)
}

// compare searches binnings with the given number of bins and the last edge `top` by three methods. The binning
// with the highest Optimal (foundExact) comes first.
func (c *binner) compare(bins int, top float64) ([]Binning, error) {
	exact, err := c.runs.Search(bins, top, 0)
	if err != nil {
		return nil, err
	}
	byTime, err := c.weightedByDuration.Search(bins, top, 0)
	if err != nil {
		return nil, err
	}
	byStride, err := c.runs.Stride(bins, top, stride(top))
	if err != nil {
		return nil, err
	}
	return []Binning{c.binningOf(foundExact, exact), c.binningOf(foundExactTime, byTime), c.binningOf(foundStride, byStride)}, nil
}

// stride returns the step of the stride search: 10 GB, or a twentieth of the top if that is less.
func stride(top float64) float64 { return min(10e9, top/20) }

func parseEdges(task string, gb []float64) ([]float64, error) {
	edges := make([]float64, len(gb))
	for i, v := range gb {
		edges[i] = math.Round(v * 1e9)
	}
	if err := binning.Check(edges); err != nil || edges[len(edges)-1] > sizing.MaxBytes {
		return nil, sizing.Errorf(sizing.Invalid, "bins of %s: %v GB; give ascending edges above 0 and at most 8 PiB", task, gb)
	}
	return edges, nil
}

type binnedTask struct {
	*binner
	Binning
	levels []float64 // logarithms of the edges, as the models need them
	bin    []int     // bin of each row of the dataset, for splits and fits; the last bin for a peak above the top
}

// actual returns the bin of the peak of each given row, as package score counts it: len(edges) for a peak above the top,
// which every prediction under-estimates.
func (t *binnedTask) actual(rows []int) []int {
	bins := make([]int, len(rows))
	for n, row := range rows {
		if bins[n] = t.bin[row]; t.isAboveTop(row) {
			bins[n] = len(t.edges)
		}
	}
	return bins
}

func (t *binnedTask) isAboveTop(row int) bool {
	return t.runs.Peaks[row] > t.edges[len(t.edges)-1]
}

func (t *binnedTask) warning() string {
	above := 0
	for row := range t.bin {
		if t.isAboveTop(row) {
			above++
		}
	}
	if above == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d rows of %s have peaks above the last edge of its bins, %s GB: each family under-estimates them; the largest peak is %s GB",
		above, len(t.bin), t.name, number(t.BinsGB[len(t.BinsGB)-1]), number(slices.Max(t.runs.Peaks)/1e9))
}

func (c *binner) binned(b Binning) *binnedTask {
	t := &binnedTask{binner: c, Binning: b}
	for _, edge := range b.edges {
		t.levels = append(t.levels, math.Log(edge))
	}
	for _, peak := range c.runs.Peaks {
		t.bin = append(t.bin, binning.Index(b.edges, peak))
	}
	return t
}

// withEdges returns the task with each of the given binnings, and a table that compares them
// with searched binnings.
func (c *binner) withEdges(givenGB [][]float64) (tasks []*binnedTask, table []Binning, err error) {
	for _, gb := range givenGB {
		edges, err := parseEdges(c.name, gb)
		if err != nil {
			return nil, nil, err
		}
		found, err := c.compare(len(edges), edges[len(edges)-1])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.name, err)
		}
		b := c.binningOf(foundGiven, edges)
		tasks, table = append(tasks, c.binned(b)), append(append(table, b), found...)
	}
	return tasks, table, nil
}

// search returns the task once for each number of bins, from minBins to maxBins, that the distinct peaks allow, each time
// with the best binning. `table` has the binnings that the three methods of `compare` found for these numbers.
func (c *binner) search() (tasks []*binnedTask, table []Binning, err error) {
	for bins := minBins; bins <= maxBins; bins++ {
		found, err := c.compare(bins, c.top())
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.name, err)
		}
		if best := found[0]; len(best.edges) == bins { // it has fewer edges if there are too few distinct peaks
			tasks, table = append(tasks, c.binned(best)), append(table, found...)
		}
	}
	if tasks == nil {
		return nil, nil, sizing.Errorf(sizing.Invalid, "search bins of %s: all peaks equal the largest request; leave the task out", c.name)
	}
	return tasks, table, nil
}
