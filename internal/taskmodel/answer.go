package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
)

// answer returns the experts' answer, corrected by evidence that the residuals do not contain, such as a static request that
// no run has exceeded. It sets b.usesRequest.
func (m *Model) answer(p *experts.Point, q *Question, b *buffers) experts.Answer {
	a := m.answerAsPredicted(p, q, b)
	if most := b.extrapolation.mostAmount; most > 0 && a.Amount > most {
		a.Amount, a.Promised = most, max(a.Promised, m.exceedanceProb(p, most, b))
	}
	switch {
	case b.extrapolation.remote.isKnown():
		m.raiseToRemote(&a, p, q, b)
	case b.extrapolation.isCorrected || b.extrapolation.tooLarge || m.unknownRise(b) > 0:
		m.raiseToEdge(&a, p, q, b)
	}
	m.raiseForUnknownEffect(&a, p, q, b)
	a.Promised = max(a.Promised, min(0.5, m.Levels.unraisedRisk()))
	return a
}

// raiseToEdge raises the amount of an answer to a minimum, which is the edge amount times the rise of the trend. The edge
// amount is the amount for the same row with its inputs moved to the edge of their range. Without the minimum, amounts may be
// too low: the lines of the cold-start rule are powers of the inputs. They are too flat above the range if the peak has a fixed
// part, and far above the range they predict a constant. The predictions include the margins of the rise, such as ConvexSlope.
// The minimum does not, because these margins are uncertain.
func (m *Model) raiseToEdge(a *experts.Answer, p *experts.Point, q *Question, b *buffers) {
	at := bufferPool.Get().(*buffers)
	defer bufferPool.Put(at)
	at.isLift, at.cells = b.isLift, m.Models.nearestKnown(b.cells, b, at.cells[:0])
	var edge experts.Point
	m.predict(at.cells, q.RiskTarget, &edge, at)
	m.raiseToCandidate(&edge, at)
	at.shift(&edge, b.runShift)
	least := m.answerAsPredicted(&edge, q, at)
	b.extrapolation.edgeAmount = least.Amount
	if rise := m.unknownRise(b); rise > 0 {
		m.scaleEdge(&least, &edge, rise, q, at, b)
	} else {
		most := float64(maxPossible)
		if b.extrapolation.mostAmount > 0 {
			most = b.extrapolation.mostAmount
		}
		least.Amount = max(least.Amount, min(least.Amount*b.extrapolation.riseFactor, most))
	}
	b.extrapolation.isRaised = least.Amount > a.Amount
	if !b.extrapolation.isRaised {
		return
	}
	risk := max(least.Promised, m.exceedanceProb(p, least.Amount, b))
	a.Amount, a.Promised, a.Expert = least.Amount, min(a.Promised, risk), least.Expert
	b.usesRequest = at.usesRequest
}

// unknownRise returns by how much the log peak rises if the peak grows in proportion to an input outside its range, with a
// margin. It returns zero if the learned runs show the effect of the input. They do not if the models were fitted on too few
// rows to have a trend, or if the values of the input differed too little.
func (m *Model) unknownRise(b *buffers) float64 {
	if m.Fitted < minTrendRows && b.extrapolation.noRisk {
		return b.extrapolation.unknownRise
	}
	return b.extrapolation.unshownRise
}

// scaleEdge raises the edge amount in proportion to the input, but at most to the static request if all runs needed less: the
// person who chose the request may know large inputs. The rows cannot show that the peak grows more slowly: a constant part of
// the peak hides the growth at small inputs, and noise hides it in a narrow range. The rise and the margin of the edge amount
// are independent errors, so they add in quadrature. p is the prediction at the edge, and `at` holds its buffers.
func (m *Model) scaleEdge(a *experts.Answer, p *experts.Point, rise float64, q *Question, at, b *buffers) {
	level := m.Experts.ColdStartLevel(p)
	margin := math.Max(0, math.Log(a.Amount)-level)
	scaled := max(a.Amount, min(math.Exp(level+math.Hypot(margin, rise)), float64(maxPossible)))
	b.extrapolation.riseFactor = scaled / a.Amount
	if request := m.sufficientRequest(q); request > 0 && scaled >= request {
		at.usesRequest = at.usesRequest || a.Amount < request
		scaled = max(a.Amount, request)
	}
	a.Amount = scaled
}

func (m *Model) answerAsPredicted(p *experts.Point, q *Question, b *buffers) experts.Answer {
	a := m.Experts.Answer(p, q.RiskTarget, &b.scratch)
	b.usesRequest = false
	if m.Experts.IsColdStart() {
		m.limitToRequest(&a, p, q, b)
	}
	if b.extrapolation.capped > 0 {
		a.Amount = min(a.Amount, float64(maxPossible))
	}
	if p.Imputed && b.noFeatures {
		m.answerWithoutFeatures(&a, p, q.RiskTarget, b)
	}
	m.raiseForUnseen(&a, p, b)
	if b.extrapolation.jointMargin > 0 {
		// jointMargin is the margin for several inputs above their range. The promise is at least a quarter of the risk of
		// an amount with half of this margin. The factors ¼ and ½ were measured with a peak that follows the product of two
		// inputs; see TestRunsWithTwoExtrapolatedInputsAreNotKilledMuchMoreThanPromised.
		a.Promised = experts.Probability(max(a.Promised, m.exceedanceProb(p, a.Amount*math.Exp(-b.extrapolation.jointMargin/2), b)/4))
	}
	if p.Imputed && !b.noFeatures {
		// The values of similar rows, the donor rows, replace the missing ones. The run may need more than every prediction
		// with these values. No residual contains this risk.
		a.Promised = experts.Probability(min(0.5, a.Promised+b.unseenProb))
	}
	return a
}

func (m *Model) exceedanceProb(p *experts.Point, amount float64, b *buffers) float64 {
	return experts.Probability(m.mixtureExceedance(p, amount, b))
}

// Weight of a static request as evidence during a cold start.
const (
	requestFailFactor = 2.0  // a request is no evidence if the share of the DAG's runs above their requests exceeds this multiple of the risk target
	requestMargin     = 1.25 // the grant may be up to this multiple of the predicted peak, even if that is above the request
)

// limitToRequest limits the answer for a task in its cold start to the largest of the static request, requestMargin times the
// prediction, and the minimum for identical runs. It does nothing if the request is unknown or does not suffice, or if the
// DAG's tasks often exceed their requests. Reason: the person who chose the request knows more about rare large peaks than a
// few residuals show.
func (m *Model) limitToRequest(a *experts.Answer, p *experts.Point, q *Question, b *buffers) {
	asPeak, risk := m.sufficientRequest(q), m.Experts.RequestRisk
	if asPeak == 0 || risk > requestFailFactor*q.RiskTarget {
		return
	}
	most := max(asPeak, p.MinAmount, requestMargin*math.Exp(m.Experts.ColdStartLevel(p)))
	if a.Amount <= most {
		return
	}
	a.Amount, a.Promised = most, max(a.Promised, m.exceedanceProb(p, most, b))
	if most == asPeak {
		b.usesRequest = true
		a.Promised = min(a.Promised, experts.Probability(risk))
	}
}

// sufficientRequest returns the static request, divided by the factor of understatement so that measured peaks can be compared
// with it. It returns zero if the request is unknown or has been too little (see isTooLittle).
func (m *Model) sufficientRequest(q *Question) float64 {
	requested := q.Requested.Memory
	if requested == 0 {
		requested = m.Requested.Memory
	}
	if m.isTooLittle(requested) {
		return 0
	}
	return float64(requested) / m.Understatement.factor()
}
