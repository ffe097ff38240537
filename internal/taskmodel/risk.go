package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// riskAt returns P(peak > granted), given that the experts promise a.Promised for a.Amount. An amount less than 2 MiB above
// a.Amount has the same risk, because it may be a.Amount after rounding. For any other amount the risk is a sum. Its first
// term is exceedanceProb(granted), from the residuals. The second is the part of a.Promised that exceeds
// exceedanceProb(a.Amount); the residuals do not contain its causes, such as a higher observed kill rate. Above a.Amount,
// riskAt multiplies the second term by the square of a.Amount / granted. The risk never increases with granted.
func (m *Model) riskAt(p *experts.Point, a experts.Answer, granted float64, b *buffers) float64 {
	below := !experts.IsSufficient(granted, a.Amount)
	if !below && granted < a.Amount+2*float64(sizing.MiB) {
		return a.Promised
	}
	rest := max(0, a.Promised-m.exceedanceProb(p, a.Amount, b))
	if below {
		return min(1, max(a.Promised, m.exceedanceProb(p, granted, b)+rest))
	}
	ratio := a.Amount / granted
	return min(a.Promised, m.exceedanceProb(p, granted, b)+rest*ratio*ratio)
}

func (m *Model) requestRisk(p *experts.Point, q Question, d *boundedGrant, a experts.Answer, b *buffers) float64 {
	atRequest := *d
	atRequest.limit = q.Requested.Memory
	return m.boundedRisk(p, q, &atRequest, a, b)
}

// requestSuffices reports whether the request is smaller than the grant d and its risk is still within the target, so that a
// larger grant has no advantage.
func (m *Model) requestSuffices(p *experts.Point, q Question, d *boundedGrant, a experts.Answer, b *buffers) bool {
	request := q.Requested.Memory
	if request == 0 || request >= d.limit || request <= d.killed || request < d.needed || float64(request) < p.MinAmount*m.Understatement.factor() {
		return false
	}
	return q.GuardFactor <= 1 && !b.extrapolation.noRisk && a.Promised <= q.RiskTarget && roundToGrid(q, float64(request)) == request &&
		m.requestRisk(p, q, d, a, b) <= q.RiskTarget
}

// openRisk returns the smallest risk to promise because of the guard; 0 if the guard does not raise amounts. Up to `widened`,
// the raised amount, this is the kill rate of the open runs, because at present more runs are killed than the task's models
// promise. Above this amount the risk decreases with the square of widened / limit.
func openRisk(q Question, limit, widened sizing.Bytes, promised float64) float64 {
	if q.GuardFactor <= 1 {
		return 0
	}
	rate := q.Open.Rate(promised)
	if limit > widened {
		ratio := float64(widened) / float64(limit)
		rate *= ratio * ratio
	}
	return rate
}

// BeforeGuard returns a promise without the effect of the kills of open runs, because the guard
// compares these kills with the promise. `promised` is the promise of an answer, and `g` is the sizing.Guard that is stored
// with this answer.
func BeforeGuard(promised float64, g sizing.Guard) float64 {
	if len(g.Params) > guardFactor && g.Params[guardFactor] > 1 {
		return min(promised, g.Params[guardPromised])
	}
	return promised
}

// Indices in sizing.Guard.Params; see Model.guardState.
const (
	guardAmount   = 0
	guardPromised = 1
	guardFactor   = 3 // the factor of the guard; the factor of the pool has index 2
	guardExpert   = 4
	guardLevels   = 5 // first level of the models; the scales and the duration follow the levels

	guardRunScore = guardLevels + int(experts.ModelCount) + int(experts.ScaleCount) + 1 // absent without a run score
	guardRunShift = guardRunScore + 1                                                   // log factor on the cold-start prediction
)

// RunScore returns the run score in g, the recorded state behind an answer (see Model.guardState); zero if the question had
// none.
func RunScore(g sizing.Guard) float64 {
	if len(g.Params) <= guardRunScore {
		return 0
	}
	return g.Params[guardRunScore]
}

func recordedRunShift(g sizing.Guard) float64 {
	if len(g.Params) <= guardRunShift {
		return 0
	}
	return g.Params[guardRunShift]
}

func (m *Model) killsFrom(cells []sizing.Value, limit sizing.Bytes) (kills float64) {
	key := featureKey(&m.Schema, cells)
	for i := range m.KnownKills {
		if k := &m.KnownKills[i]; k.Key == key && k.Killed >= limit && k.measured() == 0 {
			kills++
		}
	}
	return kills
}

// succession returns the probability that the next run is killed after a number of kills without a
// success, by Laplace's rule of succession: 0.5 to 0.9999.
func succession(kills float64) float64 { return min(1-1e-4, math.Max(0.5, (kills+1)/(kills+2))) }

// Risk returns P(peak > limit) for the try of q with a grant of limit; nil if no risk can be stated.
func (m *Model) Risk(q Question, limit sizing.Bytes) *float64 {
	if m.Models == nil {
		if q.Above == 0 {
			return nil
		}
		return riskAboveKill(limit, q.Above)
	}
	q.MinGrant = m.minGrant(q)
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	m.predictQuestion(&q, &p, b)
	var risk float64
	if q.Above > 0 {
		known := m.evidence(b.cells)
		q.Above, p.KilledRuns = max(q.Above, known.killed), m.repeatedKills(known, b.cells)
		risk = m.risk(&p, q, limit, experts.Answer{}, b)
	} else {
		if b.extrapolation.noRisk {
			return nil
		}
		answer := m.answer(&p, &q, b).ForRow()
		bounds := m.bound(&p, q, answer, b, nil)
		bounds.limit = limit
		risk = m.boundedRisk(&p, q, &bounds, answer, b)
	}
	return &risk
}

// risk returns P(peak > limit) of a try, clamped by experts.Probability. For a retry it is the probability given the kill at
// q.Above. For a first try the experts promise their own kill rate for their amount, and riskAt extends this promise to other
// amounts. The kills of runs that have not succeeded yet count, too, because no residual contains them. So do the kills that
// contradict the measured peak of their run. If measured peaks are too low by a factor (see
// understatement), risk divides allocations by this factor before it compares them with measured peaks.
func (m *Model) risk(p *experts.Point, q Question, limit sizing.Bytes, answer experts.Answer, b *buffers) float64 {
	factor := m.Understatement.factor()
	if q.Above > 0 {
		return experts.Probability(m.Experts.ConditionalExceedance(p, float64(q.Above)/factor, float64(limit)/factor, &b.scratch))
	}
	risk := m.riskAt(p, answer, float64(limit)/factor, b)
	if contradicted := m.Understatement.risk(m.Resumed.From); contradicted > 0 {
		ratio := min(1, answer.Amount*factor/float64(limit))
		risk += contradicted * ratio * ratio
	}
	return experts.Probability(max(risk, m.Unresolved.exceedanceProb(float64(limit)), m.Unresolved.streakRisk(q, float64(limit))))
}
