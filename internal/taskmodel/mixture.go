package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// A row that lacks a rarely missing feature gets a conservative amount: the mean prediction over donor rows (similar
// rows, whose values replace missing ones) plus a margin for the differences between these predictions. Its
// probabilities are a mixture over donor rows: the mean of the experts' probabilities with the values of each donor row.

const maxMixtureDonorRows = 16 // largest number of donor rows in the mixture; the time of an answer grows with it

func (e *encoder) hasAnyFeature(cells []sizing.Value) bool {
	for j := range e.Columns {
		if e.Columns[j].Kind != sizing.Missing && cells[j].Kind != sizing.Missing {
			return true
		}
	}
	return false
}

// shiftDonorRows shifts the levels predicted with the values of each donor row by as much as an extrapolation changed
// their mean. p has the mean levels after the extrapolation.
func (b *buffers) shiftDonorRows(p *experts.Point) {
	for i := range b.donorPoints {
		for k := range p.Level {
			b.donorPoints[i].Level[k] += p.Level[k] - b.donorPointMean.Level[k]
		}
	}
}

// mixtureExceedance returns P(peak > amount).
func (m *Model) mixtureExceedance(p *experts.Point, amount float64, b *buffers) float64 {
	switch {
	case p.Imputed && b.noFeatures:
		return m.Models.Recent.ExceedanceProb(math.Log(amount))
	case !p.Imputed || len(b.donorPoints) == 0:
		return m.Experts.ExceedanceProb(p, amount, &b.scratch)
	}
	sum := 0.0
	for i := range b.donorPoints {
		sum += m.Experts.ExceedanceProb(&b.donorPoints[i], amount, &b.scratch)
	}
	return sum / float64(len(b.donorPoints))
}

// mixtureExceedances writes P(peak > edge) to probs for each of the edges, which are in bytes. Unlike mixtureExceedance, it
// uses Experts.CalibratedExceedance, whose probabilities are also calibrated in the middle of the distribution.
func (m *Model) mixtureExceedances(p *experts.Point, edges, probs []float64, b *buffers) {
	switch {
	case p.Imputed && b.noFeatures:
		for i, edge := range edges {
			probs[i] = m.Models.Recent.ExceedanceProb(math.Log(edge))
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

// answerWithoutFeatures changes a to the answer for a row without any feature. The new amount is the quantile of the newest
// peaks that is exceeded with probability target, or p.MinAmount if that is larger. It does not depend on the previous
// a.Amount, which comes from donor rows of the last fit: the peaks may have fallen or risen since. In the cold start, however,
// the quantile may extrapolate far above the few peaks, so it is limited to the larger of the largest peak and a.Amount.
func (m *Model) answerWithoutFeatures(a *experts.Answer, p *experts.Point, target float64, b *buffers) {
	recent := &m.Models.Recent
	amount := math.Exp(recent.UpperQuantile(target))
	if m.Experts.IsColdStart() {
		largest := math.Exp(recent.UpperQuantile(max(target, 1/float64(len(recent.Ring)+1))))
		amount = min(amount, max(largest, a.Amount))
	}
	a.Amount, b.usesRequest = max(p.MinAmount, amount), false
	a.Promised = experts.Probability(recent.ExceedanceProb(math.Log(a.Amount)) * a.Factor)
}
