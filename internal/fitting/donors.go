package fitting

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Hot-deck imputation (Andridge & Little 2010) of features that a question lacks and
// that hardly any run lacked: the models never saw such a row, so that their answer to it
// means nothing. The features are taken from similar runs, the donors. The mean of what
// the models say with each donor's values is the level, and the spread between the donors
// is added to the margin as an independent error: a feature that drives nothing costs
// nothing, and one that drives usage costs what it leaves open.
const (
	blindRows   = 8      // rows without a feature, from which on models know what its absence means …
	blindShare  = 16     // … or one row in so many, of a young task
	newlyRows   = 32     // … or so many, where the older half of the rows had the feature: margins know nothing of the rest
	donorCount  = 128    // rows that are kept, evenly spaced by peak
	donorCells  = 24_000 // values that are kept of them
	similarMost = 32     // of the donors are asked, …
	similarFew  = 8      // … and so few of a young task
	similarPart = 4      // … or one donor in so many

	// Deviations of a normal distribution that are exceeded with a probability of
	// sizing.DefaultRiskTarget: the largest of a few donors underestimates a tail.
	betweenDeviations = 2.17
)

// choose keeps rows, evenly spaced by peak, whose values stand in for what a row lacks,
// and notes how much each feature tells of the peak.
func (e *encoder) choose(rows [][]sizing.Value, y []float64) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(y[a], y[b]), cmp.Compare(a, b)) })
	n := min(donorCount, len(rows), max(1, donorCells/max(1, len(e.Columns))))
	for i := range n {
		e.Donors = append(e.Donors, e.donor(rows[order[(2*i+1)*len(rows)/(2*n)]]))
	}
	for j := range e.Columns {
		if c := &e.Columns[j]; c.Kind != sizing.Missing {
			c.relate(j, rows, y)
		}
	}
}

// donor keeps of a row what the encoding reads.
func (e *encoder) donor(cells []sizing.Value) []sizing.Value {
	donor := slices.Clone(cells)
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

// relate notes the feature's share of present values, the deviation of its values and the
// share of the log peak's variance that it explains alone, adjusted for chance: the squared
// correlation of a number, the correlation ratio of a category (Fisher 1925).
func (c *column) relate(j int, rows [][]sizing.Value, y []float64) {
	s := newScreen(1, y)
	total, known, between := 0.0, 0.0, 0.0
	groups := map[string]*level{}
	for i, cells := range rows {
		deviation := y[i] - s.mean
		total += deviation * deviation
		v := cells[j]
		if v.Kind == sizing.Missing {
			continue
		}
		known++
		s.add([]float64{c.position(v)}, y[i])
		if v.Kind == sizing.Category {
			if groups[v.Text] == nil {
				groups[v.Text] = &level{}
			}
			groups[v.Text].Rows++
			groups[v.Text].Sum += deviation
		}
	}
	c.Known = known / float64(len(rows))
	c.Unit = math.Sqrt(max(0, s.xx[0]-s.x[0]*s.x[0]/max(known, 1)) / max(known, 1))
	parameters := 1.0
	if between = s.score(0); c.Kind == sizing.Category {
		between, parameters = 0, float64(len(groups)-1)
		names := make([]string, 0, len(groups))
		for name := range groups {
			names = append(names, name)
		}
		slices.Sort(names) // the sum must not depend on the order of a map
		for _, name := range names {
			between += groups[name].Sum * groups[name].Sum / groups[name].Rows
		}
	}
	if left := known - parameters - 1; left > 0 && total > 0 {
		c.Tells = max(0, 1-(1-min(1, between/total))*(known-1)/left)
	}
}

// position is a value on the scale on which its distances count.
func (c *column) position(v sizing.Value) float64 {
	if c.Log {
		return math.Log1p(max(0, v.Num))
	}
	return v.Num
}

// lacking reports whether a row lacks a feature that hardly any row lacked before.
func (e *encoder) lacking(cells []sizing.Value) bool {
	for j := range e.Columns {
		if e.lacks(j, cells) {
			return true
		}
	}
	return false
}

func (e *encoder) lacks(j int, cells []sizing.Value) bool {
	c := &e.Columns[j]
	return c.Blind && c.Kind != sizing.Missing && cells[j].Kind == sizing.Missing
}

// fill appends a row's values to dst, with a donor's where it lacks them. A date
// keeps the donor's distance to a date that the row has: differences of dates would
// else be between two runs. A value of a feature that hardly any row had is left out
// where the donor lacks it: no model has seen it beside the donor's values.
func (e *encoder) fill(cells, donor, dst []sizing.Value) []sizing.Value {
	days := 0.0
	for j := range e.Columns {
		if e.Columns[j].Kind == sizing.Date && cells[j].Kind == sizing.Date && donor[j].Kind == sizing.Date {
			days = cells[j].Num - donor[j].Num
			break
		}
	}
	for j, v := range cells {
		switch {
		case j >= len(e.Columns):
		case e.lacks(j, cells):
			if v = donor[j]; v.Kind == sizing.Date {
				v = sizing.Value{Kind: sizing.Date, Num: v.Num + days}
			}
		case e.Columns[j].Rare && donor[j].Kind == sizing.Missing:
			v = sizing.Value{}
		}
		dst = append(dst, v)
	}
	return dst
}

// similar is a donor's place and its distance to a row.
type similar struct {
	donor    int
	distance float64
}

// nearest writes the donors that are most similar to a row in what the row has (Gower
// 1971, each feature weighed by what it tells of the peak). Donors at the same distance
// are taken evenly spaced by peak.
func (e *encoder) nearest(cells []sizing.Value, dst []similar) []similar {
	dst = dst[:0]
	for i, donor := range e.Donors {
		dst = append(dst, similar{i, e.distance(cells, donor)})
	}
	spaced := func(i int) uint32 { return uint32(i+1) * 2654435769 } // Fibonacci hashing (Knuth 1973)
	slices.SortFunc(dst, func(a, b similar) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(spaced(a.donor), spaced(b.donor)))
	})
	return dst[:min(len(dst), similarMost, max(similarFew, len(dst)/similarPart))]
}

const farAway = 1e6 // of a donor that lacks what it is to lend

func (e *encoder) distance(cells, donor []sizing.Value) (sum float64) {
	for j := range e.Columns {
		c := &e.Columns[j]
		v, d := &cells[j], &donor[j]
		switch {
		case c.Kind == sizing.Missing:
		case v.Kind == sizing.Missing:
			if d.Kind == sizing.Missing && c.Blind {
				sum += farAway
			}
		case d.Kind == sizing.Missing:
			sum += c.Tells
		case c.Kind == sizing.Category:
			if c.find(v.Text) != c.find(d.Text) {
				sum += c.Tells
			}
		case c.Unit > 0:
			sum += c.Tells * math.Abs(c.position(*v)-c.position(*d)) / c.Unit
		}
	}
	return sum
}

// askSimilar fills p with the mean of what the models say of a row with the values of
// similar donors, and b.between with how far above it the donors reach.
func (m *models) askSimilar(cells []sizing.Value, p *experts.Point, b *buffers) {
	b.near = m.Enc.nearest(cells, b.near)
	b.nothing = !m.Enc.readsAny(cells)
	b.lent = b.lent[:0]
	each := (len(b.near) + mixtureMost - 1) / mixtureMost
	var mean experts.Point
	var squares, most [experts.ModelCount]float64
	share := 1 / float64(len(b.near))
	for i, near := range b.near {
		b.filled = m.Enc.fill(cells, m.Enc.Donors[near.donor], b.filled[:0])
		m.askRow(b.filled, p, b)
		if i%each == 0 {
			b.lent = append(b.lent, *p)
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
	}
	reach := 1 + 1/math.Sqrt(float64(len(b.near))) // what was not drawn may lie beyond the largest of a few, but not far
	for k := range b.between {
		largest, tail := most[k]-mean.Level[k], betweenDeviations*math.Sqrt(max(0, squares[k])*share)
		b.between[k] = min(max(largest, tail), reach*largest)
		if k == experts.LineTrees {
			if b.unseen = sizing.DefaultRiskTarget; b.between[k] < tail || largest > tail {
				b.unseen = 1 / float64(len(b.near)+1)
			}
		}
	}
	mean.Blind = true
	b.lentMean = mean
	*p = mean
	b.line, b.tree = m.Enc.encode(cells, b.line[:0], b.tree[:0])
}

// ask fills p with what the models say of a row. Where the row lacks features, their
// uncertainty adds to the experts' own margin as independent errors add: by squares.
func (m *Model) ask(cells []sizing.Value, target float64, p *experts.Point, b *buffers) {
	m.Models.ask(cells, p, b)
	if m.Experts.AsksYoung() && (!p.Blind || m.Experts.Young()) { // else similar rows say more
		m.askYoung(cells, p, b)
	}
	if b.unwidened = 0; !p.Blind {
		return
	}
	b.moveLent(p)
	b.center = *p
	b.center.Blind, b.center.Young = false, nil
	b.unwidened = m.Experts.Answer(p, target, &b.scratch).Amount
	m.widenYoung(p, b)
	answer := math.Log(b.unwidened)
	for k, between := range b.between {
		margin := max(0, answer-p.Level[k])
		widened := math.Hypot(margin, between)
		p.Level[k] += widened - margin
		if k == experts.LineTrees && widened > 0 {
			b.unseen *= between * between / (widened * widened)
		}
	}
}

// missing says which features a question lacks, and what that adds to the amount.
func (m *Model) missing(amount float64, b *buffers) string {
	e := m.Models.Enc
	if b.nothing {
		return "no feature is known: the peaks of all runs answer"
	}
	var names, shares []string
	for j := range e.Columns {
		if e.lacks(j, b.cells) {
			names = append(names, e.Columns[j].Name)
			if known := e.Columns[j].Known; known > 0 { // models of earlier releases do not say
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
	if b.unwidened > 0 && amount > b.unwidened {
		text += ", adds " + sizing.Bytes(amount-b.unwidened).Approx()
	}
	return text
}
