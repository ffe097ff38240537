package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
)

// answer returns the experts' answer, corrected for facts that the residuals do not contain, such
// as a static request that no run has exceeded.
func (m *Model) answer(p *experts.Point, q *Question, b *buffers) experts.Answer {
	a := m.Experts.Answer(p, q.RiskTarget, &b.scratch)
	b.usesRequest = false
	if m.Experts.IsColdStart() {
		m.limitToRequest(&a, p, q, b)
	}
	if b.extrapolation.capped > 0 {
		a.Amount = min(a.Amount, float64(maxPossible))
	}
	m.raiseForUnseen(&a, p, b)
	if b.extrapolation.jointMargin > 0 { // the factor 1/4 was measured with a peak that follows the product of two inputs
		a.Promised = experts.Probability(max(a.Promised, m.exceedanceProb(p, a.Amount*math.Exp(-b.extrapolation.jointMargin/2), b)/4))
	}
	if p.Imputed && b.noFeatures {
		m.answerWithoutFeatures(&a, p, q.RiskTarget)
		return a
	}
	if p.Imputed {
		// Among k donor rows and the new run, the new run is the largest with probability 1/(k+1).
		// b.unseenProb is the part of this probability that the margin does not cover.
		a.Promised = experts.Probability(min(0.5, a.Promised+b.unseenProb))
	}
	return a
}

// exceedanceProb returns P(peak > amount).
func (m *Model) exceedanceProb(p *experts.Point, amount float64, b *buffers) float64 {
	return experts.Probability(m.mixtureExceedance(p, amount, b))
}

// Weight of a static request as evidence during a cold start.
const (
	requestFailFactor = 2.0  // a request that fails more often than this multiple of the risk target is no evidence
	requestMargin     = 1.25 // the prediction times this factor may be granted even above the request
)

// limitToRequest limits the answer for a new task to the static request, unless the request has
// failed, requests of the DAG fail often, or the prediction is close to the request. The person who
// chose the request knows more about the tail than a few residuals show.
func (m *Model) limitToRequest(a *experts.Answer, p *experts.Point, q *Question, b *buffers) {
	requested := q.Requested.Memory
	if requested == 0 {
		requested = m.Requested.Memory
	}
	risk := m.Experts.RequestRisk
	if requested == 0 || m.Largest > requested || m.Bound >= requested || risk > requestFailFactor*q.RiskTarget {
		return
	}
	most := max(float64(requested), p.MinAmount, requestMargin*math.Exp(m.Experts.ColdStartLevel(p)))
	if a.Amount <= most {
		return
	}
	a.Amount, a.Promised = most, max(a.Promised, m.exceedanceProb(p, most, b))
	if most == float64(requested) {
		b.usesRequest = true
		a.Promised = min(a.Promised, experts.Probability(risk))
	}
}
