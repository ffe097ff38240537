package taskmodel

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/ml/gbt"
	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	maxExplainedRows = 32   // number of newest rows whose predictions determine the drivers
	maxDrivers       = 3    // largest number of drivers
	minDriverShare   = 0.02 // smallest share of a driver in the sum of the contributions of all features
)

// describe sets Bins, Drivers and Ambiguity, which describe the task in answers. They do not affect the granted amounts,
// with one exception: Bins do if the policy rounds grants up to bins. A model with a FitCache gets only Bins.
func (m *Model) describe(h *sizing.History) error {
	var peaks, seconds []float64
	quarantinedRows := m.quarantinedSeqs()
	for i := range h.Rows {
		if r := &h.Rows[i]; r.Outcome == sizing.Success && r.MemoryMax > 0 && r.MemoryMax <= maxPossible && !quarantinedRows[r.Seq] {
			peaks = append(peaks, float64(r.MemoryMax))
			seconds = append(seconds, secondsOf(r.Duration)*max(r.Weight, 1))
		}
	}
	bins, err := searchBins(peaks, seconds)
	if err != nil {
		return err
	}
	m.Bins = bins
	if m.fits == nil {
		m.Drivers, m.Ambiguity = m.drivers(h), m.ambiguity()
	}
	return nil
}

// drivers returns the names of the features with the largest contributions to the predictions, the largest first. The
// contributions are those of the line (the ridge regression), of the combinations of categories, and of the trees on the
// remaining residuals. The combinations and the trees have none unless the
// out-of-sample errors of LineTrees are smaller than those of the line. There are no drivers if the median has the
// smallest errors: what the models learned from the features was then chance.
func (m *Model) drivers(h *sizing.History) []string {
	if m.Models == nil || m.Models.ridges == nil {
		return nil
	}
	errors := &m.Experts.SquaredErrors
	lineErrors := errors[experts.Line]
	hasTrees := m.Models.Resid != nil && errors[experts.LineTrees] < lineErrors
	if min(lineErrors, errors[experts.LineTrees]) >= errors[experts.Median] {
		return nil
	}
	share, ofRow := map[string]float64{}, map[string]float64{} // sums of absolute and of signed contributions by feature
	total := 0.0
	var x, tree []float64
	phi := make([]float64, m.Models.Enc.TreeWidth)
	var trees *gbt.Explainer
	if hasTrees {
		trees = m.Models.Resid.Explainer()
	}
	previous := h.Schema.PreviousSameName()
	lineNames, treeNames := m.Models.Enc.columnNames()
	line := m.Models.lineRidge()
	coefficients := line.Coefficients()
	mean := make([]float64, len(coefficients))
	rows := h.Rows[max(0, len(h.Rows)-maxExplainedRows):]
	for pass := range 2 { // pass 0 computes the mean of the rows, pass 1 the contributions relative to this mean
		for i := range rows {
			cells := cellsOf(&h.Schema, previous, rows[i].Features)
			x, tree = m.Models.Enc.encode(cells, x[:0], tree[:0])
			slope := m.Models.slopeAt(m.Models.levelOf(line.Predict(x)))
			for j, c := range coefficients {
				if pass == 0 {
					mean[j] += x[j] / float64(len(rows))
				} else {
					ofRow[lineNames[j]] += slope * c * (x[j] - mean[j])
				}
			}
			if pass == 1 && trees != nil {
				trees.Explain(tree, phi)
				for j, v := range phi {
					ofRow[treeNames[j]] += v
				}
				columns := m.Models.Enc.Columns
				known := &m.Models.Combinations
				known.split(known.effect(columns, cells), func(j int, part float64) { ofRow[columns[j].Name] += part })
			}
			for name, v := range ofRow { // the columns of a feature may cancel each other, such as a number and its logarithm
				share[name] += math.Abs(v)
			}
			clear(ofRow)
		}
	}
	var names []string
	for name := range share {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(share[b], share[a]), cmp.Compare(a, b)) })
	for _, name := range names { // not in the order of a map, which would change the rounding of the sum
		total += share[name]
	}
	for i, name := range names {
		if i == maxDrivers || share[name] < minDriverShare*total {
			return names[:i]
		}
	}
	return names
}

func (e *encoder) columnNames() (line, tree []string) {
	for i := range e.Columns {
		inLine, inTree := e.Columns[i].widths()
		line = append(line, slices.Repeat([]string{e.Columns[i].Name}, inLine)...)
		tree = append(tree, slices.Repeat([]string{e.Columns[i].Name}, inTree)...)
	}
	for _, p := range e.Pairs {
		pair := e.Columns[p[1]].Name + "-" + e.Columns[p[0]].Name
		line, tree = append(line, pair, pair), append(tree, pair)
	}
	return gather(line, 0, e.KeepLine), gather(tree, 0, e.KeepTree)
}

const (
	minAmbiguousRows   = 20  // smallest number of rows, in groups of at least three runs with identical features, for a warning
	minAmbiguousSpread = 0.7 // smallest standard deviation of the log peaks in such groups for a warning: a typical factor of two from the mean, as for equally many peaks of 1 and 4.1 GiB
)

func (m *Model) ambiguity() string {
	rows, squares := 0.0, 0.0
	var g group
	for i := range m.Models.Groups.len() {
		if m.Models.Groups.read(i, &g); g.Rows >= 3 {
			rows, squares = rows+g.Rows, squares+g.Squares
		}
	}
	if rows < minAmbiguousRows || math.Sqrt(squares/rows) < minAmbiguousSpread {
		return ""
	}
	return fmt.Sprintf("runs with identical features differ by a factor of %.1f: add a feature that distinguishes them",
		math.Exp(math.Sqrt(squares/rows)))
}
