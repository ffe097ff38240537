// Package bayes predicts a task's peak from its first rows by Bayesian model averaging
// (Hoeting et al. 1999) over a few simple structures: a constant, a line in one input, and
// point models that are fitted elsewhere.
//
//	rows ─▶ sufficient statistics ─▶ one Student's t per structure ─▶ Mixture
//	prior (from similar tasks) ──────┘         ▲
//	                  evidence: out-of-sample likelihood of each structure
//
// Every structure has a conjugate normal-gamma prior. Its predictive distribution is a
// Student's t, and its evidence is the product of the predictive densities of the rows
// (prequential likelihood, Dawid 1984). The package handles numbers only and is
// deterministic.
package bayes

import "math"

// Prior describes a task before its first row, estimated from similar tasks. All values are
// in logarithms of the peak, and of one plus the input.
type Prior struct {
	Deviation float64 // standard deviation of residuals
	Rows      float64 // number of rows that Deviation counts as
	Slope     float64 // mean slope of a line …
	Spread    float64 // … and its standard deviation over the tasks
}

// Prior probabilities of the structures. They matter for about the first five rows.
const (
	lineShare  = 0.5  // all lines together
	modelShare = 0.15 // all point models together
	exactShare = 0.05 // the narrow constant

	exactness = 0.05 // deviation of the narrow constant, relative to the prior deviation
)

// Average holds the sufficient statistics of one task. The zero value is ready to use.
type Average struct {
	Rows     float64
	Mean     float64 // mean of the log peaks …
	Squares  float64 // … and sum of their squared deviations
	Constant float64 // log evidence of the constant …
	Exact    float64 // … and of the narrow constant, for tasks with almost identical peaks
	Lines    []Line
	Models   []Point
}

// Line holds the sufficient statistics of the regression on one input.
type Line struct {
	_           struct{} `cbor:",toarray"` // compact, because a task has up to twelve
	Rows, X, Y  float64  // number of rows that have the input, and their means
	XX, XY, YY  float64  // sums of squares and products of deviations
	LogEvidence float64
}

// Point holds the out-of-sample errors of a point model.
type Point struct {
	_           struct{} `cbor:",toarray"`
	Rows        float64  // number of rows
	Squares     float64  // sum of squared errors
	LogEvidence float64
}

// MaxStructures is the largest number of components in a mixture.
const MaxStructures = 24

// Mixture is the predictive distribution of one row: a weighted mixture of Student's t
// distributions.
type Mixture struct {
	N       int
	Weight  [MaxStructures]float64
	Level   [MaxStructures]float64
	Scale   [MaxStructures]float64
	Freedom [MaxStructures]float64
}

// Predict fills mix for a row with these inputs (NaN: missing) and these predictions of the
// point models. At least one row must be learned before.
func (a *Average) Predict(inputs, levels []float64, prior *Prior, mix *Mixture) {
	mix.N = 0
	lines, models := min(len(inputs), MaxStructures/2), min(len(levels), MaxStructures/2-constants)
	constant := 1.0 - modelShare - exactShare
	if lines > 0 {
		constant -= lineShare
	}
	a.constant(prior.Deviation, prior.Rows, mix, math.Log(constant)+a.Constant)
	a.constant(prior.Deviation*exactness, prior.Rows, mix, math.Log(exactShare)+a.Exact)
	for i := range lines {
		weight := math.Log(lineShare / float64(lines))
		if i >= len(a.Lines) || a.Lines[i].Rows == 0 || math.IsNaN(inputs[i]) {
			evidence := a.Constant
			if i < len(a.Lines) {
				evidence = a.Lines[i].LogEvidence
			}
			a.constant(prior.Deviation, prior.Rows, mix, weight+evidence)
			continue
		}
		a.Lines[i].predict(inputs[i], prior, mix, weight+a.Lines[i].LogEvidence)
	}
	for k := range models {
		var p Point
		if k < len(a.Models) {
			p = a.Models[k]
		}
		freedom := prior.Rows + p.Rows
		variance := (prior.Rows*prior.Deviation*prior.Deviation + p.Squares) / freedom * (1 + 1/(p.Rows+1))
		mix.add(levels[k], math.Sqrt(variance), freedom, math.Log(modelShare/float64(models))+p.LogEvidence)
	}
	mix.normalise()
}

// constant adds a structure that uses no input.
func (a *Average) constant(deviation, rows float64, mix *Mixture, weight float64) {
	freedom := rows + a.Rows - 1
	variance := (rows*deviation*deviation + a.Squares) / freedom
	mix.add(a.Mean, math.Sqrt(variance*(1+1/a.Rows)), freedom, weight)
}

// predict adds a line. Its slope has the prior N(Slope, Spread²). The prior weighs as much
// as rows whose squared deviations of the input sum to (Deviation/Spread)².
func (l *Line) predict(x float64, prior *Prior, mix *Mixture, weight float64) {
	lambda := prior.Deviation * prior.Deviation / (prior.Spread * prior.Spread)
	slope := (lambda*prior.Slope + l.XY) / (lambda + l.XX)
	off := slope - prior.Slope
	squares := max(0, l.YY-2*slope*l.XY+slope*slope*l.XX) + lambda*off*off
	freedom := prior.Rows + l.Rows - 1
	variance := (prior.Rows*prior.Deviation*prior.Deviation + squares) / freedom
	distance := x - l.X
	mix.add(l.Y+slope*distance, math.Sqrt(variance*(1+1/l.Rows+distance*distance/(lambda+l.XX))), freedom, weight)
}

// Learn adds a row. mix is the result of Predict for this row; nil for the first row.
func (a *Average) Learn(inputs, levels []float64, y float64, mix *Mixture) {
	for len(a.Lines) < min(len(inputs), MaxStructures/2) {
		a.Lines = append(a.Lines, Line{LogEvidence: a.Constant})
	}
	for len(a.Models) < min(len(levels), MaxStructures/2-constants) {
		a.Models = append(a.Models, Point{})
	}
	if mix != nil {
		if a.Rows >= winsoriseFrom { // winsorise low outliers (Huber 1964)
			mid := mix.Mid()
			y = max(y, mid-winsoriseDeviations*mix.deviation(mid))
		}
		a.updateEvidence(y, mix)
		for k := range a.Models {
			p := &a.Models[k]
			p.Rows++
			p.Squares += (y - levels[k]) * (y - levels[k])
		}
	}
	a.Rows++
	off := y - a.Mean
	a.Mean += off / a.Rows
	a.Squares += off * (y - a.Mean)
	for i := range a.Lines {
		if i < len(inputs) && !math.IsNaN(inputs[i]) {
			a.Lines[i].learn(inputs[i], y)
		}
	}
}

const (
	winsoriseFrom       = 40  // rows needed to estimate the deviation
	winsoriseDeviations = 5.0 // standard deviations below the mean at which a row is clipped
)

// constants is the number of components before the lines in a mixture.
const constants = 2

// updateEvidence adds the log density at y to the evidence of every structure.
func (a *Average) updateEvidence(y float64, mix *Mixture) {
	lines := min(len(a.Lines), mix.N-constants-len(a.Models))
	a.Constant += mix.logDensity(0, y)
	a.Exact += mix.logDensity(1, y)
	for i := range lines {
		a.Lines[i].LogEvidence += mix.logDensity(constants+i, y)
	}
	for k := range a.Models {
		if at := constants + lines + k; at < mix.N {
			a.Models[k].LogEvidence += mix.logDensity(at, y)
		}
	}
}

func (l *Line) learn(x, y float64) {
	l.Rows++
	dx, dy := x-l.X, y-l.Y
	l.X += dx / l.Rows
	l.Y += dy / l.Rows
	l.XX += dx * (x - l.X)
	l.XY += dx * (y - l.Y)
	l.YY += dy * (y - l.Y)
}
