package fitting

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// A row that lacks features is granted a conservative level: that of the mean donor and a
// margin for the spread between donors. Its probabilities are those of the mixture: the mean
// over the donors of what the experts say with the donor's values.

const mixtureMost = 16 // donors whose probabilities are computed

// readsAny reports whether a row has any feature that is read.
func (e *encoder) readsAny(cells []sizing.Value) bool {
	for j := range e.Columns {
		if e.Columns[j].Kind != sizing.Missing && cells[j].Kind != sizing.Missing {
			return true
		}
	}
	return false
}

// moveLent moves the donors' levels as an extrapolation moved their mean to p.
func (b *buffers) moveLent(p *experts.Point) {
	for i := range b.lent {
		for k := range p.Level {
			b.lent[i].Level[k] += p.Level[k] - b.lentMean.Level[k]
		}
	}
}

// exceedOnce is P(peak > amount); of a row without any feature, by the peaks of all runs.
func (m *Model) exceedOnce(p *experts.Point, amount float64, b *buffers) float64 {
	switch {
	case p.Blind && b.nothing:
		return m.Models.Recent.Exceed(math.Log(amount))
	case !p.Blind || len(b.lent) == 0:
		return m.Experts.Exceed(p, amount, &b.scratch)
	}
	sum := 0.0
	for i := range b.lent {
		sum += m.Experts.Exceed(&b.lent[i], amount, &b.scratch)
	}
	return sum / float64(len(b.lent))
}

// likelyAbove writes P(peak > edge) for each edge, as exceedOnce does, for bins.
func (m *Model) likelyAbove(p *experts.Point, edges, chance []float64, b *buffers) {
	switch {
	case p.Blind && b.nothing:
		for i, edge := range edges {
			chance[i] = m.Models.Recent.Exceed(math.Log(edge))
		}
		return
	case !p.Blind || len(b.lent) == 0:
		m.Experts.Likely(p, edges, chance, &b.scratch)
		return
	}
	clear(chance)
	b.chance = append(b.chance[:0], chance...)
	for i := range b.lent {
		m.Experts.Likely(&b.lent[i], edges, b.chance, &b.scratch)
		for k, v := range b.chance {
			chance[k] += v / float64(len(b.lent))
		}
	}
}

// answerAll answers for a row without any feature: the quantile of all recent peaks, and
// never more than the margins ask for.
func (m *Model) answerAll(a *experts.Answer, p *experts.Point, target float64) {
	if all := math.Exp(m.Models.Recent.Upper(target)); all < a.Amount {
		a.Amount = max(all, p.Least)
	}
	a.Promised = experts.Probability(m.Models.Recent.Exceed(math.Log(a.Amount)) * a.Factor)
}
