package taskmodel

import (
	"fmt"
	"math"

	"github.com/loadaware/loadaware/internal/ml/binning"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// bins returns the bin of a limit and the probabilities of the bins of the question or, if it has none, of the bins of the
// task; nil without bins. The last bin also contains larger limits.
func (m *Model) bins(p *experts.Point, q Question, limit sizing.Bytes, b *buffers) *sizing.BinChoice {
	bins := q.Edges
	if len(bins) == 0 {
		bins = m.Bins
	}
	if len(bins) == 0 {
		return nil
	}
	choice := &sizing.BinChoice{Upper: bins, Probabilities: make([]float64, len(bins)), Chosen: min(bins.Index(limit), len(bins)-1)}
	b.edges = b.edges[:0]
	for _, edge := range bins {
		b.edges = append(b.edges, float64(edge)/m.Understatement.factor())
	}
	m.binProbabilities(p, b.edges, choice.Probabilities, b)
	return choice
}

// binProbabilities writes to probs, for each bin, the probability that the peak is in this bin. `edges` are the ascending
// upper edges in bytes. The last bin includes all larger peaks, so the probabilities sum to 1.
func (m *Model) binProbabilities(p *experts.Point, edges, probs []float64, b *buffers) {
	m.mixtureExceedances(p, edges, probs, b)
	probs[len(probs)-1] = 0
	aboveLower := 1.0 // P(peak > the lower edge)
	for i := range probs {
		above := min(aboveLower, probs[i])
		probs[i], aboveLower = aboveLower-above, above
	}
}

const (
	binCount     = 4       // largest number of bins; with more bins, grants are rounded up less
	binTopMargin = 0.1     // distance of the top edge from the largest peak, as a share of the peak
	binStep      = 1 << 20 // edges are multiples of a MiB
)

// searchBins finds, by exact search, the edges that waste the least memory over time if each run gets the upper edge of its
// bin. `peaks` are in bytes, and `seconds` are the durations of the same runs.
func searchBins(peaks, seconds []float64) (sizing.Bins, error) {
	if len(peaks) == 0 {
		return nil, nil
	}
	top := binning.Top(peaks, binTopMargin, binStep)
	edges, err := binning.History{Peaks: peaks, Weights: seconds}.Search(binCount, top, binStep)
	if err != nil {
		return nil, fmt.Errorf("search bins: %w", err)
	}
	var bins sizing.Bins
	for _, edge := range edges {
		if b := sizing.Bytes(min(math.Ceil(edge), sizing.MaxBytes)); len(bins) == 0 || b > bins[len(bins)-1] {
			bins = append(bins, b)
		}
	}
	return bins, nil
}

// binsOf returns the bins that waste the least memory on rows (see searchBins), and the logarithms of their upper edges.
func binsOf(rows []row) (levels []float64, bins sizing.Bins, err error) {
	var peaks, seconds []float64
	for i := range rows {
		peaks, seconds = append(peaks, rows[i].Peak), append(seconds, rows[i].Seconds)
	}
	bins, err = searchBins(peaks, seconds)
	for _, bin := range bins {
		levels = append(levels, math.Log(float64(bin)))
	}
	return levels, bins, err
}
