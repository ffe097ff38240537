package fitting

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// A young task has too few rows to learn a model and its margins apart. It is predicted by
// a Bayesian average over a few structures instead: a constant, a line in each number, and
// the point models that follow categories and identical inputs.

// youngNumbers is how many numbers get a line of their own, in the order of the schema.
const coldStartNumbers = 12

// youngPoints are the point models among the structures.
var coldStartPoints = [...]int{experts.Line, experts.Plain, experts.Same, experts.Stack}

// The prior of a young task. Peaks of batch tasks are constant in their input or grow with
// a power of it, hardly ever faster than linearly.
const (
	coldStartRows   = 4    // rows that the siblings' spread counts as
	coldStartSlope  = 0.7  // of the log peak in the logarithm of an input …
	coldStartSpread = 0.25 // … and its deviation
)

func (m *Model) coldStartPrior() bayes.Prior {
	return bayes.Prior{Deviation: m.Experts.Span, Rows: coldStartRows, Slope: coldStartSlope, Spread: coldStartSpread}
}

// askYoung sets p.Young to what the task's first rows say of a row. p is what the models
// say of it.
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
	p.Young = &b.coldStart
}

// widenYoung adds what a row's missing features leave open to its point models. Its lines
// need no more: one whose number is missing says what the constant does.
func (m *Model) widenColdStart(p *experts.Point, b *buffers) {
	if p.Young == nil {
		return
	}
	first := b.coldStart.N - len(coldStartPoints)
	for i, k := range coldStartPoints {
		scale := &b.coldStart.Scale[first+i]
		*scale = math.Hypot(*scale, b.donorMargin[k]/donorDeviations)
	}
}

// youngInputs appends the logarithms of a row's numbers to dst; NaN where it lacks one.
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

// learnFirst takes in the first row of a task.
func (m *Model) startColdStart(r *row) {
	m.ColdStart = bayes.Average{}
	m.ColdStart.Learn(m.coldStartInputs(r.Cells, nil), make([]float64, len(coldStartPoints)), math.Log(r.Peak), nil)
}

// learnYoung takes in a later row; p and b are of ask for it. A model stored by an earlier
// release lacks the rows before, and a row with imputed features says nothing of them.
func (m *Model) learnColdStart(r *row, p *experts.Point, b *buffers) {
	if p.Young != nil && !p.Blind {
		m.ColdStart.Learn(b.numbers, b.points[:], math.Log(r.Peak), p.Young)
	}
}
