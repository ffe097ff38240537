package taskmodel

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/ml/shape"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Question asks a Model to size one try. A zero field means unknown, unless its comment says otherwise.
type Question struct {
	Features    sizing.Features
	Requested   sizing.Resources // static request
	Floor, Cap  sizing.Bytes     // bounds of the answer; if Cap is zero, there is no cap
	MinGrant    sizing.Bytes     // smallest amount to grant; it has no effect if Floor is set, and a lower request that was enough for all runs replaces it
	RiskTarget  float64          // share of first tries that may be killed
	RunScore    float64          // errors of the run's earlier tasks, see RunErrors.Score; zero: none is known
	Above       sizing.Bytes     // after a kill: the largest killed allocation of the run; zero: a first try
	Lifts       int              // number of lifts that are left, including, after a kill, the lift that this question asks for. The last lift grants the cap
	GuardFactor float64          // factor from the guard over open tries; a value below 1 has no effect
	Open        OpenKills        // the open runs that led to GuardFactor
	Edges       sizing.Bins      // bins to which amounts are rounded up; empty: whole MiB
	CapBy       CapRule
	Timeout     time.Duration // execution timeout of the try; zero: none
	Shape       shape.Given   // prior probabilities of the shapes of run times; zero: their shares among the tasks
}

// Answer is the size of one try. If Source is sizing.FromRequested, Limit is the request within the bounds of the question,
// or zero without a request; a model that cannot predict gives such an answer, except for lifts and for tasks whose kills or
// successes call for another amount (see sizeWithoutPeaks and sizeFromOutline).
type Answer struct {
	Limit    sizing.Bytes
	Ladder   []sizing.Bytes    // Limit and the amounts after further OOM kills, ascending; empty if Limit is zero, and for some lifts (see sizeLift)
	Promised *float64          // P(peak > Limit); nil if no risk can be stated
	Bins     *sizing.BinChoice // bin probabilities; nil if neither the question nor the task has bins
	CPU      sizing.Cores      // request; zero: unknown
	Duration *sizing.Duration  // predicted run time; nil: unknown
	Source   sizing.Source
	Reason   string       // one line for people
	Guard    sizing.Guard // recorded state behind the answer (see guardState), for the receipt: more than the factor of the guard; empty if no model predicted

	TooLittle  sizing.Bytes // of a lift: the largest amount that runs with the same features are known to exceed; zero: unknown
	HasMissing bool         // the question lacks an encoded feature; see AskWarnings
}

// Size answers a question.
func (m *Model) Size(q Question) Answer {
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.cells = m.cells(q.Features, b.cells)
	return m.size(q, b)
}

// size expects in b.cells the features in the order of the schema.
func (m *Model) size(q Question, b *buffers) Answer {
	q.MinGrant = m.minGrant(q)
	if m.outline != nil {
		return m.sizeFromOutline(q)
	}
	if m.Models == nil {
		return m.sizeWithoutPeaks(q)
	}
	var p experts.Point
	b.isLift = q.Above > 0
	m.predict(b.cells, q.RiskTarget, &p, b)
	m.extendTrend(&p, b)
	m.raiseToCandidate(&p, b)
	b.shift(&p, m.runShift(q.RunScore))

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
		answer = m.answer(&p, &q, b).ForRow()
		bounds = m.bound(&p, q, answer, b, nil)
		s.Limit = bounds.limit
		s.Ladder = m.ladder(&p, q, s.Limit, b, []sizing.Bytes{s.Limit})
		risk = m.boundedRisk(&p, q, &bounds, answer, b)
	}
	if s.Promised = &risk; b.extrapolation.noRisk && q.Above == 0 {
		s.Promised = nil
	}
	s.Bins = m.bins(&p, q, s.Limit, b)
	s.CPU, s.Duration = m.cpuOfRow(&q, b), m.duration(&p, &q, b)
	s.HasMissing = m.Models.Enc.hasMissing(b.cells)
	s.Source = sizing.FromModel
	if m.Experts.IsColdStart() {
		s.Source = sizing.FromProfile
	}
	s.Guard = m.guardState(&p, q, answer, b)
	s.Reason = m.reason(&p, q, &s, answer, &bounds, b)
	return s
}

// guardState returns the state behind an answer for the receipt: the amount before guard and bounds, the promise, the pool's
// factor, the guard's factor, the expert with the largest weight, the models' levels, scales and duration; and, if the
// question has a run score, this score and the log factor that it led to. For a lift, the amount, the promise, the pool's
// factor and the expert are zero. See guardAmount for the indices.
func (m *Model) guardState(p *experts.Point, q Question, a experts.Answer, b *buffers) sizing.Guard {
	n := guardRunScore
	if q.RunScore != 0 {
		n = guardRunShift + 1
	}
	params := make([]float64, 0, n)
	params = append(params, a.Amount, a.Promised, a.Factor, max(1, q.GuardFactor), float64(a.Expert))
	params = append(append(params, p.Level[:]...), p.Scale[:]...)
	params = append(params, p.Duration)
	if q.RunScore != 0 {
		params = append(params, q.RunScore, b.runShift)
	}
	return sizing.Guard{Version: int64(m.Tries), Params: params}
}

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
	case b.usesRequest:
		text.WriteString("the static request, which no run has exceeded so far")
	case m.setByIdenticalRuns(p, q.RiskTarget, a.Amount, b):
		fmt.Fprintf(&text, "the largest of the newest identical runs plus %.0f %%", 100*Headroom)
	default:
		text.WriteString(experts.Name(a.Expert))
	}
	if len(m.Drivers) > 0 && s.Source == sizing.FromModel && !b.noFeatures {
		text.WriteString("; from " + strings.Join(m.Drivers, ", "))
	}
	if missing := m.describeMissing(a.Amount, b); missing != "" {
		text.WriteString("; " + missing)
	}
	m.describeUnseen(&text, b)
	m.describeCombination(&text, b.cells)
	m.describePresence(&text, q.Features, b.cells)
	if b.amountBeforeWidening > 0 {
		fmt.Fprintf(&text, "; widened by %.0f %% for the unknown effect of %s", 100*(a.Amount/b.amountBeforeWidening-1), m.nameUnknownEffect(&q, b.cells))
	}
	m.describeExtrapolation(&text, a.Amount, b)
	if b.restartRise > math.Log(outsideFactor) {
		text.WriteString("; raised by the growth since the runs with such features")
	}
	if rise := b.extrapolation.runTimeRise; rise > math.Log(outsideFactor) {
		fmt.Fprintf(&text, "; run time extrapolated to %s times that at the edge of the known range", sizing.FormatFactor(math.Exp(rise)))
	}
	if b.extrapolation.edgeRunTime > math.Log(outsideFactor) && b.extrapolation.remote.seconds == 0 {
		text.WriteString("; run time raised to that at the edge of the known range")
	}
	text.WriteString(describeRunScore(m.answerShift(b)))
	text.WriteString(m.describeLevel(b))
	text.WriteString("; " + countRuns(m.knownRuns()))
	if q.GuardFactor > 1 && !b.isLift { // the factor applies to first tries only
		fmt.Fprintf(&text, "; widened by %.0f %% because more open tries were killed than promised", 100*(q.GuardFactor-1))
	}
	if raised := m.Understatement.describe(); raised != "" && !b.isLift {
		text.WriteString("; " + raised)
	}
	if len(q.Edges) > 0 && s.Limit > q.Edges[len(q.Edges)-1] {
		fmt.Fprintf(&text, "; above the largest of the task's bins, %s", q.Edges[len(q.Edges)-1].Approx())
	}
	switch requested := q.Requested.Memory; {
	case s.Limit == q.Cap && d.rule != byCap:
		text.WriteString("; at the cap")
	case requested > s.Limit && s.Promised == nil: // without a risk, less memory is no saving
		fmt.Fprintf(&text, "; below the %s requested", requested.Approx())
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

// setByIdenticalRuns reports whether the minimum for identical runs (Point.MinAmount) set an amount: without this minimum,
// the amount would be below it. The amount is a mean over experts, of which the minimum raises only some, so it may exceed
// the minimum. If it does by more than Headroom, the minimum did not set it.
func (m *Model) setByIdenticalRuns(p *experts.Point, target, amount float64, b *buffers) bool {
	switch {
	case p.MinAmount <= 0 || amount > (1+Headroom)*p.MinAmount: // the cheap test, true for most answers
		return false
	case p.MinAmount >= amount:
		return true
	}
	return m.Experts.AmountWithoutMinimum(p, target, &b.scratch) < p.MinAmount && amount <= m.Experts.Answer(p, target, &b.scratch).Amount
}
