package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// A row that lacks features gets a conservative amount: the mean prediction over donors plus a
// margin for the spread between donors. Its probabilities are those of the mixture: the mean over
// the donors of the experts' probabilities with the donor's values.

const maxMixtureDonors = 16 // donors whose probabilities are computed

// hasAnyFeature reports whether a row has any feature that is encoded.
func (e *encoder) hasAnyFeature(cells []sizing.Value) bool {
	for j := range e.Columns {
		if e.Columns[j].Kind != sizing.Missing && cells[j].Kind != sizing.Missing {
			return true
		}
	}
	return false
}

// shiftDonors shifts the donors' levels by as much as an extrapolation moved their mean to p.
func (b *buffers) shiftDonors(p *experts.Point) {
	for i := range b.donorPoints {
		for k := range p.Level {
			b.donorPoints[i].Level[k] += p.Level[k] - b.donorPointMean.Level[k]
		}
	}
}

// mixtureExceedance returns P(peak > amount) by the mixture of donors; for a row without any
// feature, by the peaks of all runs.
func (m *Model) mixtureExceedance(p *experts.Point, amount float64, b *buffers) float64 {
	switch {
	case p.Imputed && b.noFeatures:
		return m.Models.Recent.Exceed(math.Log(amount))
	case !p.Imputed || len(b.donorPoints) == 0:
		return m.Experts.Exceed(p, amount, &b.scratch)
	}
	sum := 0.0
	for i := range b.donorPoints {
		sum += m.Experts.Exceed(&b.donorPoints[i], amount, &b.scratch)
	}
	return sum / float64(len(b.donorPoints))
}

// mixtureExceedances writes P(peak > edge) for each edge, as mixtureExceedance does.
func (m *Model) mixtureExceedances(p *experts.Point, edges, probs []float64, b *buffers) {
	switch {
	case p.Imputed && b.noFeatures:
		for i, edge := range edges {
			probs[i] = m.Models.Recent.Exceed(math.Log(edge))
		}
		return
	case !p.Imputed || len(b.donorPoints) == 0:
		m.Experts.CalibratedExceedance(p, edges, probs, &b.scratch)
		return
	}
	clear(probs)
	b.donorProbs = append(b.donorProbs[:0], probs...)
	for i := range b.donorPoints {
		m.Experts.CalibratedExceedance(&b.donorPoints[i], edges, b.donorProbs, &b.scratch)
		for k, v := range b.donorProbs {
			probs[k] += v / float64(len(b.donorPoints))
		}
	}
}

// answerWithoutFeatures answers for a row without any feature: the quantile of all recent peaks,
// but never more than the margins ask for.
func (m *Model) answerWithoutFeatures(a *experts.Answer, p *experts.Point, target float64) {
	if all := math.Exp(m.Models.Recent.Upper(target)); all < a.Amount {
		a.Amount = max(all, p.MinAmount)
	}
	a.Promised = experts.Probability(m.Models.Recent.Exceed(math.Log(a.Amount)) * a.Factor)
}
