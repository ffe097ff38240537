package fitting

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Question asks a Model to size one try. A zero field means unknown.
type Question struct {
	Features   sizing.Features
	Requested  sizing.Resources
	Floor, Cap sizing.Bytes // bounds of the answer; Cap zero: no cap
	MinGrant   sizing.Bytes // least amount to grant, unless Floor is set or a lower request has sufficed
	RiskTarget float64      // share of first tries that may be killed
	Above      sizing.Bytes // after a kill: the peak is above this amount
	Lifts      int          // lifts that may still follow; the last jumps to the cap
	Widen      float64      // factor from the guard over open tries; none if below 1
	Open       OpenKills    // the open runs that led to Widen
	Edges      sizing.Bins  // amounts are rounded up to these bins; none: to whole MiB
	CapBy      CapRule      // the rule that set Cap
}

// Answer is the size of one try. Source is sizing.FromRequested if the model cannot predict; then
// Limit is the request, or zero without one.
type Answer struct {
	Limit    sizing.Bytes
	Ladder   []sizing.Bytes // ascending; starts with Limit; empty where no lift is left
	Promised *float64       // P(peak > Limit); nil if the source is FromRequested
	Bins     *sizing.BinChoice
	CPU      sizing.Cores
	Duration *sizing.Duration
	Source   sizing.Source
	Reason   string
	Guard    sizing.Guard

	TooLittle sizing.Bytes // largest amount that runs with the same features are known to exceed; zero: unknown
}

// Size answers a question.
func (m *Model) Size(q Question) Answer {
	q.MinGrant = m.minGrant(q)
	if m.Models == nil {
		return m.sizeWithoutPeaks(q)
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	b.cells = m.cells(q.Features, b.cells)
	m.predict(b.cells, q.RiskTarget, &p, b)

	var s Answer
	var answer experts.Answer
	var bounds boundedGrant
	var risk float64
	if q.Above > 0 {
		known := m.evidence(b.cells)
		q.Above, s.TooLittle = max(q.Above, known.killed), known.tooLittle()
		s.Limit, s.Ladder = m.sizeLift(&p, q, b)
		risk = m.risk(&p, q, s.Limit, answer, b)
	} else {
		answer = m.answer(&p, &q, b)
		bounds = m.bound(&p, q, answer, b)
		s.Limit = bounds.limit
		s.Ladder = m.ladder(&p, q, s.Limit, b, []sizing.Bytes{s.Limit})
		risk = m.boundedRisk(&p, q, &bounds, answer, b)
	}
	if s.Promised = &risk; b.extrapolation.noRisk && q.Above == 0 {
		s.Promised = nil
	}
	s.Bins = m.bins(&p, q, s.Limit, b)
	s.CPU, s.Duration = m.cpuOfRow(&q, b), m.duration(&p)
	s.Source = sizing.FromModel
	if m.Experts.Young() {
		s.Source = sizing.FromProfile
	}
	s.Guard = m.guardState(&p, q, answer)
	s.Reason = m.reason(&p, q, &s, answer, &bounds, b)
	return s
}

// sizeWithoutPeaks answers for a task without a measured peak: the request within the bounds or,
// without a request, the largest allocation that succeeded. It never grants an amount at or below
// one that was killed.
func (m *Model) sizeWithoutPeaks(q Question) Answer {
	if q.Above == 0 && m.Bound > 0 && m.Bound >= max(q.Requested.Memory, m.Unmeasured.Largest) {
		return m.sizeAboveKills(q)
	}
	s := Answer{Limit: q.Requested.Memory, Source: sizing.FromRequested, CPU: m.cpuRequest(&q, &noCoreLevels)}
	s.Reason = "this task has no history yet: the static request, unchanged"
	if n := len(m.Quarantine); n > 0 && !slices.ContainsFunc(m.Quarantine, func(h quarantinedReport) bool { return h.Confirmable() }) {
		s.Reason = "all reports of this task seem to be in another unit, which no further report can confirm: the static request, unchanged"
	} else if n > 0 {
		s.Reason = "all reports of this task are implausible, and none confirms another: the static request, unchanged"
	}
	switch {
	case q.Above > 0:
		risk := 0.5 // there is no data
		s.TooLittle = m.evidence(m.cells(q.Features, nil)).tooLittle()
		q.Above = max(q.Above, s.TooLittle)
		s.Limit, s.Promised, s.Source = max(s.Limit, q.Above.Times(2).RoundUp(sizing.MiB)), &risk, sizing.FromLift
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
	if s.Limit > 0 {
		if q.Above == 0 {
			q.MinGrant = 0 // there is no evidence against the request
		}
		before := s.Limit
		s.Limit = clamp(q, s.Limit)
		s.Ladder = []sizing.Bytes{s.Limit}
		if s.Limit != before {
			s.Reason = m.describeBound(q, before, s.Limit) + correctReason(s.Reason, before)
		}
		s.Promised = raisePromise(s.Promised, s.Limit, max(q.Above, m.Bound))
	}
	return s
}

// describeBound names the bound that replaced an amount from sizeWithoutPeaks or sizeAboveKills.
func (m *Model) describeBound(q Question, amount, limit sizing.Bytes) string {
	d := boundedGrant{limit: limit, model: amount, rule: byFloor, killEvidence: killEvidence{killed: max(q.Above, m.Bound)}}
	switch {
	case limit < amount || limit == q.Cap:
		d.rule = byCap
	case limit > q.Floor:
		d.rule = byMinGrant
	}
	return limit.Approx() + ": " + d.describe(q)
}

// correctReason adapts a reason to an amount that a bound has replaced.
func correctReason(reason string, amount sizing.Bytes) string {
	reason = strings.Replace(reason, "the static request, unchanged", "the static request is "+amount.Approx(), 1)
	reason = strings.Replace(reason, "twice the killed allocation", "twice the killed allocation is "+amount.Approx(), 1)
	return strings.TrimPrefix(reason, amount.Approx()+": ")
}

// killedRisk is the smallest promised risk at or below an allocation that was killed.
const killedRisk = 0.9

// raisePromise raises a promised risk to killedRisk if the limit is not above a kill.
func raisePromise(promised *float64, limit, killed sizing.Bytes) *float64 {
	if promised == nil || limit > killed {
		return promised
	}
	risk := max(*promised, killedRisk)
	return &risk
}

// sizeAboveKills answers for a task whose successes all had less than its largest kill: twice
// that kill. There is no data for the risk, so it promises one half.
func (m *Model) sizeAboveKills(q Question) Answer {
	twice := m.Bound.Times(2).RoundUp(sizing.MiB)
	limit := clamp(q, twice)
	promised := 0.5
	why := "no run has succeeded yet"
	if m.Unmeasured.Runs > 0 {
		why = m.Unmeasured.describe()
	}
	reason := fmt.Sprintf("%s: twice the killed allocation: %s", limit.Approx(), why)
	if limit != twice {
		reason = fmt.Sprintf("%stwice the killed allocation is %s; %s", m.describeBound(q, twice, limit), twice.Approx(), why)
	}
	return Answer{
		Limit: limit, Ladder: []sizing.Bytes{limit}, Promised: raisePromise(&promised, limit, m.Bound), Source: sizing.FromProfile,
		CPU: m.cpuRequest(&q, &noCoreLevels), Reason: reason,
	}
}

// clamp keeps a limit between floor (or minimum grant) and cap.
func clamp(q Question, limit sizing.Bytes) sizing.Bytes {
	limit = max(limit, q.Floor, q.MinGrant)
	if q.Cap > 0 {
		limit = min(limit, q.Cap)
	}
	return limit
}

// roundToGrid rounds an amount up to the grid, and to at least one byte because zero means "no
// answer".
func roundToGrid(q Question, amount float64) sizing.Bytes {
	return q.Edges.RoundUp(sizing.Bytes(max(1, min(amount, sizing.MaxBytes))).RoundUp(sizing.MiB))
}

// ladder appends the allocation after each further OOM kill, starting from a limit: one rung per
// lift left, and the last rung is the cap.
func (m *Model) ladder(p *experts.Point, q Question, from sizing.Bytes, b *buffers, ladder []sizing.Bytes) []sizing.Bytes {
	ceiling := q.Cap
	if ceiling == 0 {
		ceiling = max(from, m.Largest).Times(4)
	}
	b.rungs = m.Experts.Ladder(p, float64(from), float64(ceiling), q.Lifts, &b.scratch, b.rungs[:0])
	if q.Lifts > maxPlannedLifts && len(b.rungs) > 1 {
		return m.longLadder(p, q, from, ceiling, b, ladder)
	}
	last := from
	for _, rung := range b.rungs {
		if next := clamp(q, roundToGrid(q, rung)); next > last {
			ladder = append(ladder, next)
			last = next
		}
	}
	return ladder
}

// risk returns P(peak > limit) of this try, limited to probabilities that a history can support.
// The experts promise their own kill rate for their amount; riskAt extends it to other amounts.
// Kills without a later success count besides, because no residual contains them.
func (m *Model) risk(p *experts.Point, q Question, limit sizing.Bytes, answer experts.Answer, b *buffers) float64 {
	if q.Above > 0 {
		return experts.Probability(m.Experts.Still(p, float64(q.Above), float64(limit), &b.scratch))
	}
	risk := m.riskAt(p, answer, float64(limit), b)
	return experts.Probability(max(risk, m.Unresolved.exceedanceProb(float64(limit))))
}

// Risk returns P(peak > limit) of a try with question q that is granted limit.
func (m *Model) Risk(q Question, limit sizing.Bytes) *float64 {
	if m.Models == nil {
		if q.Above == 0 {
			return nil
		}
		unknown := 0.5
		return raisePromise(&unknown, limit, q.Above)
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	b.cells = m.cells(q.Features, b.cells)
	m.predict(b.cells, q.RiskTarget, &p, b)
	var risk float64
	if q.Above > 0 {
		q.Above = max(q.Above, m.evidence(b.cells).killed)
		risk = m.risk(&p, q, limit, experts.Answer{}, b)
	} else {
		if b.extrapolation.noRisk {
			return nil
		}
		answer := m.answer(&p, &q, b)
		bounds := m.bound(&p, q, answer, b)
		bounds.limit = limit
		risk = m.boundedRisk(&p, q, &bounds, answer, b)
	}
	return &risk
}

// bins returns the probability that the peak falls in each of the task's bins.
func (m *Model) bins(p *experts.Point, q Question, limit sizing.Bytes, b *buffers) *sizing.BinChoice {
	if len(m.Bins) == 0 {
		return nil
	}
	choice := &sizing.BinChoice{Upper: m.Bins, Probabilities: make([]float64, len(m.Bins)), Chosen: min(m.Bins.Index(limit), len(m.Bins)-1)}
	b.edges = b.edges[:0]
	for _, edge := range m.Bins {
		b.edges = append(b.edges, float64(edge))
	}
	m.binProbabilities(p, b.edges, choice.Probabilities, b)
	return choice
}

// binProbabilities writes P(peak is in the bin) for each of the ascending upper edges, in bytes.
// The last bin includes everything above its edge, so the probabilities sum to 1.
func (m *Model) binProbabilities(p *experts.Point, edges, chance []float64, b *buffers) {
	m.mixtureExceedances(p, edges, chance, b)
	chance[len(chance)-1] = 0
	left := 1.0
	for i := range chance {
		beyond := min(left, chance[i])
		chance[i], left = left-beyond, beyond
	}
}

// duration returns the expected run time.
func (m *Model) duration(p *experts.Point) *sizing.Duration {
	n := len(m.Overrun.Sorted)
	if n == 0 {
		return nil
	}
	late := m.Overrun.Sorted[min(n-1, int(0.95*float64(n)))]
	return &sizing.Duration{Median: durationAt(p.Duration), P95: durationAt(p.Duration + max(0, late))}
}

func durationAt(log float64) time.Duration {
	seconds := min(math.Expm1(min(log, maxLogSeconds)), sizing.MaxDuration.Seconds())
	return time.Duration(seconds * float64(time.Second)).Round(time.Millisecond)
}

// guardState returns the state of the margins behind an answer, for its receipt: the amount
// before bounds, the promise, the pool's factor, the guard's factor, the expert that answered,
// then the models' levels, scales and duration.
func (m *Model) guardState(p *experts.Point, q Question, a experts.Answer) sizing.Guard {
	params := make([]float64, 0, 5+len(p.Level)+len(p.Scale)+1)
	params = append(params, a.Amount, a.Promised, a.Factor, max(1, q.Widen), float64(a.Expert))
	params = append(append(params, p.Level[:]...), p.Scale[:]...)
	return sizing.Guard{Version: int64(m.Tries), Params: append(params, p.Duration)}
}

// reason describes in one line what is granted and why.
func (m *Model) reason(p *experts.Point, q Question, s *Answer, a experts.Answer, d *boundedGrant, b *buffers) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s", s.Limit.Approx(), d.describe(q))
	if d.rule != byModel {
		fmt.Fprintf(&text, "%s by ", d.model.Approx())
	}
	switch {
	case q.Above >= s.Limit:
		fmt.Fprintf(&text, "the cap (%s), although %s was OOM-killed", capRules[q.CapBy], q.Above.Approx())
	case q.Above > 0:
		fmt.Fprintf(&text, "the next rung above %s", q.Above.Approx())
	case b.keptRequest:
		text.WriteString("the static request, which no run has exceeded so far")
	case p.Least > 0 && p.Least >= a.Amount:
		fmt.Fprintf(&text, "the largest of the newest identical runs plus %.0f %%", 100*Headroom)
	case s.Source == sizing.FromProfile:
		text.WriteString("a cautious quantile of the task's own history")
	default:
		text.WriteString(experts.Name(a.Expert))
	}
	if len(m.Drivers) > 0 && s.Source == sizing.FromModel {
		text.WriteString("; from " + strings.Join(m.Drivers, ", "))
	}
	if missing := m.describeMissing(a.Amount, b); missing != "" {
		text.WriteString("; " + missing)
	}
	m.describeUnseen(&text, b)
	m.describeExtrapolation(&text, b)
	fmt.Fprintf(&text, "; %d runs", m.Experts.Told)
	if q.Widen > 1 {
		fmt.Fprintf(&text, "; widened by %.0f %% because more open tries were killed than promised", 100*(q.Widen-1))
	}
	switch requested := q.Requested.Memory; {
	case s.Limit == q.Cap && d.rule != byCap:
		text.WriteString("; at the cap")
	case requested > s.Limit:
		fmt.Fprintf(&text, "; saves %s of the %s requested", (requested - s.Limit).Approx(), requested.Approx())
	case requested > 0 && requested < s.Limit:
		fmt.Fprintf(&text, "; above the %s requested", requested.Approx())
		if !b.extrapolation.noRisk {
			fmt.Fprintf(&text, ", which the peak exceeds with probability %.2g", m.requestRisk(p, q, d, a, b))
		}
	}
	return text.String()
}
