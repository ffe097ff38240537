package taskmodel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// sizeWithoutPeaks answers for a task without a measured peak. A first try gets the first of these amounts that is known and
// above all killed allocations: the request, the largest allocation of a success, twice the largest killed allocation; zero
// without any. A lift gets twice the largest amount that is known to be too little, or the request if that is more. The
// floor and the cap of q apply to each amount, the minimum grant only to lifts and to twice the largest killed allocation.
func (m *Model) sizeWithoutPeaks(q Question) Answer {
	if q.Above == 0 && m.Bound > 0 && m.Bound >= max(q.Requested.Memory, m.Unmeasured.Largest) {
		return m.sizeAboveKills(q)
	}
	s := Answer{Limit: q.Requested.Memory, Source: sizing.FromRequested, CPU: m.cpuRequest(&q, withoutCoreInputs)}
	s.Reason = "no peak of this task is known yet: the static request, unchanged"
	if n := len(m.Quarantine); n > 0 && !slices.ContainsFunc(m.Quarantine, func(r quarantinedReport) bool { return r.Confirmable() }) {
		s.Reason = "all reports of this task seem to be in another unit, and further reports cannot confirm them: the static request, unchanged"
	} else if n > 0 {
		s.Reason = "all reports of this task are implausible, and none confirms another: the static request, unchanged"
	}
	switch {
	case q.Above > 0:
		s.TooLittle = m.evidence(m.cells(q.Features, nil)).tooLittle()
		q.Above = max(q.Above, s.TooLittle)
		s.Limit, s.Source = max(s.Limit, sizing.DefaultLift(q.Above)), sizing.FromLift
		s.Reason = "no peak of this task is known yet: twice the killed allocation"
		if s.Limit == q.Requested.Memory {
			s.Reason = "no peak of this task is known yet: the static request, unchanged"
		}
	case m.Unmeasured.Runs > 0 && s.Limit <= m.Bound:
		risk := m.Unmeasured.risk()
		s.Limit, s.Promised, s.Source = m.Unmeasured.Largest, &risk, sizing.FromProfile
		s.Reason = fmt.Sprintf("%s: %s", s.Limit.Approx(), m.Unmeasured.describe())
	case m.Unmeasured.Runs > 0:
		s.Reason = fmt.Sprintf("the static request, unchanged: %s", m.Unmeasured.describe())
	case m.Bound > 0:
		s.Reason = fmt.Sprintf("the static request, unchanged: it is above %s, the largest allocation that was OOM-killed, and no run has succeeded yet", m.Bound.Approx())
	}
	if s.Limit == 0 {
		s.Reason = strings.Replace(s.Reason, "the static request, unchanged", noRequest, 1)
	} else {
		if q.Above == 0 {
			q.MinGrant = 0 // the request, or an allocation that succeeded, is enough as far as is known
		}
		before := s.Limit
		s.Limit = clamp(q, s.Limit)
		s.Ladder = []sizing.Bytes{s.Limit}
		if s.Limit != before {
			s.Reason = describeBound(q, before, s.Limit, max(q.Above, m.Bound)) + correctReason(s.Reason, before)
		}
		if q.Above > 0 {
			s.Promised = riskAboveKill(s.Limit, q.Above)
		}
		s.Promised = raisePromise(s.Promised, s.Limit, max(q.Above, m.Bound))
	}
	return s
}

const noRequest = "no static request is known, so no amount is granted"

// sizeAboveKills answers for a first try if neither the request nor the allocation of a success is above the largest killed
// allocation.
func (m *Model) sizeAboveKills(q Question) Answer {
	twice := sizing.DefaultLift(m.Bound)
	limit := clamp(q, twice)
	why := "no run has succeeded yet"
	if m.Unmeasured.Runs > 0 {
		why = m.Unmeasured.describe()
	}
	reason := fmt.Sprintf("%s: twice the killed allocation: %s", limit.Approx(), why)
	if limit != twice {
		reason = fmt.Sprintf("%stwice the killed allocation is %s; %s", describeBound(q, twice, limit, max(q.Above, m.Bound)), twice.Approx(), why)
	}
	return Answer{
		Limit: limit, Ladder: []sizing.Bytes{limit}, Promised: riskAboveKill(limit, m.Bound), Source: sizing.FromProfile,
		CPU: m.cpuRequest(&q, withoutCoreInputs), Reason: reason,
	}
}

// describeBound describes the bound that changed amount to limit. It names the largest killed allocation if the cap is not
// above it.
func describeBound(q Question, amount, limit, killed sizing.Bytes) string {
	d := boundedGrant{limit: limit, model: amount, rule: byFloor, killEvidence: killEvidence{killed: killed}}
	switch {
	case limit < amount || limit == q.Cap:
		d.rule = byCap
	case limit > q.Floor:
		d.rule = byMinGrant
	}
	return limit.Approx() + ": " + d.describe(q)
}

// correctReason rewrites the reason of an amount that a bound replaced: "the static request, unchanged" becomes "the static
// request is 4Gi".
func correctReason(reason string, amount sizing.Bytes) string {
	reason = strings.Replace(reason, "the static request, unchanged", "the static request is "+amount.Approx(), 1)
	reason = strings.Replace(reason, "twice the killed allocation", "twice the killed allocation is "+amount.Approx(), 1)
	return strings.TrimPrefix(reason, amount.Approx()+": ")
}

// killedRisk is the smallest risk to promise for an amount at or below a killed allocation. It is below 1, because a later
// run may need less than the killed one.
const killedRisk = 0.9

// riskAboveKill returns P(peak > limit) after a kill, for a task without a measured peak. A limit above the killed
// allocation lowers killedRisk by the power law.
func riskAboveKill(limit, killed sizing.Bytes) *float64 {
	risk := killedRisk * experts.PowerLaw(min(1, float64(killed)/float64(limit)))
	return &risk
}

// raisePromise raises a promise to at least killedRisk if limit is not above the killed allocation. A nil promise stays nil.
func raisePromise(promised *float64, limit, killed sizing.Bytes) *float64 {
	if promised == nil || limit > killed {
		return promised
	}
	risk := max(*promised, killedRisk)
	return &risk
}

// unmeasuredSuccesses summarises successes without a measured peak. Their peaks are left-censored at the allocation.
type unmeasuredSuccesses struct {
	Runs    int
	Largest sizing.Bytes // largest allocation of these runs
}

func (u *unmeasuredSuccesses) describe() string {
	runs := "runs"
	if u.Runs == 1 {
		runs = "run"
	}
	return fmt.Sprintf("%d %s succeeded within %s, no peak was measured: report memory_max_bytes", u.Runs, runs, u.Largest.Approx())
}

// risk returns P(killed) at the largest allocation, by Laplace's rule of succession.
func (u *unmeasuredSuccesses) risk() float64 { return 1 / float64(u.Runs+2) }
