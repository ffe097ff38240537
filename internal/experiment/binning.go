package experiment

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/binning"
	"github.com/loadaware/loadaware/internal/sizing"
	"github.com/loadaware/loadaware/internal/taskmodel"
)

// These name how the edges of a binning were found.
const (
	given        = "given"
	searched     = "searched"         // the highest optimal improvement
	searchedTime = "searched by time" // the highest time-weighted one
	strided      = "stride search"    // the study's, over multiples of stride
)

const (
	fewestBins, mostBins = 2, 4 // range of the search

	margin = 0.2 // above the largest peak if no request gives the top
)

// Binning is one way to cut a task's peaks, with the share of the static bill that a
// perfect classifier over it would save. The static bill grants every run the top edge.
type Binning struct {
	Task        string    `json:"task"`
	BinsGB      []float64 `json:"bins_gb"`
	Found       string    `json:"found"` // given, searched, searched by time, stride search
	Optimal     float64   `json:"optimal"`
	TimeOptimal float64   `json:"time_optimal"`

	edges []float64 // BinsGB in bytes
}

// cutter cuts the peaks of one dataset into bins.
type cutter struct {
	dataset *taskmodel.Dataset
	name    string
	runs    binning.History // weight 1 per run
	hours   binning.History // weighted by durations
}

func newCutter(l *taskmodel.Dataset, name string) *cutter {
	peaks, seconds := make([]float64, l.Len()), make([]float64, l.Len())
	for i := range peaks {
		peaks[i], seconds[i] = l.Peak(i), l.Seconds(i)
	}
	return &cutter{l, name, binning.History{Peaks: peaks}, binning.History{Peaks: peaks, Weights: seconds}}
}

// binningOf returns the binning with these edges, in bytes.
func (c *cutter) binningOf(found string, edges []float64) Binning {
	top := edges[len(edges)-1]
	b := Binning{
		Task: c.name, Found: found, BinsGB: make([]float64, len(edges)), edges: edges,
		Optimal: c.runs.Improvement(edges, top), TimeOptimal: c.hours.Improvement(edges, top),
	}
	for i, edge := range edges {
		b.BinsGB[i] = edge / 1e9
	}
	return b
}

// top returns the largest request if it covers every peak, else the largest peak plus a
// margin.
func (c *cutter) top() float64 {
	requested := sizing.Bytes(0)
	for i := range c.dataset.Len() {
		requested = max(requested, c.dataset.Row(i).Requested.Memory)
	}
	if float64(requested) >= slices.Max(c.runs.Peaks) {
		return float64(requested)
	}
	return binning.Top(c.runs.Peaks, margin, 1e6)
}

// compare searches the given number of bins under one top with three methods: exact,
// exact with weights by time, and the stride search of the study.
func (c *cutter) compare(bins int, top float64) ([]Binning, error) {
	exact, err := c.runs.Search(bins, top, 0)
	if err != nil {
		return nil, err
	}
	timed, err := c.hours.Search(bins, top, 0)
	if err != nil {
		return nil, err
	}
	study, err := c.runs.Stride(bins, top, stride(top))
	if err != nil {
		return nil, err
	}
	return []Binning{c.binningOf(searched, exact), c.binningOf(searchedTime, timed), c.binningOf(strided, study)}, nil
}

// stride returns the 10 GB of the study, or a twentieth of the top if that is less.
func stride(top float64) float64 { return min(10e9, top/20) }

// parseEdges converts edges from GB to bytes and checks them.
func parseEdges(task string, gb []float64) ([]float64, error) {
	edges := make([]float64, len(gb))
	for i, v := range gb {
		edges[i] = math.Round(v * 1e9)
	}
	if err := binning.Check(edges); err != nil || edges[len(edges)-1] > sizing.MaxBytes {
		return nil, sizing.Errorf(sizing.Invalid, "bins of %s must ascend and be above 0 GB: %v", task, gb)
	}
	return edges, nil
}

// trial is one binning to evaluate.
type trial struct {
	*cutter
	Binning
	levels []float64 // logarithms of the edges, the form that models use
	bin    []int     // of each row of the dataset
}

func (c *cutter) trial(b Binning) *trial {
	t := &trial{cutter: c, Binning: b}
	for _, edge := range b.edges {
		t.levels = append(t.levels, math.Log(edge))
	}
	for _, peak := range c.runs.Peaks {
		t.bin = append(t.bin, binning.Index(b.edges, peak))
	}
	return t
}

// try returns the trials over the user's edges, and a table that compares them with
// searched edges.
func (c *cutter) try(givenGB [][]float64) (trials []*trial, table []Binning, err error) {
	for _, gb := range givenGB {
		edges, err := parseEdges(c.name, gb)
		if err != nil {
			return nil, nil, err
		}
		found, err := c.compare(len(edges), edges[len(edges)-1])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.name, err)
		}
		b := c.binningOf(given, edges)
		trials, table = append(trials, c.trial(b)), append(append(table, b), found...)
	}
	return trials, table, nil
}

// search returns the trials over the best edges found, and the table of all searches.
func (c *cutter) search() (trials []*trial, table []Binning, err error) {
	for bins := fewestBins; bins <= mostBins; bins++ {
		found, err := c.compare(bins, c.top())
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.name, err)
		}
		if best := found[0]; len(best.edges) == bins { // otherwise there are too few distinct peaks
			trials, table = append(trials, c.trial(best)), append(table, found...)
		}
	}
	if trials == nil {
		return nil, nil, sizing.Errorf(sizing.Invalid, "%s: its peaks are all the same and cannot be cut; leave it out", c.name)
	}
	return trials, table, nil
}
