package taskmodel

import (
	"hash/fnv"
	"math"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Cold start: a new task has too few rows to learn a model and its margins separately. Instead,
// Bayesian model averaging (package bayes) predicts its peaks with simple structures, such as a
// constant, a line in each number, and some of the point models (the fitted models, which predict only the peak).

// coldStartNumbers is the largest number of numeric features with a line of their own; the others come later in the schema.
const coldStartNumbers = 12

// improbable bounds the probability, by the Bayesian average, that a peak exceeds the models' prediction. For a row with a
// rare value (Point.IsException) and a probability below this bound, the prediction raises the average.
const improbable = 0.1

// coldStartPoints are the point models among the structures.
var coldStartPoints = [...]int{experts.Line, experts.Plain, experts.Same, experts.Stack}

// Prior of a cold start: the peak of a batch task either does not depend on its input, or grows with
// a power of the input, rarely faster than linearly.
const (
	coldStartRows   = 4    // weight of the pool's standard deviation of the residuals, in rows
	coldStartSlope  = 0.7  // slope of the log peak over the logarithm of an input; see setPoolSlopes
	coldStartSpread = 0.25 // standard deviation of the slopes among tasks
)

// coldStartPrior returns the prior of the cold-start rule. Its standard deviation and its slopes come from the pool.
func (m *Model) coldStartPrior() bayes.Prior {
	return bayes.Prior{Deviation: m.Experts.PriorDeviation, Rows: coldStartRows, Slope: coldStartSlope, Spread: coldStartSpread, Slopes: m.slopes,
		NoFeatures: len(m.Schema.Fields) == 0, NoNarrow: m.ablated.NoNarrow}
}

// setPoolSlopes sets m.slopes to the mean slopes of the DAG's other tasks. They are shrunk towards the means of the
// namespace's other DAGs, which are shrunk towards coldStartSlope.
func (m *Model) setPoolSlopes(pool *Pool, others *Namespace) {
	m.slopes = m.slopes[:0]
	tasks := *pool
	tasks.Remove(&m.Share)
	for hash := range m.coldStartHashes {
		m.slopes = append(m.slopes, tasks.SlopeOf(hash).Mean(others.SlopeOf(hash, coldStartSlope)))
	}
}

func (m *Model) shareSlopes() {
	prior := m.coldStartPrior()
	evidence := m.ColdStart.SlopeEvidence(&prior, nil)
	clear(m.Share.Slopes[:])
	i := 0
	for hash := range m.coldStartHashes {
		if i == len(evidence) {
			return
		}
		m.Share.SlopeOf(hash).Add(evidence[i].Tasks, evidence[i].Slope)
		i++
	}
}

// coldStartHashes yields the hash of the name of every input of the cold-start lines, in the order of the schema.
func (m *Model) coldStartHashes(yield func(uint64) bool) {
	n := 0
	for j := range m.Schema.Fields {
		if m.Schema.Fields[j].Kind != sizing.Number {
			continue
		}
		if n == coldStartNumbers || !yield(nameHash(m.Schema.Fields[j].Name)) {
			return
		}
		n++
	}
}

func nameHash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash returns no error
	return h.Sum64()
}

// predictColdStart sets p.ColdStart, the prediction of the cold-start rule. p already holds the models' predictions for the
// same row.
func (m *Model) predictColdStart(cells []sizing.Value, p *experts.Point, b *buffers) {
	if m.ColdStart.Rows == 0 {
		return
	}
	if b.isCleaned {
		cells = b.cleaned
	}
	b.numbers = m.coldStartInputs(cells, b.numbers[:0])
	for i, k := range coldStartPoints {
		b.points[i] = p.Level[k]
	}
	prior := m.coldStartPrior()
	m.coldStartFor(b).Predict(b.numbers, b.points[:], m.coldStartScale(p), &prior, &b.coldStart)
	p.ColdStart = &b.coldStart
	// The weights come from rows without the rare value; see experts.Experts.expertAmount. If only killed runs had these
	// features, the level is imputed, and the kills bound the answer instead.
	if level := p.Level[experts.LineTrees]; p.IsException && b.coldStart.ExceedanceProb(level) < improbable && m.evidence(cells).killed == 0 {
		b.coldStart.Raise(level)
	}
}

// coldStartScale returns the scale of the log residual that trees predict for a row; 0 if there are no such trees yet.
func (m *Model) coldStartScale(p *experts.Point) float64 {
	if m.Models.Spread == nil || m.ablated.NoScale {
		return 0
	}
	return p.Scale[experts.TreeScale]
}

// coldStartPoint returns the model of component i of a mixture. The component must be a point model, so i is at least
// mix.Points. The last model may have two components.
func coldStartPoint(mix *bayes.Mixture, i int) int {
	return coldStartPoints[min(i-mix.Points, len(coldStartPoints)-1)]
}

// coldStartFor returns the Bayesian average that predicts a row. The average for a lift excludes all killed runs: the
// ladder already takes account of the kill of the retried run, and this kill must not count twice.
func (m *Model) coldStartFor(b *buffers) *bayes.Average {
	if b.isLift {
		return &m.ColdStart
	}
	return m.ColdStart.WithKills()
}

// widenColdStart adds the uncertainty of imputed features to the point models. The lines need no change: a line whose
// number is missing predicts the same as the constant.
func (m *Model) widenColdStart(p *experts.Point, b *buffers) {
	if p.ColdStart == nil {
		return
	}
	for i := p.ColdStart.Points; i < p.ColdStart.N; i++ {
		scale := &p.ColdStart.Scale[i]
		*scale = math.Hypot(*scale, b.donorMargin[coldStartPoint(p.ColdStart, i)]/donorDeviations)
	}
}

func (m *Model) coldStartInputs(cells []sizing.Value, dst []float64) []float64 {
	for j := range m.Schema.Fields {
		if m.Schema.Fields[j].Kind != sizing.Number {
			continue
		}
		if len(dst) == coldStartNumbers {
			break
		}
		x := math.NaN()
		if j < len(cells) && cells[j].Kind == sizing.Number {
			x = m.ColdStart.Log(len(dst), cells[j].Num)
		}
		dst = append(dst, x)
	}
	return dst
}

// setColdStartUnits sets the unit of each input that has none yet: the logarithm of an input is log(1 + input/unit) (see
// bayes.Average.SetUnit). isSmall reports that a new unit is below 1.
func (m *Model) setColdStartUnits(cells []sizing.Value) (isSmall bool) {
	input := 0
	for j := range m.Schema.Fields {
		if m.Schema.Fields[j].Kind != sizing.Number {
			continue
		}
		if input == coldStartNumbers {
			break
		}
		if j < len(cells) && cells[j].Kind == sizing.Number {
			isSmall = m.ColdStart.SetUnit(input, cells[j].Num) || isSmall
		}
		input++
	}
	return isSmall
}

// startColdStart learns the first row of a task.
func (m *Model) startColdStart(r *row) {
	m.ColdStart = bayes.Average{Kills: m.ColdStart.Kills, Units: m.ColdStart.Units}
	if m.ablated.NoColdStart {
		return
	}
	m.setColdStartUnits(r.Cells)
	m.ColdStart.Learn(m.coldStartInputs(r.Cells, nil), make([]float64, len(coldStartPoints)), 0, math.Log(r.Peak), nil)
	prior := m.coldStartPrior()
	m.ColdStart.ImputeKills(&prior)
}

// runOf describes a run to the trend of the cold start. It returns nil for a row without a place in the order of the runs: a mapped
// instance, or a row that ended before the newest one.
func (m *Model) runOf(t *TrainingRow) *bayes.Run {
	if t.DAGRun != 0 || t.At < m.Levels.Newest {
		return nil
	}
	run := &bayes.Run{Start: t.StartedAt, End: t.At}
	if t.Allocated.Memory > 0 && t.Peak > 0 {
		run.Ratio = math.Log(float64(t.Peak) / float64(t.Allocated.Memory))
	}
	return run
}

// extendTrend moves the trend of the cold start to a run that starts now.
func (m *Model) extendTrend(p *experts.Point, b *buffers) {
	if p.ColdStart != nil {
		prior := m.coldStartPrior()
		m.coldStartFor(b).ExtendTrend(&prior, p.ColdStart)
	}
}

// learnColdStart learns a later row; p and b come from its prediction. It ignores a row with imputed features. It also
// does nothing for a model of a release without the cold-start rule, because the average lacks the earlier rows of this
// model. A row is no evidence about the structures if weight is below 1, or if p is the prediction for another instance of
// the same DAG run (p.ColdStart is nil). run is nil if the row has no place in the order of the runs, so that it is no evidence
// about a trend over the runs.
func (m *Model) learnColdStart(r *row, p *experts.Point, weight float64, run *bayes.Run, b *buffers) {
	if p.Imputed || m.ColdStart.Rows == 0 {
		return
	}
	prior := m.coldStartPrior()
	if m.setColdStartUnits(r.Cells) { // only b.numbers changes: the lines of these inputs have learned no number except 0, whose logarithm log(1 + 0/unit) is 0 in any unit
		for i, x := range m.coldStartInputs(r.Cells, nil) {
			if i < len(b.numbers) && !math.IsNaN(b.numbers[i]) {
				b.numbers[i] = x
			}
		}
	}
	if p.ColdStart == nil || weight < 1 {
		m.ColdStart.LearnWeighted(m.coldStartInputs(r.Cells, b.numbers[:0]), math.Log(r.Peak), weight)
	} else {
		mix, scale := p.ColdStart, m.coldStartScale(p)
		if len(m.ColdStart.Kills) > 0 { // p includes the kills, but the evidence comes from measured rows only
			mix = new(bayes.Mixture)
			m.ColdStart.Predict(b.numbers, b.points[:], scale, &prior, mix)
			mix.Shift(b.runShift)
		}
		if run != nil && !m.ablated.NoTrend {
			m.ColdStart.LearnTrend(math.Log(r.Peak), *run, &prior, mix)
		}
		m.ColdStart.Learn(b.numbers, b.points[:], scale, math.Log(r.Peak), mix)
	}
	m.ColdStart.ImputeKills(&prior)
	m.shareSlopes()
}

// learnColdStartKill adds a killed try, so that in the cold start the kill influences the predictions for other runs (see
// bayes.Average.LearnKill). It ignores a try with imputed features, and does nothing for a model of a release without
// the cold-start rule.
func (m *Model) learnColdStartKill(t *TrainingRow) {
	if m.ablated.NoColdStart || m.Models != nil && m.ColdStart.Rows == 0 {
		return
	}
	cells := m.cells(t.Features, nil)
	levels, ok := m.coldStartLevels(cells)
	if !ok {
		return
	}
	m.setColdStartUnits(cells)
	prior := m.coldStartPrior()
	m.ColdStart.LearnKill(bayes.Kill{
		Run: t.Run, Bound: math.Log(float64(max(1, t.Peak))), Inputs: m.coldStartInputs(cells, nil), Levels: levels,
	}, &prior)
}

// coldStartLevels returns the predictions of the point models (coldStartPoints) for a row: nil before the first fit. ok is
// false if features are imputed.
func (m *Model) coldStartLevels(cells []sizing.Value) (levels []float64, ok bool) {
	if m.Models == nil {
		return nil, true
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	var p experts.Point
	m.Models.predict(cells, &p, b)
	m.Levels.shiftToNewest(&p)
	for _, k := range coldStartPoints {
		levels = append(levels, p.Level[k])
	}
	return levels, !p.Imputed
}

// resolveColdStartKill removes the kill of a run, because the peak of the run was measured or the report of the kill was
// voided (deleted).
func (m *Model) resolveColdStartKill(run uint64) {
	prior := m.coldStartPrior()
	m.ColdStart.Resolve(run, &prior)
}
