package taskmodel

import (
	"math"
	"sync"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// buffers holds the memory of one prediction, so that Size allocates little; see BenchmarkSize.
type buffers struct {
	cells         []sizing.Value
	imputed       []sizing.Value
	line, tree    []float64
	rungs         []float64
	edges         []float64
	above         []sizing.Bytes
	scratch       experts.Scratch
	numbers       []float64                     // inputs of the cold-start lines
	points        [len(coldStartPoints)]float64 // predictions of the point models …
	coldStart     bayes.Mixture                 // … and their mixture
	signals       [signalCount]float64
	atEdge        []sizing.Value
	extrapolation extrapolation
	cleaned       []sizing.Value // cells without implausible inputs
	keptRequest   bool           // the static request decided the answer

	neighbours      []neighbour
	donorMargin     [experts.ModelCount]float64 // of a row with missing features: how far the donors reach above its levels
	donorMean       experts.Point               // … the mean of the models' predictions
	unseenProb      float64                     // … the probability that the run needs more than any donor
	donorPoints     []experts.Point             // … the predictions with the values of some donors
	donorPointMean  experts.Point               // … their mean, before any extrapolation
	donorProbs      []float64                   // probabilities of one donor, by bin
	noFeatures      bool                        // the row has no feature at all
	unwidenedAmount float64                     // the answer without donorMargin; 0 for a complete row
}

// predict fills p with the models' predictions for a row. It imputes features that are rarely
// missing, drops implausible inputs and extrapolates along the trend.
func (m *models) predict(cells []sizing.Value, p *experts.Point, b *buffers) {
	b.extrapolation = extrapolation{outside: b.extrapolation.outside[:0]}
	b.noFeatures = false
	if m.ridges != nil {
		cells = m.withoutImplausible(cells, b)
	}
	m.predictInRange(cells, p, b)
	if m.ridges != nil && m.findOutside(cells, &b.extrapolation) {
		m.extrapolate(cells, p, b)
	}
}

// predictInRange is predict for a row whose inputs lie within the range.
func (m *models) predictInRange(cells []sizing.Value, p *experts.Point, b *buffers) {
	if m.ridges != nil && m.Enc.isIncomplete(cells) {
		m.imputeFromDonors(cells, p, b)
		return
	}
	m.predictRow(cells, p, b)
}

// predictRow fills p with the models' predictions for a row without imputation.
func (m *models) predictRow(cells []sizing.Value, p *experts.Point, b *buffers) {
	median := m.Recent.Median()
	*p = experts.Point{Duration: m.LogSec}
	for k := range p.Level {
		p.Level[k] = median
	}
	p.Scale[experts.TreeScale], p.Scale[experts.SameScale] = math.Exp(m.Base), math.Exp(m.Base)
	b.signals = [signalCount]float64{}
	if m.ridges == nil {
		p.MinAmount = m.Groups[groupKey(m.Enc.Columns, cells)].minGrant()
		return
	}
	b.line, b.tree = m.Enc.encode(cells, b.line[:0], b.tree[:0])
	level := &p.Level
	level[experts.Line] = m.onLine(b.line)
	floor := math.Exp(m.Low-ridgeSlack) / m.Unit
	level[experts.Plain] = math.Log(max(floor, min(m.ridges[peak].Predict(b.line), sizing.MaxBytes/m.Unit)) * m.Unit)
	p.Duration = max(0, min(maxLogSeconds, m.ridges[logSeconds].Predict(b.line)))
	level[experts.Trees], level[experts.LineTrees] = level[experts.Line], level[experts.Line]
	if m.Trees != nil {
		level[experts.Trees] = m.Trees.Predict(b.tree)
		level[experts.LineTrees] += m.Resid.Predict(b.tree)
	}
	if m.Spread != nil {
		p.Scale[experts.TreeScale] = math.Exp(m.Spread.Predict(b.tree))
	}
	m.predictGroup(cells, p)
	m.predictStack(p, median, b)
}

const maxLogSeconds = 19.6 // ten years

// predictGroup predicts from the rows with identical features, shrunk towards LineTrees.
func (m *models) predictGroup(cells []sizing.Value, p *experts.Point) {
	level, spread := &p.Level, 1.5*p.Scale[experts.TreeScale]
	both := level[experts.LineTrees]
	level[experts.Same], level[experts.Fresh], p.Scale[experts.SameScale] = both, both, spread
	g := m.Groups[groupKey(m.Enc.Columns, cells)]
	p.MinAmount = g.minGrant()
	if g == nil {
		return
	}
	newest := min(g.Rows, 2)
	level[experts.Same] = (g.Mean*g.Rows + groupShrink*both) / (g.Rows + groupShrink)
	level[experts.Fresh] = (g.Recent*newest + groupShrink*both) / (newest + groupShrink)
	p.Duration = (g.Seconds*g.Rows + 2*p.Duration) / (g.Rows + 2)
	p.Scale[experts.SameScale] = math.Sqrt((g.Squares+3*spread*spread)/(g.Rows+2)) + spreadFloor
}

// predictStack corrects LineTrees by the other models' predictions and by its smoothed errors
// (stacking).
func (m *models) predictStack(p *experts.Point, median float64, b *buffers) {
	both := p.Level[experts.LineTrees]
	b.signals = [signalCount]float64{
		p.Level[experts.Line] - both, p.Level[experts.Trees] - both,
		p.Level[experts.Same] - both, p.Level[experts.Fresh] - both, m.Drift, m.Trend,
	}
	p.Level[experts.Stack] = max(median-stackReach, min(median+stackReach, both+m.Stack.Predict(b.signals[:])))
}

// onLine returns the line's log peak, clipped near the range of the fitted peaks: a ridge on raw
// features would otherwise diverge for the first unusual input.
func (m *models) onLine(x []float64) float64 {
	return max(m.Low-ridgeSlack, min(m.High+ridgeSlack, m.ridges[logPeak].Predict(x)))
}

// bufferPool avoids allocations in concurrent predictions; see BenchmarkSize.
var bufferPool = sync.Pool{New: func() any { return new(buffers) }}

// predict fills p with the models' predictions for a row. If features are missing, their
// uncertainty adds to the experts' own margin as independent errors do: in quadrature.
func (m *Model) predict(cells []sizing.Value, target float64, p *experts.Point, b *buffers) {
	m.Models.predict(cells, p, b)
	if m.Experts.NeedsColdStart() && (!p.Imputed || m.Experts.IsColdStart()) { // otherwise donors predict better
		m.predictColdStart(cells, p, b)
	}
	if b.unwidenedAmount = 0; !p.Imputed {
		return
	}
	b.shiftDonors(p)
	b.donorMean = *p
	b.donorMean.Imputed, b.donorMean.ColdStart = false, nil
	b.unwidenedAmount = m.Experts.Answer(p, target, &b.scratch).Amount
	m.widenColdStart(p, b)
	answer := math.Log(b.unwidenedAmount)
	for k, between := range b.donorMargin {
		margin := max(0, answer-p.Level[k])
		widened := math.Hypot(margin, between)
		p.Level[k] += widened - margin
		if k == experts.LineTrees && widened > 0 {
			b.unseenProb *= between * between / (widened * widened)
		}
	}
}
