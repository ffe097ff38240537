package fitting

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// movedRisk is P(peak > granted), where the experts promise a.Promised for a.Amount. The
// residuals give the difference between the two amounts. What the promise holds beyond the
// residuals, such as a kill rate that was higher than they say, stays below the amount and
// decreases by the power law of the ladder above it. The risk is continuous and never
// increases with the amount.
func (m *Model) riskAt(p *experts.Point, a experts.Answer, granted float64, b *buffers) float64 {
	below := !experts.Holds(granted, a.Amount)
	if !below && granted < a.Amount+2*float64(sizing.MiB) {
		return a.Promised
	}
	rest := max(0, a.Promised-m.exceedanceProb(p, a.Amount, b))
	if below {
		return min(1, max(a.Promised, m.exceedanceProb(p, granted, b)+rest))
	}
	share := a.Amount / granted
	return min(a.Promised, m.exceedanceProb(p, granted, b)+rest*share*share)
}

// requestRisk is P(peak > request), computed as the promise of the grant is.
func (m *Model) requestRisk(p *experts.Point, q Question, d *boundedGrant, a experts.Answer, b *buffers) float64 {
	atRequest := *d
	atRequest.limit = q.Requested.Memory
	return m.boundedRisk(p, q, &atRequest, a, b)
}

// requestSuffices reports whether the request is less than d grants and is within the risk
// target all the same: then nothing is gained above it.
func (m *Model) requestSuffices(p *experts.Point, q Question, d *boundedGrant, a experts.Answer, b *buffers) bool {
	request := q.Requested.Memory
	if request == 0 || request >= d.limit || request <= d.killed || request < d.needed || float64(request) < p.Least {
		return false
	}
	return q.Widen <= 1 && !b.extrapolation.noRisk && a.Promised <= q.RiskTarget && roundToGrid(q, float64(request)) == request &&
		m.requestRisk(p, q, d, a, b) <= q.RiskTarget
}

// openRisk is P(peak > limit) while the guard widens: promises of this task are being
// broken, at what was widened so far, so that the kill rate of the open runs counts. Beyond
// the widened amount it decreases by the power law.
func openRisk(q Question, limit, widened sizing.Bytes, promised float64) float64 {
	if q.Widen <= 1 {
		return 0
	}
	rate := q.Open.Rate(promised)
	if limit > widened {
		share := float64(widened) / float64(limit)
		rate *= share * share
	}
	return rate
}

// BeforeGuard is a promise without the kills of open runs: the guard compares those with
// what was promised before any of them was known. It follows from a stored receipt alone.
func BeforeGuard(promised float64, g sizing.Guard) float64 {
	if len(g.Params) > guardWiden && g.Params[guardWiden] > 1 {
		return min(promised, g.Params[guardPromised])
	}
	return promised
}

// Places in sizing.Guard.Params; see Model.guard.
const (
	guardPromised = 1
	guardWiden    = 3
)

// refutedBy counts the kills with the same features at a limit or above, of runs that no
// measured run explains yet.
func (m *Model) killsFrom(cells []sizing.Value, limit sizing.Bytes) (kills float64) {
	key := featureKey(&m.Schema, cells)
	for i := range m.KnownKills {
		if k := &m.KnownKills[i]; k.Key == key && k.Killed >= limit && k.measured() == 0 {
			kills++
		}
	}
	return kills
}

// succession is the probability that the next run is killed after as many kills and no
// success, by the rule of succession (Laplace).
func succession(kills float64) float64 { return min(1-1e-4, math.Max(0.5, (kills+1)/(kills+2))) }
