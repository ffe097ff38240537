package taskmodel

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Explain splits the limit of Size(q) into factors. It repeats the steps of Size and records the
// effect of each step on the amount.
func (m *Model) Explain(q Question) Explanation {
	e, _ := m.explain(q, nil)
	return e
}

// RecordedAnswer is the part of a receipt that an explanation needs: the granted memory, and the values that the models
// and the experts had for this answer (Model.guardState).
type RecordedAnswer struct {
	Granted sizing.Bytes
	Guard   sizing.Guard
}

// ExplainRecorded splits a recorded answer to q. ok is false if this model is not in the state that gave the answer: its
// predictions for q differ from the recorded ones. A model without measured peaks makes no predictions to compare; for such
// a model ok is false only if it gives no amount.
func (m *Model) ExplainRecorded(q Question, recorded RecordedAnswer) (e Explanation, ok bool) {
	return m.explain(q, &recorded)
}

// ExplainReceipt splits a recorded answer without a model, by its receipt alone. The base is the peak that the model of
// the answering expert expected. If no expert answered, or if this peak is above the amount before guard and bounds, the base
// is the amount before guard and bounds. The effects of the features are unknown. ok is false if the receipt records no amount
// (such as the receipt of a static request), or if another release recorded the amount in another form.
func ExplainReceipt(recorded RecordedAnswer) (e Explanation, ok bool) {
	params := recorded.Guard.Params
	if len(params) != guardRunScore && len(params) != guardRunShift+1 || params[guardAmount] <= 0 {
		return Explanation{Granted: recorded.Granted, Base: recorded.Granted, BaseName: "the answer"}, false
	}
	expert, level := int(params[guardExpert]), math.Log(params[guardAmount])
	c := startChain("the amount before guard and bounds", level)
	if expert >= 0 && expert < experts.Count {
		if predicted := params[guardLevels+experts.ModelIndex(expert)]; predicted <= level {
			c = startChain("the peak that "+experts.ModelOf(expert)+" expects for this run", predicted)
		}
	}
	c.expected = c.logAmount
	c.moveTo(TermMargin, experts.Name(expert), params[guardAmount])
	c.explainGuard(params[guardFactor])
	c.closeAt(recorded.Granted)
	return c.finish(recorded.Granted), true
}

// explain implements Explain, for which `recorded` is nil, and ExplainRecorded.
func (m *Model) explain(q Question, recorded *RecordedAnswer) (e Explanation, ok bool) {
	q.MinGrant = m.minGrant(q)
	if m.Models == nil {
		return m.explainWithoutPeaks(q, recorded)
	}
	b, scratch := bufferPool.Get().(*buffers), bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	defer bufferPool.Put(scratch)
	var p experts.Point
	if recorded != nil {
		q.RunScore = 0
	}
	m.predictQuestion(&q, &p, b)
	if recorded != nil {
		b.shift(&p, recordedRunShift(recorded.Guard)) // not computed from the run score, because the pool may have changed
		if !matchesGuard(&p, recorded.Guard) {
			return Explanation{}, false
		}
		q.GuardFactor = recorded.Guard.Params[guardFactor]
	}
	cells := slices.Clone(b.cells)
	if b.isCleaned {
		cells = slices.Clone(b.cleaned)
	}
	answer := m.answer(&p, &q, b).ForRow()
	c := m.explainPoint(cells, &p, q.RiskTarget, answer.Amount, b, scratch)
	var granted sizing.Bytes
	if q.Above > 0 {
		granted = m.explainLift(c, &p, q, b)
	} else {
		if recorded != nil {
			answer.Amount = recorded.Guard.Params[guardAmount]
		}
		before := answer
		if b.amountBeforeWidening > 0 {
			before.Amount = b.amountBeforeWidening
		}
		m.explainAmount(c, &p, &q, before, b)
		c.moveTo(TermMargin, "the unknown effect of "+m.nameUnknownEffect(&q, b.cells), answer.Amount)
		c.explainGuard(q.GuardFactor)
		if factor := m.Understatement.factor(); factor > 1 {
			c.add(TermLift, "runs were OOM-killed with more than their measured peaks", "", math.Log(factor))
		}
		granted = m.explainBounds(c, &p, q, answer, b)
	}
	if recorded != nil && recorded.Granted != granted {
		granted = recorded.Granted
		c.closeAt(granted)
	}
	return c.finish(granted), true
}

func matchesGuard(p *experts.Point, g sizing.Guard) bool {
	const n = guardRunScore
	if len(g.Params) != n && len(g.Params) != guardRunShift+1 || g.Params[n-1] != p.Duration {
		return false
	}
	return slices.Equal(g.Params[guardLevels:guardLevels+len(p.Level)], p.Level[:]) &&
		slices.Equal(g.Params[guardLevels+len(p.Level):n-1], p.Scale[:])
}

// explainPoint returns a chain that ends at the level of p, the weighted mean over the models. The terms of the chain
// include the features and the corrections for missing features and for inputs outside the range. If the level is above
// `amount`, the amount of a first try, the chain ends at the median of the peak. `cells` is the row without implausible inputs;
// `target` is the risk target.
func (m *Model) explainPoint(cells []sizing.Value, p *experts.Point, target, amount float64, b, scratch *buffers) *chain {
	blend := m.Experts.Blend(p, target, &scratch.scratch)
	weights := blend.Model
	addColdStartWeights(p, blend.ColdStart, &weights)

	edge, before := *p, *p // the predictions at the edge of the range, and before the margin for missing features
	if p.Imputed {
		before = b.donorMean
	}
	atEdge := cells
	if m.Models.ridges != nil {
		if m.Models.findOutside(cells, &scratch.extrapolation) {
			atEdge = m.Models.clampToRange(minTrendRows, cells, nil)
		}
		scratch.extrapolation = extrapolation{}
		m.Models.predictInRange(atEdge, &edge, scratch)
	}
	a := m.explainLevel(atEdge, &edge, &weights, scratch)
	lines := 0.0 // contribution of the cold-start structures other than point models to the level
	withoutLines := a.base
	for _, v := range a.phi {
		withoutLines += v
	}
	m.explainMixture(withoutShift(p, b), &a, blend.ColdStart, b)
	for _, v := range a.phi {
		lines += v
	}
	lines += a.base - withoutLines
	levelOf := func(p *experts.Point) float64 {
		sum := lines
		for k, weight := range weights {
			sum += weight * p.Level[k]
		}
		return sum
	}

	c := startChain("the mean over this task's runs", a.base)
	m.addFeatures(c, &a, cells, atEdge)
	c.add(TermFeature, "same inputs", m.describeIdentical(atEdge), a.identical)
	c.add(TermFeature, "recent errors of the model", "", a.recent)
	c.add(TermCeiling, "kept near the peaks of the runs", "", a.clipped)
	if edge.Imputed {
		c.add(TermFeature, "missing features", m.missingNames(atEdge)+": imputed from similar runs", levelOf(&edge)-c.logAmount)
	}
	unshifted, sum := before, 0.0
	for k, weight := range weights {
		unshifted.Level[k] -= b.levelShift + b.levelRaise
		sum += weight
	}
	beyond := "outside the known range"
	if b.restartRise > 0 {
		beyond = "the growth since the runs with such features"
	}
	c.add(TermFeature, beyond, m.describeOutside(cells, b), levelOf(&unshifted)-levelOf(&edge))
	c.add(TermFeature, "a new level of the peaks", "", sum*b.levelShift+b.levelRaise)
	c.add(TermFeature, "the peaks of earlier tasks of the run", describeRunShift(b.runShift), blend.ColdStart*b.runShift)
	if amount < math.Exp(c.logAmount) {
		c.moveTo(TermFeature, "the level of the newest peaks", m.medianPeak(p, amount, b))
	}
	c.expected = c.logAmount
	if p.Imputed {
		widened := 0.0
		for k, weight := range blend.Model {
			widened += weight * (p.Level[k] - before.Level[k])
		}
		c.add(TermMargin, "uncertainty of the missing features", "", widened)
	}
	return c
}

func withoutShift(p *experts.Point, b *buffers) *bayes.Mixture {
	if p.ColdStart == nil {
		return nil
	}
	mix := *p.ColdStart
	mix.Shift(-b.runShift - b.levelRaise)
	return &mix
}

// medianPeak returns the median of the predicted distribution of the peak, at most `amount`. After a fall of the peaks, the
// newest errors move this median below the predictions of the models.
func (m *Model) medianPeak(p *experts.Point, amount float64, b *buffers) float64 {
	exceeds := func(amount float64) bool {
		var prob [1]float64
		m.mixtureExceedances(p, []float64{amount}, prob[:], b)
		return prob[0] > 0.5
	}
	low, high := 1.0, amount
	for high > low*1.001 {
		if middle := math.Sqrt(low * high); exceeds(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// describeIdentical returns the number of runs in the group of a row, such as "3 runs". A group counts at most groupMemory
// runs.
func (m *Model) describeIdentical(cells []sizing.Value) string {
	var found group
	if g := m.Models.Groups.find(groupKey(m.Models.Enc.Columns, cells, nil), &found); g != nil {
		return countRuns(int(math.Round(g.Rows)))
	}
	return "none"
}

func countRuns(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}

func (m *Model) describeOutside(cells []sizing.Value, b *buffers) string {
	var text strings.Builder
	for i, j := range b.extrapolation.outside {
		if i > 0 {
			text.WriteString(", ")
		}
		m.describeInput(&text, j, cells)
	}
	return text.String()
}

// explainAmount adds the terms between the level and a.Amount, which is the experts' amount after the corrections
// of Model.answer.
func (m *Model) explainAmount(c *chain, p *experts.Point, q *Question, a experts.Answer, b *buffers) {
	if p.Imputed && b.noFeatures {
		c.moveTo(TermMargin, "no feature is known: sized by the peaks of all runs", a.Amount)
		return
	}
	c.moveTo(TermMargin, experts.Name(a.Expert), m.Experts.AmountWithoutPoolAndMinimum(p, q.RiskTarget, &b.scratch))
	c.moveTo(TermPool, "kills of the DAG's tasks at this age", m.Experts.AmountWithoutMinimum(p, q.RiskTarget, &b.scratch))
	if p.MinAmount > 0 {
		c.moveTo(TermHeadroom, fmt.Sprintf("the largest of the newest identical runs plus %.0f %%", 100*Headroom), m.Experts.Answer(p, q.RiskTarget, &b.scratch).Amount)
	}
	switch {
	case b.extrapolation.isRaised && b.extrapolation.remote.isKnown():
		c.moveTo(TermFeature, "at least the peaks of the few runs with such inputs", a.Amount)
	case b.extrapolation.isRaised:
		c.moveTo(TermFeature, "at least as much as at the edge of the known range", a.Amount)
	case b.usesRequest:
		c.moveTo(TermCeiling, "the static request, which no run has exceeded so far", a.Amount)
	case m.Experts.IsColdStart():
		c.moveTo(TermCeiling, "a bound from the prediction, because no run has exceeded the static request", a.Amount)
	default:
		c.moveTo(TermCeiling, "the largest plausible amount", a.Amount)
	}
}

func (c *chain) explainGuard(factor float64) {
	if factor > 1 {
		c.add(TermGuard, "more open tries were killed than promised", "", math.Log(factor))
	}
}

func (m *Model) explainBounds(c *chain, p *experts.Point, q Question, a experts.Answer, b *buffers) sizing.Bytes {
	return m.bound(p, q, a, b, func(d boundedGrant) {
		name := strings.TrimSuffix(d.describeRule(q, d.rule), "; ")
		switch d.rule {
		case byModel:
			name = "whole MiB"
		case byBins:
			name = "the next of the task's bins"
		}
		c.moveTo(ruleTerms[d.rule], name, float64(d.limit))
	}).limit
}

var ruleTerms = map[rule]TermKind{
	byModel: TermRounding, byBins: TermRounding, byRequest: TermCeiling, byUnknown: TermFloor, byStarvation: TermFloor, byFollowing: TermCeiling, byStreak: TermLift, byKill: TermLift, byPeak: TermLift,
	byFloor: TermFloor, byMinGrant: TermFloor, byCap: TermCap,
}

func (m *Model) explainLift(c *chain, p *experts.Point, q Question, b *buffers) sizing.Bytes {
	known := m.evidence(b.cells)
	killed := q.Above
	q.Above = max(q.Above, known.killed)
	limit, _ := m.sizeLift(p, q, b)
	switch {
	case q.Above >= limit:
		c.moveTo(TermCap, fmt.Sprintf("the cap (%s), although %s was OOM-killed", capRules[q.CapBy], q.Above.Approx()), float64(limit))
	case limit == q.Cap:
		c.moveTo(TermLift, fmt.Sprintf("%s was OOM-killed, and the last lift goes to the cap", killed.Approx()), float64(limit))
	default:
		c.moveTo(TermLift, fmt.Sprintf("the next rung above %s, which was OOM-killed", q.Above.Approx()), float64(limit))
	}
	return limit
}

// closeAt adds a last term, so that the chain ends at the granted amount. The bounds at the time of the answer are not
// recorded, so the term says only whether a bound raised, lowered or rounded the amount.
func (c *chain) closeAt(granted sizing.Bytes) {
	kind, name := TermFloor, "a lower bound at the time of the answer"
	amount := math.Exp(c.logAmount)
	switch {
	case float64(granted) < amount*(1-1e-9):
		kind, name = TermCap, "an upper bound at the time of the answer"
	case granted == sizing.Bytes(math.Ceil(amount-0.5)).RoundUp(sizing.MiB):
		kind, name = TermRounding, "whole MiB"
	}
	c.moveTo(kind, name, float64(granted))
}

// explainWithoutPeaks returns ok = false if a recorded answer is to be explained and the model gives no amount.
func (m *Model) explainWithoutPeaks(q Question, recorded *RecordedAnswer) (e Explanation, ok bool) {
	s := m.sizeWithoutPeaks(q)
	c := startChain("the static request", math.Log(float64(max(1, q.Requested.Memory))))
	switch {
	case s.Limit == 0:
		return Explanation{}, recorded == nil
	case q.Above > 0:
		q.Above = max(q.Above, s.TooLittle)
		c = startChain("the killed allocation", math.Log(float64(q.Above)))
		twice := max(q.Requested.Memory, sizing.DefaultLift(q.Above))
		c.moveTo(TermLift, "no peak of this task is known yet: twice the killed allocation, or the static request", float64(twice))
	case m.Bound > 0 && m.Bound >= max(q.Requested.Memory, m.Unmeasured.Largest):
		c = startChain("the largest allocation that was OOM-killed", math.Log(float64(m.Bound)))
		c.moveTo(TermLift, "twice the killed allocation: no larger one has succeeded", float64(sizing.DefaultLift(m.Bound)))
	case m.Unmeasured.Runs > 0 && q.Requested.Memory <= m.Bound:
		c = startChain("the largest allocation that succeeded; no peak was measured", math.Log(float64(m.Unmeasured.Largest)))
	}
	granted := s.Limit
	if recorded != nil {
		granted = recorded.Granted
	}
	if before := math.Exp(c.logAmount); float64(granted) > before*(1+1e-9) {
		name := fmt.Sprintf("the minimum grant of %s", q.MinGrant)
		if q.Floor > 0 {
			name = fmt.Sprintf("the policy's floor of %s", q.Floor.Approx())
		}
		c.moveTo(TermFloor, name, float64(granted))
	} else {
		c.moveTo(TermCap, fmt.Sprintf("the cap of %s (%s)", q.Cap.Approx(), capRules[q.CapBy]), float64(granted))
	}
	return c.finish(granted), true
}

// WithTerm returns e with one more term, so that the product becomes `granted`. It returns e unchanged if
// `granted` equals e.Granted, or if `granted` or e.Granted is not positive.
func (e Explanation) WithTerm(kind TermKind, name string, granted sizing.Bytes) Explanation {
	if granted == e.Granted || granted <= 0 || e.Granted <= 0 {
		return e
	}
	e.Terms = append(slices.Clone(e.Terms), Term{Kind: kind, Name: name, Factor: float64(granted) / float64(e.Granted), After: granted})
	e.Granted = granted
	return e
}
