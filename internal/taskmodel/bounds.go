package taskmodel

import (
	"fmt"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// CapRule is the rule that set Question.Cap. Reasons name it.
type CapRule uint8

// The cap rules.
const (
	CapDerived       CapRule = iota // four times the larger of the request and the largest peak
	CapPolicy                       // the policy's cap
	CapCaller                       // the caller's max_memory
	CapRequest                      // the policy forbids more than the request
	CapUnschedulable                // a larger allocation was unschedulable within the last hour
	CapFloor                        // four times the policy's floor
	CapKill                         // four times the largest killed allocation, at most four times the cap that would apply without kills
	CapOnlyKills                    // four times the largest of the killed allocations, the minimum grant and the floor: neither a request nor a peak is known
	CapMinGrant                     // four times the minimum grant
	CapExtrapolated                 // four times an extrapolated peak
)

var capRules = [...]string{
	"four times the request or the largest peak", "set by the policy", "the caller's max_memory",
	"the static request: the policy grants no more", "a larger allocation was unschedulable within the last hour",
	"four times the policy's floor", "four times the OOM-killed allocation, at most four times the cap without kills",
	"four times the largest of the OOM-killed allocations, the minimum grant and the policy's floor, as no request and no peak is known",
	"four times the minimum grant", "four times the extrapolated peak",
}

// Remedy describes the rule and, except for CapRequest, how to allow more.
func (r CapRule) Remedy() string {
	switch r {
	case CapPolicy, CapCaller:
		return capRules[r] + ": raise it to allow more"
	case CapRequest:
		return capRules[r]
	case CapUnschedulable:
		return capRules[r] + ": add a larger node to allow more"
	}
	return capRules[r] + ": set max_memory or a policy cap to allow more"
}

// rule is the step of Model.bound that decided the amount of a first try.
type rule uint8

const (
	byModel      rule = iota // no rule after the models and the guard
	byBins                   // the task's bins
	byRequest                // the static request
	byUnknown                // the static request, because an input is too large to extrapolate
	byStarvation             // the limit with which a run is not slowed down; see starvation
	byFollowing              // the smallest limit that was enough so far, because the peaks follow the limits; see limitFollower
	byStreak                 // a streak of kills
	byKill                   // a known kill with the same features
	byPeak                   // a peak with the same features, measured after a kill
	byFloor                  // the policy's floor
	byMinGrant               // the minimum grant
	byCap                    // the cap
)

type boundedGrant struct {
	limit     sizing.Bytes
	model     sizing.Bytes // the models' answer times the factors of the guard and of understatement, before the other rules of Model.bound, rounded up to whole MiB
	rule      rule
	lowered   sizing.Bytes // the limit after the last step that lowered it
	loweredBy rule         // the rule of this step; byModel: no rule lowered the limit

	streak string // describes the streak of kills; set if the streak raised the limit

	starvation string // describes the starvation; set if it raised the limit

	followed   sizing.Bytes // smallest limit that was enough, if the peaks follow the limits; see limitFollower
	followRisk float64      // P(killed) with the limit followed
	killEvidence
}

// bound first applies the guard's factor and the factor for peaks that are measured too low (understatement), and then the
// rules in the order of their constants. It calls onStep, which may be nil, after the rounding and after each rule that
// changed the amount.
func (m *Model) bound(p *experts.Point, q Question, a experts.Answer, b *buffers, onStep func(boundedGrant)) boundedGrant {
	d := boundedGrant{killEvidence: m.evidence(b.cells)}
	p.KilledRuns = m.repeatedKills(d.killEvidence, b.cells)
	step := func(limit sizing.Bytes, r rule) {
		if limit < d.limit {
			d.lowered, d.loweredBy = limit, r
		}
		d.limit, d.rule = limit, r
		if onStep != nil {
			onStep(d)
		}
	}
	widened := a.Amount * max(1, q.GuardFactor) * m.Understatement.factor()
	d.model = sizing.Bytes(min(widened, sizing.MaxBytes)).RoundUp(sizing.MiB)
	if rounded := roundToGrid(q, widened); rounded > d.model {
		step(rounded, byBins)
	} else {
		step(rounded, byModel)
	}
	if m.requestSuffices(p, q, &d, a, b) {
		step(q.Requested.Memory, byRequest)
	}
	if request := roundToGrid(q, float64(q.Requested.Memory)); b.extrapolation.tooLarge && d.limit < request {
		step(request, byUnknown)
	}
	if raised := roundToGrid(q, m.Starvation.raiseAmount(widened, q, m)); m.Starvation.isKnown() && raised > d.limit {
		d.starvation = m.Starvation.describe()
		step(raised, byStarvation)
	}
	if s := m.Follower.sufficientFor(featureKey(&m.Schema, b.cells)); s != nil && !m.Starvation.isKnown() {
		d.followed, d.followRisk = s.Least, s.risk(q.RiskTarget)
		if least := roundToGrid(q, float64(s.Least)); d.limit > least {
			step(least, byFollowing)
		}
	}
	if raised := roundToGrid(q, m.Unresolved.raiseAmount(q, widened)); raised > d.limit {
		d.streak = m.Unresolved.describeStreak()
		step(raised, byStreak)
	}
	if raised := m.raiseAboveKills(p, q, d.limit, d.killEvidence, b); raised > d.limit {
		if d.needed > d.killed {
			step(raised, byPeak)
		} else {
			step(raised, byKill)
		}
	}
	if d.limit < q.Floor {
		step(q.Floor, byFloor)
	}
	if d.limit < q.MinGrant {
		step(q.MinGrant, byMinGrant)
	}
	if q.Cap > 0 && d.limit > q.Cap {
		step(q.Cap, byCap)
	}
	return d
}

// killWeight is the weight, after a kill, of the hypothesis that the features determine the peak.
// Under this hypothesis the peak is above the killed amount; otherwise the kill says nothing about
// the next run. experts.priorLawWeight, which the ladder uses for the same purpose, is also 0.3. With 0.5, a replay
// of the trace mgnify with delayed feedback promised 4.3 % kills and had 2.6 %.
const killWeight = 0.3

// killSpread is a standard deviation of the log peaks of runs with identical features. With this deviation the weight of a kill
// is half of killWeight: the more the peaks of such runs differ, the less one kill says about the next run.
const killSpread = 0.2

// boundedRisk returns P(peak > d.limit) of a first try. A kill with the same features, at the models' amount or above, raises
// the risk, except if a run with these features had a larger peak after a kill. If the limit was granted because the peaks
// follow the limits, the risk follows only from the earlier successes with about this limit. a is the models' answer.
func (m *Model) boundedRisk(p *experts.Point, q Question, d *boundedGrant, a experts.Answer, b *buffers) float64 {
	if d.rule == byFollowing && d.limit >= d.followed {
		return experts.Probability(d.followRisk)
	}
	risk := m.risk(p, q, d.limit, a, b)
	if d.killed >= d.model && d.needed <= d.killed {
		q.Above = d.killed
		spread := p.Scale[experts.SameScale] / killSpread
		risk += experts.AfterKills(killWeight/(1+spread*spread), p.KilledRuns) * (m.risk(p, q, d.limit, a, b) - risk)
	}
	if d.limit <= d.killed || d.limit < d.needed {
		risk = max(risk, succession(m.killsFrom(b.cells, d.limit))) // a run with the same features needed more
	}
	return experts.Probability(max(risk, openRisk(q, d.limit, d.model, a.Promised)))
}

// describe returns "" if no rule changed the models' amount; otherwise its text ends with "; ". If a rule raised the limit after
// another one had lowered it, the text names both, because the limit may be below the models' amount.
func (d *boundedGrant) describe(q Question) string {
	text := d.describeRule(q, d.rule)
	if d.loweredBy != byModel && d.loweredBy != d.rule {
		text += fmt.Sprintf("from %s, %s", d.lowered.Approx(), d.describeRule(q, d.loweredBy))
	}
	return text
}

func (d *boundedGrant) describeRule(q Question, r rule) string {
	text := ""
	switch r {
	case byStreak:
		text = d.streak
	case byModel:
		return ""
	case byBins:
		text = "rounded up to the next of the task's bins"
	case byRequest:
		text = "the static request, which is within the risk target"
	case byUnknown:
		text = "raised to the static request, because an input is too large to extrapolate"
	case byStarvation:
		text = d.starvation
	case byFollowing:
		text = "the smallest limit that has been enough so far, because the peaks follow the limits"
	case byKill:
		text = fmt.Sprintf("raised because %s was OOM-killed with the same features", d.killed.RoundUp(sizing.MiB))
	case byPeak:
		text = fmt.Sprintf("raised because a run with the same features needed %s after an OOM kill", d.needed.RoundUp(sizing.MiB))
	case byFloor:
		text = fmt.Sprintf("raised to the policy's floor of %s", q.Floor.Approx())
	case byMinGrant:
		text = fmt.Sprintf("raised to the minimum grant of %s", q.MinGrant)
	case byCap:
		text = fmt.Sprintf("at the cap of %s (%s)", q.Cap.Approx(), capRules[q.CapBy])
		if known := max(d.killed, d.needed-1); known >= d.limit {
			text += fmt.Sprintf(", though %s was too little for the same features", known.RoundUp(sizing.MiB))
		}
	}
	return text + "; "
}

// minGrant returns the minimum grant that applies to q. A policy's floor, even a lower one, replaces the minimum grant;
// then the result is zero. A request below the minimum grant replaces it, too, if the request has sufficed so far.
func (m *Model) minGrant(q Question) sizing.Bytes {
	requested := q.Requested.Memory
	switch {
	case q.Floor > 0:
		return 0
	case requested > 0 && requested < q.MinGrant && m.hasSufficed(requested):
		return requested
	}
	return q.MinGrant
}

func (m *Model) hasSufficed(amount sizing.Bytes) bool {
	return m.Experts.LearnedRows > 0 && !m.isTooLittle(amount)
}

// isTooLittle reports whether a run needed more than amount.
func (m *Model) isTooLittle(amount sizing.Bytes) bool {
	return m.Largest.Times(m.Understatement.factor()) > amount || m.Bound >= amount
}
