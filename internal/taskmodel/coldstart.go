package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// Cold start: a new task has too few rows to learn a model and its margins separately. Bayesian
// model averaging predicts it instead, over a few structures: a constant, a line in each number,
// and the point models that use categories and identical inputs.

// coldStartNumbers is the number of numeric features with a line of their own, in the order of
// the schema.
const coldStartNumbers = 12

// coldStartPoints are the point models among the structures.
var coldStartPoints = [...]int{experts.Line, experts.Plain, experts.Same, experts.Stack}

// Prior of a cold start: the peaks of batch tasks are constant in their input or grow with a
// power of it, rarely faster than linearly.
const (
	coldStartRows   = 4    // weight of the DAG's spread, in rows
	coldStartSlope  = 0.7  // of the log peak in the logarithm of an input …
	coldStartSpread = 0.25 // … and its standard deviation
)

func (m *Model) coldStartPrior() bayes.Prior {
	return bayes.Prior{Deviation: m.Experts.Span, Rows: coldStartRows, Slope: coldStartSlope, Spread: coldStartSpread}
}

// predictColdStart sets p.Young to the averaged prediction for a row. p is the models' prediction
// for the same row.
func (m *Model) predictColdStart(cells []sizing.Value, p *experts.Point, b *buffers) {
	if m.ColdStart.Rows == 0 {
		return
	}
	if b.extrapolation.implausible {
		cells = b.cleaned
	}
	b.numbers = m.coldStartInputs(cells, b.numbers[:0])
	for i, k := range coldStartPoints {
		b.points[i] = p.Level[k]
	}
	prior := m.coldStartPrior()
	m.ColdStart.Predict(b.numbers, b.points[:], &prior, &b.coldStart)
	p.ColdStart = &b.coldStart
}

// widenColdStart adds the uncertainty of imputed features to the point models. The lines need no
// change: without its number, a line predicts like the constant.
func (m *Model) widenColdStart(p *experts.Point, b *buffers) {
	if p.ColdStart == nil {
		return
	}
	first := b.coldStart.N - len(coldStartPoints)
	for i, k := range coldStartPoints {
		scale := &b.coldStart.Scale[first+i]
		*scale = math.Hypot(*scale, b.donorMargin[k]/donorDeviations)
	}
}

// coldStartInputs appends the logarithms of a row's numbers to dst; NaN if one is missing.
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
			x = signedLog(cells[j].Num)
		}
		dst = append(dst, x)
	}
	return dst
}

// startColdStart learns the first row of a task.
func (m *Model) startColdStart(r *row) {
	m.ColdStart = bayes.Average{}
	m.ColdStart.Learn(m.coldStartInputs(r.Cells, nil), make([]float64, len(coldStartPoints)), math.Log(r.Peak), nil)
}

// learnColdStart learns a later row; p and b come from its prediction. It skips models stored by
// a release without cold start, which lack the earlier rows, and imputed rows, which say nothing
// about their structures.
func (m *Model) learnColdStart(r *row, p *experts.Point, b *buffers) {
	if p.ColdStart != nil && !p.Imputed {
		m.ColdStart.Learn(b.numbers, b.points[:], math.Log(r.Peak), p.ColdStart)
	}
}
