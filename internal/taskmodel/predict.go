package taskmodel

import (
	"math"
	"sync"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// buffers holds the intermediate values of one prediction. Later predictions reuse their memory, so that
// Size allocates little; see BenchmarkSize.
type buffers struct {
	cells                []sizing.Value // the row of the question
	line, tree           []float64      // the encoded row
	rungs                []float64      // of a ladder
	above                []sizing.Bytes // ladder above a known kill
	edges                []float64      // of the bins
	scratch              experts.Scratch
	numbers              []float64                     // inputs of the cold-start lines
	points               [len(coldStartPoints)]float64 // predictions of the point models for the cold start
	coldStart            bayes.Mixture                 // cold-start prediction
	signals              [signalCount]float64          // inputs of the stack
	atEdge               []sizing.Value                // cells, where each input outside its range is moved to the edge of the range
	extrapolation        extrapolation
	cleaned              []sizing.Value // cells without implausible inputs or unseen values
	isCleaned            bool           // the prediction used cleaned instead of cells
	usesRequest          bool           // the answer is the static request
	amountBeforeWidening float64        // the answer before raiseForUnknownEffect raised it; 0: it did not
	isLift               bool           // the question is about the retry after a kill
	peak                 rowPeak        // of the row

	// Imputation of missing features; see imputeFromDonorRows.
	imputed         []sizing.Value              // cells with the values of one donor row
	donor           []sizing.Value              // the values of one donor row
	neighbours      []neighbour                 // the donor rows of the prediction
	similar         []neighbour                 // for run time and CPU: neighbours, and all other donor rows as near as the last neighbour
	donorMargin     [experts.ModelCount]float64 // margin over donorMean, by model
	donorMean       experts.Point               // mean of the predictions over donor rows
	unseenProb      float64                     // probability that the run needs more than donorMargin covers
	donorPoints     []experts.Point             // predictions with the values of up to maxMixtureDonorRows donor rows
	donorPointMean  experts.Point               // donorMean before any extrapolation
	donorSeconds    []float64                   // by donor row: predicted log run time minus that of donorPointMean
	donorProbs      []float64                   // probabilities with the values of one donor row, by bin
	group           *group                      // the group of the row groupOf; nil: none
	recurring       group                       // the group that models.repeats found last
	groupValue      group                       // the value that group points to
	groupOf         []sizing.Value              // the row whose group was looked up last; nil: none
	runTimeLevels   []float64                   // see RunTime
	coreLevels      [][coreRules]float64        // predictions of each rule for CPU (see coreRules): for the row itself, or for each donor row
	noFeatures      bool                        // the row has no encoded feature
	runShift        float64                     // by which the run score shifted the cold-start prediction, as a log factor
	levelShift      float64                     // by which an accepted change shifted the predictions of the models, as a log factor; see levels
	restartRise     float64                     // by which raiseRestart raised LineTrees, as a log factor
	levelRaise      float64                     // by which a levelCandidate raised all predictions, as a log factor
	unwidenedAmount float64                     // the answer without donorMargin; 0 for a complete row
}

// predict fills p with the models' predictions for a row. It imputes missing features that are rarely missing, and drops
// implausible inputs. If every value of the row is an unseen value of a closed category (column.isClosed), it drops them all.
// It extrapolates outside the range of the inputs.
func (m *models) predict(cells []sizing.Value, p *experts.Point, b *buffers) {
	given := cells
	cells = m.clean(cells, b)
	isLargeDropped := b.extrapolation.tooLarge // so far, only clean sets it
	m.predictInRange(cells, p, b)
	if m.findOutside(cells, &b.extrapolation) && m.ridges != nil {
		m.extrapolate(cells, p, b)
	}
	m.raiseRestart(cells, p, b)
	if isLargeDropped {
		m.raiseRunTimeToEdge(given, p, b)
	}
	found := &b.extrapolation
	if !found.trendRises { // the known runs do not show the effect of such a number
		found.tooLarge = found.tooLarge || found.isFar
	}
	if found.trendRises || found.mostAmount > 0 { // the trend or remote numbers show the effect
		found.unshownRise = 0
	}
	found.noRisk = found.noRisk || found.unshownRise > 0
}

// clean prepares b for a prediction and returns the cells that the models use: without implausible inputs, and without features
// if every value is an unseen value of a closed category. If this is not the whole row, the result is b.cleaned.
func (m *models) clean(cells []sizing.Value, b *buffers) []sizing.Value {
	b.extrapolation = extrapolation{outside: b.extrapolation.outside[:0]}
	b.groupOf = nil
	b.noFeatures, b.isCleaned = false, false
	if m.ridges == nil {
		return cells
	}
	return m.withoutUnseen(m.withoutImplausible(cells, b), b)
}

// minLevelQuantile is the level of a quantile of the newest log peaks. No prediction for a task without features is below this
// quantile. These predictions follow the last peaks; without the bound, all runs would be killed when the peaks rise again
// after a few low ones.
const minLevelQuantile = 0.1

// predictInRange imputes missing features. Unlike predict, it drops no input and does not extrapolate.
func (m *models) predictInRange(cells []sizing.Value, p *experts.Point, b *buffers) {
	if m.ridges != nil && m.Enc.isIncomplete(cells) {
		m.imputeFromDonorRows(cells, p, b)
		return
	}
	m.predictRow(cells, p, b)
}

func (m *models) predictRow(cells []sizing.Value, p *experts.Point, b *buffers) {
	median := m.Recent.Median()
	*p = experts.Point{Duration: m.LogSec}
	for k := range p.Level {
		p.Level[k] = median
	}
	p.Scale[experts.TreeScale], p.Scale[experts.SameScale] = math.Exp(m.Base), math.Exp(m.Base)
	b.signals = [signalCount]float64{}
	if m.ridges == nil { // no feature: only earlier runs predict the next one
		m.predictGroup(cells, p, b)
		m.predictStack(p, median, b)
		low := m.Recent.Quantile(minLevelQuantile)
		for _, k := range [...]int{experts.Same, experts.Fresh, experts.Stack} {
			p.Level[k] = max(p.Level[k], low)
		}
		if p.Repeats.Peak < math.Exp(median) { // the newest runs may be an episode of low peaks
			p.Repeats = experts.Repeats{}
		}
		return
	}
	b.line, b.tree = m.Enc.encode(cells, b.line[:0], b.tree[:0])
	level := &p.Level
	level[experts.Line] = m.levelOf(m.lineRidge().Predict(b.line))
	level[experts.Plain] = m.plainLevel(m.ridges[peak].Predict(b.line))
	level[experts.Trees], level[experts.LineTrees] = level[experts.Line], m.lineTrees(cells, b)
	if m.Trees != nil {
		level[experts.Trees] = m.Trees.Predict(b.tree)
	}
	if effect, _ := m.newEffect(cells); effect > 0 {
		for _, k := range [...]int{experts.Line, experts.Plain, experts.Trees, experts.LineTrees} {
			level[k] += effect
		}
	}
	if m.Spread != nil {
		p.Scale[experts.TreeScale] = math.Exp(m.Spread.Predict(b.tree))
	}
	p.IsException = m.Enc.hasException(cells)
	m.predictGroup(cells, p, b)
	m.predictStack(p, median, b)
}

// lineTrees returns the prediction of LineTrees without the effect of new values. b holds the encoded row.
func (m *models) lineTrees(cells []sizing.Value, b *buffers) float64 {
	level := m.levelOf(m.lineRidge().Predict(b.line))
	if m.Trees != nil {
		level += m.Resid.Predict(b.tree) + m.Combinations.effect(m.Enc.Columns, cells)
	}
	return level
}

// pointRunTime returns the point prediction as log1p of seconds. `line` is the encoded row, and g is its group or nil.
func (m *models) pointRunTime(cells []sizing.Value, line []float64, g *group) float64 {
	predicted := max(0, min(maxLogSeconds, m.lineRunTime(line)+m.runTimeError(cells)+m.RunTimeCycles.effect(cells)))
	if g == nil {
		return predicted
	}
	return g.runTime(predicted)
}

func (g *group) runTime(predicted float64) float64 {
	if g.Seconds == 0 {
		return predicted
	}
	return (g.Seconds*g.Rows + 2*predicted) / (g.Rows + 2)
}

// maxLogSeconds bounds the predicted run times, in log1p of the seconds.
var maxLogSeconds = math.Log1p(sizing.MaxDuration.Seconds())

// predictGroup sets the levels Same and Fresh: the predictions from earlier rows with identical features, shrunk towards
// LineTrees. It also sets the other fields of p and b that come from these rows.
func (m *models) predictGroup(cells []sizing.Value, p *experts.Point, b *buffers) {
	level, spread := &p.Level, 1.5*p.Scale[experts.TreeScale] // the factor widens the margins for inputs that few rows have
	lineTrees := level[experts.LineTrees]
	level[experts.Same], level[experts.Fresh], p.Scale[experts.SameScale] = lineTrees, lineTrees, spread
	g := m.Groups.find(groupKey(m.Enc.Columns, cells, nil), &b.groupValue)
	b.group, b.groupOf = g, cells
	p.MinAmount, p.Repeats = g.minAmount(), m.repeats(cells, g, b)
	if m.ridges != nil {
		p.Duration = m.pointRunTime(cells, b.line, g)
	} else if g != nil {
		p.Duration = g.runTime(p.Duration)
	}
	if g == nil {
		return
	}
	newest := min(g.Rows, 2)
	level[experts.Same] = (g.Mean*g.Rows + groupShrink*lineTrees) / (g.Rows + groupShrink)
	level[experts.Fresh] = (g.Recent*newest + groupShrink*lineTrees) / (newest + groupShrink)
	p.Scale[experts.SameScale] = math.Sqrt((g.Squares+3*spread*spread)/(g.Rows+2)) + spreadFloor
}

// predictStack corrects LineTrees by other models' predictions and by the smoothed errors of LineTrees (stacking), within
// stackSlack of the median. With features, the result is at most the larger of LineTrees and High + ridgeSlack, and at least
// the smaller of LineTrees and Low − ridgeSlack. Without these bounds, the errors of a few rows, such as the first ones of a
// new category, would move the result far outside the range of the peaks.
func (m *models) predictStack(p *experts.Point, median float64, b *buffers) {
	lineTrees := p.Level[experts.LineTrees]
	b.signals = [signalCount]float64{
		p.Level[experts.Line] - lineTrees, p.Level[experts.Trees] - lineTrees,
		p.Level[experts.Same] - lineTrees, p.Level[experts.Fresh] - lineTrees, m.Drift, m.Trend,
	}
	low, high := median-stackSlack, median+stackSlack
	if m.ridges != nil {
		low, high = max(low, min(m.Low-ridgeSlack, lineTrees)), min(high, max(m.High+ridgeSlack, lineTrees))
	}
	p.Level[experts.Stack] = max(low, min(high, lineTrees+m.Stack.Predict(b.signals[:])))
}

func (m *models) plainLevel(predicted float64) float64 {
	floor := math.Exp(m.Low-ridgeSlack) / m.Unit
	return math.Log(max(floor, min(predicted, sizing.MaxBytes/m.Unit)) * m.Unit)
}

// bufferPool avoids allocations in concurrent predictions; see BenchmarkSize.
var bufferPool = sync.Pool{New: func() any { return new(buffers) }}

func (m *Model) predictQuestion(q *Question, p *experts.Point, b *buffers) {
	b.cells = m.cells(q.Features, b.cells)
	b.isLift = q.Above > 0
	m.predict(b.cells, q.RiskTarget, p, b)
	m.extendTrend(p, b)
	m.raiseToCandidate(p, b)
	b.shift(p, m.runShift(q.RunScore))
}

// predict fills p with the predictions of the models for a row and, while the experts need it, with that of the cold-start
// rule. If rarely missing features are missing, predict adds their uncertainty to the experts' own margin in quadrature, as for
// independent errors. target is the risk target.
func (m *Model) predict(cells []sizing.Value, target float64, p *experts.Point, b *buffers) {
	b.runShift = 0
	m.Models.predict(cells, p, b)
	m.shiftToLevel(p, b)
	if m.ablated.Adjust != nil {
		m.ablated.Adjust(p)
	}
	if m.Experts.NeedsColdStart() && (!p.Imputed || m.Experts.IsColdStart()) { // after the cold start, the models predict imputed rows better
		m.predictColdStart(cells, p, b)
	}
	if b.unwidenedAmount = 0; !p.Imputed {
		return
	}
	b.shiftDonorRows(p)
	b.donorMean = *p
	b.donorMean.Imputed, b.donorMean.ColdStart = false, nil
	b.unwidenedAmount = m.Experts.Answer(p, target, &b.scratch).Amount
	m.widenColdStart(p, b)
	answer := math.Log(min(b.unwidenedAmount, float64(maxPossible))) // very large inputs give an infinite amount
	for k, donorMargin := range b.donorMargin {
		margin := max(0, answer-p.Level[k])
		widened := math.Hypot(margin, donorMargin)
		p.Level[k] += widened - margin
		if k == experts.LineTrees && widened > 0 {
			b.unseenProb *= donorMargin * donorMargin / (widened * widened)
		}
	}
}
