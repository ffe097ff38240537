package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// maxPlannedLifts is the largest number of lifts for which the whole ladder comes from one call of Experts.Ladder: the default
// of a policy (sizing.DefaultMaxLifts). One call would also be enough for four lifts, because Experts.Ladder returns up to four
// rungs. For more lifts, and for bins, longLadder makes a call for each rung: a rung that is rounded up to a bin may become
// much larger, and then other rungs after it are cheaper.
const maxPlannedLifts = 3

// longLadder appends, for each lift, the first rung of the ladder that Experts.Ladder returns for the remaining lifts. Each
// of the returned ladders ends at upperBound. All appended rungs are above start.
func (m *Model) longLadder(p *experts.Point, q Question, start, upperBound sizing.Bytes, b *buffers, ladder []sizing.Bytes) []sizing.Bytes {
	last := start
	for lifts := q.Lifts; lifts > 0; lifts-- {
		m.planRungs(p, &q, last, upperBound, lifts, b)
		if len(b.rungs) == 0 {
			break
		}
		if next := clamp(q, roundToGrid(q, b.rungs[0])); next > last {
			ladder, last = append(ladder, next), next
		}
	}
	return ladder
}

// ladder appends the allocations after further OOM kills to the slice ladder: at most q.Lifts rungs, all above start, in
// ascending order. After a fall of the peaks, the first of these rungs may be the amount for the level before it
// (amountBeforeFall). The last one is the cap or, without a cap, four times the larger of start and the largest peak (rounded up).
func (m *Model) ladder(p *experts.Point, q Question, start sizing.Bytes, b *buffers, ladder []sizing.Bytes) []sizing.Bytes {
	upperBound := q.Cap
	if upperBound == 0 {
		upperBound = max(start, m.Largest).Times(4)
	}
	if before := m.amountBeforeFall(p, &q, b); before > float64(start) && q.Lifts > 1 {
		if next := clamp(q, roundToGrid(q, before)); next > start {
			ladder, start = append(ladder, next), next
			q.Lifts--
		}
	}
	if b.extrapolation.noRisk {
		return geometricLadder(q, start, upperBound, ladder)
	}
	m.planRungs(p, &q, start, upperBound, q.Lifts, b)
	if (q.Lifts > maxPlannedLifts || len(q.Edges) > 0) && len(b.rungs) > 1 {
		return m.longLadder(p, q, start, upperBound, b, ladder)
	}
	last := start
	for _, rung := range b.rungs {
		if next := clamp(q, roundToGrid(q, rung)); next > last {
			ladder = append(ladder, next)
			last = next
		}
	}
	return ladder
}

// planRungs sets b.rungs to the ladder of the experts above start, in bytes. It converts allocations to peaks as measured, and
// the rungs to allocations; see understatement.
func (m *Model) planRungs(p *experts.Point, q *Question, start, upperBound sizing.Bytes, lifts int, b *buffers) {
	factor := m.Understatement.factor()
	var request experts.Request
	if m.Experts.RequestRisk <= requestFailFactor*q.RiskTarget {
		request = experts.Request{Amount: m.sufficientRequest(q), LargestPeak: float64(m.Largest)}
	}
	b.rungs = m.Experts.Ladder(p, float64(start)/factor, float64(upperBound)/factor, request, lifts, &b.scratch, b.rungs[:0])
	for i := range b.rungs {
		b.rungs[i] *= factor
	}
}

// geometricLadder appends, for each lift, an amount above start. The ratio of each amount to the amount before is the same,
// except for rounding, and the last amount is upperBound. This is the ladder of a run for which no risk can be stated: no
// residual says how far its peak is above a killed amount, and equal ratios bound the waste for every peak (as in doubling
// search).
func geometricLadder(q Question, start, upperBound sizing.Bytes, ladder []sizing.Bytes) []sizing.Bytes {
	last := start
	for lifts := q.Lifts; lifts > 0 && last < upperBound; lifts-- {
		ratio := math.Pow(float64(upperBound)/float64(last), 1/float64(lifts))
		if next := clamp(q, roundToGrid(q, float64(last)*ratio)); next > last {
			ladder, last = append(ladder, next), next
		}
	}
	return ladder
}

// clamp applies the bounds of q. The cap limits even the floor and the minimum grant.
func clamp(q Question, limit sizing.Bytes) sizing.Bytes {
	limit = max(limit, q.Floor, q.MinGrant)
	if q.Cap > 0 {
		limit = min(limit, q.Cap)
	}
	return limit
}

// roundToGrid rounds an amount up to the bins of the question or, without bins, to whole MiB. The result is positive,
// because a limit of zero means that there is no limit.
func roundToGrid(q Question, amount float64) sizing.Bytes {
	return q.Edges.RoundUp(sizing.Bytes(max(1, min(amount, sizing.MaxBytes))).RoundUp(sizing.MiB))
}

// sizeLift returns the grant of a retry and its ladder, which starts with the grant. The ladder is empty if no lift is left,
// or if no amount above q.Above is within the bounds of q. If a known kill or leastRetry raises the grant, the ladder
// contains at least the grant.
func (m *Model) sizeLift(p *experts.Point, q Question, b *buffers) (sizing.Bytes, []sizing.Bytes) {
	known := m.evidence(b.cells)
	p.KilledRuns = m.repeatedKills(known, b.cells)
	ladder := m.ladder(p, q, q.Above, b, nil)
	limit := clamp(q, sizing.DefaultLift(q.Above))
	if len(ladder) > 0 {
		limit = ladder[0]
	}
	least := max(float64(known.needed), m.leastRetry(p, q, b))
	if raised := clamp(q, roundToGrid(q, least)); least > 0 && limit < raised {
		limit = raised
		q.Lifts--
		ladder = m.ladder(p, q, limit, b, []sizing.Bytes{limit})
	}
	return limit, ladder
}

// leastRetry returns the amount of a first try if the models predict the kill at q.Above with a probability above one half, for
// example because the static request was too small, or because the cap was lower at the killed try; otherwise zero. Such a kill
// is no evidence against the margins. So a retry needs no rung below the amount of the models.
func (m *Model) leastRetry(p *experts.Point, q Question, b *buffers) float64 {
	if !m.isExpected(p, q.Above, b) {
		return 0
	}
	return m.answer(p, &q, b).Amount * m.Understatement.factor()
}
