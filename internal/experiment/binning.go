package experiment

import (
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/fitting"
	"github.com/loadaware/loadaware/internal/ml/binning"
	"github.com/loadaware/loadaware/internal/sizing"
)

// The ways in which edges are found.
const (
	given        = "given"
	searched     = "searched"         // the highest optimal improvement
	searchedTime = "searched by time" // the highest time-weighted one
	strided      = "stride search"    // the study's, over multiples of stride
)

const (
	fewestBins, mostBins = 2, 4 // that are searched for

	margin = 0.2 // of a top that no request gives
)

// Binning is one way to cut a task's peaks, and what a perfect classifier over it
// would save of the static bill, which is the top edge for every run.
type Binning struct {
	Task        string    `json:"task"`
	BinsGB      []float64 `json:"bins_gb"`
	Found       string    `json:"found"` // given, searched, searched by time, stride search
	Optimal     float64   `json:"optimal"`
	TimeOptimal float64   `json:"time_optimal"`

	edges []float64 // BinsGB in bytes
}

// cutter cuts the peaks of one lesson.
type cutter struct {
	lesson *fitting.Dataset
	name   string
	runs   binning.History // one a run
	hours  binning.History // weighted by durations
}

func newCutter(l *fitting.Dataset, name string) *cutter {
	peaks, seconds := make([]float64, l.Len()), make([]float64, l.Len())
	for i := range peaks {
		peaks[i], seconds[i] = l.Peak(i), l.Seconds(i)
	}
	return &cutter{l, name, binning.History{Peaks: peaks}, binning.History{Peaks: peaks, Weights: seconds}}
}

// of is the binning with these edges, in bytes.
func (c *cutter) of(found string, edges []float64) Binning {
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

// top is the largest request where that holds every peak, else a margin over them.
func (c *cutter) top() float64 {
	requested := sizing.Bytes(0)
	for i := range c.lesson.Len() {
		requested = max(requested, c.lesson.Row(i).Requested.Memory)
	}
	if float64(requested) >= slices.Max(c.runs.Peaks) {
		return float64(requested)
	}
	return binning.Top(c.runs.Peaks, margin, 1e6)
}

// compare searches for as many bins under the same top: exactly, exactly by time,
// and as the study did.
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
	return []Binning{c.of(searched, exact), c.of(searchedTime, timed), c.of(strided, study)}, nil
}

// stride is the study's 10 GB, or a twentieth of the top if that is less.
func stride(top float64) float64 { return min(10e9, top/20) }

// edgesOf are the edges that a person gave, in bytes.
func edgesOf(task string, gb []float64) ([]float64, error) {
	edges := make([]float64, len(gb))
	for i, v := range gb {
		edges[i] = math.Round(v * 1e9)
	}
	if err := binning.Check(edges); err != nil || edges[len(edges)-1] > sizing.MaxBytes {
		return nil, sizing.Errorf(sizing.Invalid, "bins of %s must ascend and be above 0 GB: %v", task, gb)
	}
	return edges, nil
}

// trial is one binning that is experimented on.
type trial struct {
	*cutter
	Binning
	levels []float64 // logarithms of the edges: what models know of them
	bin    []int     // of each row of the lesson
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

// try are the trials over edges that a person gave, and the table of what is found
// beside them.
func (c *cutter) try(givenGB [][]float64) (trials []*trial, table []Binning, err error) {
	for _, gb := range givenGB {
		edges, err := edgesOf(c.name, gb)
		if err != nil {
			return nil, nil, err
		}
		found, err := c.compare(len(edges), edges[len(edges)-1])
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.name, err)
		}
		b := c.of(given, edges)
		trials, table = append(trials, c.trial(b)), append(append(table, b), found...)
	}
	return trials, table, nil
}

// search is try over the edges that are found best.
func (c *cutter) search() (trials []*trial, table []Binning, err error) {
	for bins := fewestBins; bins <= mostBins; bins++ {
		found, err := c.compare(bins, c.top())
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", c.name, err)
		}
		if best := found[0]; len(best.edges) == bins { // else there are not so many distinct peaks
			trials, table = append(trials, c.trial(best)), append(table, found...)
		}
	}
	if trials == nil {
		return nil, nil, sizing.Errorf(sizing.Invalid, "%s: its peaks are all the same, so there is nothing to cut: leave it out", c.name)
	}
	return trials, table, nil
}
