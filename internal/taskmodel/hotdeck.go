package taskmodel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Hot-deck imputation (Andridge & Little 2010) fills in the rarely missing features that a question lacks: the models have
// learned few or no rows without these features, so they cannot predict such a row. The values come from similar runs, the
// donor rows. The prediction is the mean of the predictions with the values of each donor row. The differences between
// these predictions add to the margin as an independent error. A missing feature without influence therefore does not
// change the amount.
const (
	minMissingRows  = 8      // if at least this number of rows lack a feature, the models learn the effect of its absence
	minMissingShare = 16     // if fewer than minMissingRows rows lack the feature, the models learn the effect only if at least one row in 16 lacks it
	minNewRows      = 32     // replaces minMissingRows and minMissingShare if all rows without the feature are in the newer half of the history: few residuals are from such rows
	maxDonorRows    = 128    // largest number of stored donor rows; more of them make a model larger and its predictions slower
	maxDonorCells   = 24_000 // largest number of values in the stored donor rows
	maxNeighbours   = 32     // largest number of donor rows for a prediction
	minNeighbours   = 8      // smallest number of donor rows for a prediction
	neighbourPart   = 4      // between minNeighbours and maxNeighbours, a prediction uses a quarter of the stored donor rows

	// donorDeviations is the number of standard deviations above the mean that a normally distributed value exceeds with
	// probability sizing.DefaultRiskTarget. It is needed because the largest prediction of a few donor rows underestimates
	// the tail of the distribution.
	donorDeviations = 2.17
)

// chooseDonorRows stores some of the rows, evenly spaced by peak, as donor rows, and measures the relevance
// of each feature.
func (e *encoder) chooseDonorRows(rows [][]sizing.Value, y []float64) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(y[a], y[b]), cmp.Compare(a, b)) })
	n := min(maxDonorRows, len(rows), max(1, maxDonorCells/max(1, len(e.Columns))))
	donorRows := make([][]sizing.Value, n)
	for i := range donorRows {
		donorRows[i] = e.donorOf(rows[order[(2*i+1)*len(rows)/(2*n)]])
	}
	e.DonorRows = donorTableOf(donorRows)
	for j := range e.Columns {
		if c := &e.Columns[j]; c.Kind != sizing.Missing {
			c.measureRelevance(j, rows, y)
		}
	}
}

// donorOf returns a copy of a row as a donor row: without features that are not encoded, and with the keys of texts (keyOf).
// It omits the fields that were added to the schema after the fit, because the encoding has no column for them.
func (e *encoder) donorOf(cells []sizing.Value) []sizing.Value {
	donor := slices.Clone(cells[:len(e.Columns)])
	for j, v := range donor {
		switch {
		case e.Columns[j].Kind == sizing.Missing:
			donor[j] = sizing.Value{}
		case v.Kind == sizing.Category:
			donor[j].Text = keyOf(v.Text)
		}
	}
	return donor
}

// measureRelevance sets PresentShare, Scale and ExplainedShare. ExplainedShare is the squared correlation with the log peak
// or, for a category, the correlation ratio (Fisher 1925); both are adjusted for chance.
func (c *column) measureRelevance(j int, rows [][]sizing.Value, y []float64) {
	s := newScreen(1, y)
	total, known, between := 0.0, 0.0, 0.0
	levels := map[string]*categoryLevel{}
	for i, cells := range rows {
		deviation := y[i] - s.mean
		total += deviation * deviation
		v := cells[j]
		if v.Kind == sizing.Missing {
			continue
		}
		known++
		s.add([]float64{c.scaled(v)}, y[i])
		if v.Kind == sizing.Category {
			if levels[v.Text] == nil {
				levels[v.Text] = &categoryLevel{}
			}
			levels[v.Text].Rows++
			levels[v.Text].Sum += deviation
		}
	}
	c.PresentShare = known / float64(len(rows))
	c.Scale = math.Sqrt(max(0, s.xx[0]-s.x[0]*s.x[0]/max(known, 1)) / max(known, 1))
	parameters := 1.0
	if between = s.score(0); c.Kind == sizing.Category {
		between, parameters = 0, float64(len(levels)-1)
		names := make([]string, 0, len(levels))
		for name := range levels {
			names = append(names, name)
		}
		slices.Sort(names) // the sum must not depend on the order of a map
		for _, name := range names {
			between += levels[name].Sum * levels[name].Sum / levels[name].Rows
		}
	}
	if degrees := known - parameters - 1; degrees > 0 && total > 0 {
		c.ExplainedShare = max(0, 1-(1-min(1, between/total))*(known-1)/degrees)
	}
}

func (c *column) scaled(v sizing.Value) float64 {
	if c.WithLog {
		return c.logOf(v.Num)
	}
	return v.Num
}

// isIncomplete reports whether a row lacks a rarely missing feature.
func (e *encoder) isIncomplete(cells []sizing.Value) bool {
	for j := range e.Columns {
		if e.lacksFeature(j, cells) {
			return true
		}
	}
	return false
}

func (e *encoder) hasMissing(cells []sizing.Value) bool {
	for j := range e.Columns {
		if e.Columns[j].Kind != sizing.Missing && cells[j].Kind == sizing.Missing {
			return true
		}
	}
	return false
}

func (e *encoder) lacksFeature(j int, cells []sizing.Value) bool {
	c := &e.Columns[j]
	return c.RarelyMissing && c.Kind != sizing.Missing && cells[j].Kind == sizing.Missing
}

// fillFrom appends a row's values to dst, with the donor row's values for the rarely missing features that the row lacks.
// It takes the first date that both rows have and shifts each imputed date by the difference of the rows in this date, in days
// and in UTC offset, so that the differences between dates do not mix two runs. It drops a rarely present feature that the
// donor row lacks, because no model has learned the feature together with the donor row's values.
func (e *encoder) fillFrom(cells, donor, dst []sizing.Value) []sizing.Value {
	days, offset := 0.0, int8(0)
	for j := range e.Columns {
		if e.Columns[j].Kind == sizing.Date && cells[j].Kind == sizing.Date && donor[j].Kind == sizing.Date {
			days, offset = cells[j].Num-donor[j].Num, cells[j].Offset-donor[j].Offset
			break
		}
	}
	for j, v := range cells {
		switch {
		case j >= len(e.Columns):
		case e.lacksFeature(j, cells):
			if v = donor[j]; v.Kind == sizing.Date {
				v = sizing.Value{Kind: sizing.Date, Num: v.Num + days, Offset: v.Offset + offset}
			}
		case e.Columns[j].RarelyPresent && donor[j].Kind == sizing.Missing:
			v = sizing.Value{}
		}
		dst = append(dst, v)
	}
	return dst
}

type neighbour struct {
	donor    int
	distance float64
}

// nearestDonorRows returns the donor rows most similar to a row in the features that the row has (Gower
// 1971, each feature weighted by its relevance). Among donor rows at equal distance it selects some that are evenly spaced
// by peak. `similar` consists of the rows of `nearest` and all further donor rows at the same distance as the last of these
// rows. Both results are in the memory of b.
func (e *encoder) nearestDonorRows(cells []sizing.Value, b *buffers) (nearest, similar []neighbour) {
	dst := b.neighbours[:0]
	for i := range e.DonorRows.len() {
		b.donor = e.DonorRows.row(i, b.donor[:0])
		dst = append(dst, neighbour{i, e.distance(cells, b.donor, missingDonorDistance)})
	}
	spaced := func(i int) uint32 { return uint32(i+1) * 2654435769 } // Fibonacci hashing (Knuth 1973)
	slices.SortFunc(dst, func(a, b neighbour) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(spaced(a.donor), spaced(b.donor)))
	})
	n := min(len(dst), maxNeighbours, max(minNeighbours, len(dst)/neighbourPart))
	end := n
	for end > 0 && end < len(dst) && dst[end].distance == dst[n-1].distance {
		end++
	}
	return dst[:n], dst[:end]
}

// missingDonorDistance is added to the distance of a donor row for each feature to impute that the donor row lacks too, so
// that such a donor row comes last.
const missingDonorDistance = 1e6

// distance returns the Gower distance between a row and a donor row, as a sum over the features. It adds
// bothMissing for each rarely missing feature that both rows lack.
func (e *encoder) distance(cells, donor []sizing.Value, bothMissing float64) (sum float64) {
	for j := range e.Columns {
		c := &e.Columns[j]
		v, d := &cells[j], &donor[j]
		switch {
		case c.Kind == sizing.Missing:
		case v.Kind == sizing.Missing:
			if d.Kind == sizing.Missing && c.RarelyMissing {
				sum += bothMissing
			}
		case d.Kind == sizing.Missing:
			sum += c.ExplainedShare
		case c.Kind == sizing.Category:
			if c.find(v.Text) != c.find(d.Text) {
				sum += c.ExplainedShare
			}
		case c.Scale > 0:
			sum += c.ExplainedShare * math.Abs(c.scaled(*v)-c.scaled(*d)) / c.Scale
		}
	}
	return sum
}

// imputeFromDonorRows fills p with the mean of the predictions for a row with the values of k similar donor rows.
//
// It sets b.donorMargin to the larger of two distances from this mean: to the largest prediction, and to the tail, the
// quantile of a normal distribution (donorDeviations). But the margin is at most 1 + 1/√k times the distance to the largest
// prediction.
//
// It sets b.unseenProb to the probability that the run needs more than the margin of experts.LineTrees covers. If the margin
// is the distance to the tail, this probability is the default risk target. Otherwise it is 1/(k+1), the probability that
// among k donor rows and the run itself the run is the largest.
func (m *models) imputeFromDonorRows(cells []sizing.Value, p *experts.Point, b *buffers) {
	b.neighbours, b.similar = m.Enc.nearestDonorRows(cells, b)
	b.noFeatures = !m.Enc.hasAnyFeature(cells)
	b.donorPoints, b.donorSeconds = b.donorPoints[:0], b.donorSeconds[:0]
	stride := (len(b.neighbours) + maxMixtureDonorRows - 1) / maxMixtureDonorRows
	var mean experts.Point
	var squares, most [experts.ModelCount]float64
	share := 1 / float64(len(b.neighbours))
	for i, near := range b.neighbours {
		b.donor = m.Enc.DonorRows.row(near.donor, b.donor[:0])
		b.imputed = m.Enc.fillFrom(cells, b.donor, b.imputed[:0])
		m.predictRow(b.imputed, p, b)
		if i%stride == 0 {
			b.donorPoints = append(b.donorPoints, *p)
		}
		for k, level := range p.Level {
			before := mean.Level[k]
			mean.Level[k] += (level - before) / float64(i+1) // West 1979
			squares[k] += (level - before) * (level - mean.Level[k])
			if i == 0 || level > most[k] {
				most[k] = level
			}
		}
		for k, scale := range p.Scale {
			mean.Scale[k] += share * scale
		}
		mean.Duration += share * p.Duration
		b.donorSeconds = append(b.donorSeconds, p.Duration)
	}
	widening := 1 + 1/math.Sqrt(float64(len(b.neighbours))) // the peak may exceed the largest prediction of a few donor rows, but not by much
	for k := range b.donorMargin {
		largest, tail := most[k]-mean.Level[k], donorDeviations*math.Sqrt(max(0, squares[k])*share)
		b.donorMargin[k] = min(max(largest, tail), widening*largest)
		if k == experts.LineTrees {
			if b.unseenProb = sizing.DefaultRiskTarget; b.donorMargin[k] < tail || largest > tail {
				b.unseenProb = 1 / float64(len(b.neighbours)+1)
			}
		}
	}
	mean.Imputed = true
	b.donorPointMean = mean
	for _, further := range b.similar[len(b.neighbours):] { // run times use all similar rows: a long run may be rarer than one in maxNeighbours
		m.encodeDonorRow(cells, further, b)
		b.donorSeconds = append(b.donorSeconds, m.pointRunTime(b.imputed, b.line, m.groupOf(b.imputed, b)))
	}
	for i := range b.donorSeconds {
		b.donorSeconds[i] -= mean.Duration
	}
	*p = mean
	b.line, b.tree = m.Enc.encode(cells, b.line[:0], b.tree[:0])
}

func (m *models) encodeDonorRow(cells []sizing.Value, near neighbour, b *buffers) {
	b.donor = m.Enc.DonorRows.row(near.donor, b.donor[:0])
	b.imputed = m.Enc.fillFrom(cells, b.donor, b.imputed[:0])
	b.line, b.tree = m.Enc.encode(b.imputed, b.line[:0], b.tree[:0])
	b.groupOf = nil
}

// describeMissing describes the imputed features for the reason of an answer; "" if the question lacks no rarely missing
// feature. `amount` is the experts' amount.
func (m *Model) describeMissing(amount float64, b *buffers) string {
	e := m.Models.Enc
	if b.noFeatures {
		return "no feature is known: sized by the peaks of all runs"
	}
	var names, shares []string
	for j := range e.Columns {
		if e.lacksFeature(j, b.cells) {
			names = append(names, e.Columns[j].Name)
			if known := e.Columns[j].PresentShare; known > 0 { // zero in models of earlier releases
				shares = append(shares, fmt.Sprintf("%.0f", 100*known))
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := "feature " + names[0] + " is missing"
	if len(names) > 1 {
		text = "features " + strings.Join(names, ", ") + " are missing"
	}
	if len(shares) > 0 {
		text += fmt.Sprintf(" (present in %s %% of runs)", strings.Join(slices.Compact(shares), ", "))
	}
	text += ": imputed from similar runs"
	if added := sizing.Bytes(amount - b.unwidenedAmount); b.unwidenedAmount > 0 && added >= sizing.MiB {
		text += ", adds " + added.Approx()
	}
	return text
}
