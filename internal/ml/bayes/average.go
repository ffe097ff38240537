// Package bayes predicts a task's peak from its first rows by Bayesian model averaging
// (Hoeting et al. 1999) over a few simple structures: a constant, a line in one input, and
// point models that were fitted elsewhere.
//
//	rows ─▶ sufficient statistics ─▶ a Student's t per structure ─▶ Mixture
//	prior (from sibling tasks) ──────┘         ▲
//	                evidence: how well each structure predicted the rows before it saw them
//
// Every structure has a conjugate normal-gamma prior, so that its predictive distribution
// is a Student's t and its evidence the product of the densities at what came
// (prequential likelihood, Dawid 1984). Two rows therefore say as much as they can, and
// the first hundred lose nothing. It knows numbers only, and is deterministic.
package bayes

import "math"

// Prior is what sibling tasks say of a task before its own rows do. All values are in
// logarithms of the peak, and of one plus the input.
type Prior struct {
	Deviation float64 // of residuals
	Rows      float64 // how many rows Deviation counts as
	Slope     float64 // of a line …
	Spread    float64 // … and its standard deviation over the tasks
}

// Prior probabilities of the structures. They matter for some five rows.
const (
	lineShare  = 0.5  // of all lines together
	modelShare = 0.15 // of all point models together
	exactShare = 0.05 // of a constant that hardly varies

	exactness = 0.05 // its deviation, as a share of that of other tasks
)

// Average holds the sufficient statistics of one task. The zero value has learned
// nothing.
type Average struct {
	Rows     float64
	Mean     float64 // of the log peaks …
	Squares  float64 // … and the squares of their deviations
	Constant float64 // log evidence of the constant …
	Exact    float64 // … and of one that hardly varies
	Lines    []Line
	Models   []Point
}

// Line is the regression on one input.
type Line struct {
	_           struct{} `cbor:",toarray"` // there are up to a dozen
	Rows, X, Y  float64  // rows that have the input, and means over them
	XX, XY, YY  float64  // squares and products of deviations
	LogEvidence float64
}

// Point is the record of a point model.
type Point struct {
	_           struct{} `cbor:",toarray"`
	Rows        float64  // that it predicted before they came
	Squares     float64  // of its errors
	LogEvidence float64
}

// MaxStructures bounds the structures of a mixture.
const MaxStructures = 24

// Mixture is the predictive distribution of one row: Student's t distributions with weights.
type Mixture struct {
	N       int
	Weight  [MaxStructures]float64
	Level   [MaxStructures]float64
	Scale   [MaxStructures]float64
	Freedom [MaxStructures]float64
}

// Predict fills mix for a row with these inputs (NaN: the row lacks it) and predictions of
// the point models. At least one row must have been learned.
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

// constant adds the structure that needs no input.
func (a *Average) constant(deviation, rows float64, mix *Mixture, weight float64) {
	freedom := rows + a.Rows - 1
	variance := (rows*deviation*deviation + a.Squares) / freedom
	mix.add(a.Mean, math.Sqrt(variance*(1+1/a.Rows)), freedom, weight)
}

// predict adds a line. Its slope has the prior N(Slope, Spread²), which counts as much as
// rows with squared deviations of the input of (Deviation/Spread)² do.
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

// Learn takes in a row. mix is what Predict said of it; nil for the first one.
func (a *Average) Learn(inputs, levels []float64, y float64, mix *Mixture) {
	for len(a.Lines) < min(len(inputs), MaxStructures/2) {
		a.Lines = append(a.Lines, Line{LogEvidence: a.Constant})
	}
	for len(a.Models) < min(len(levels), MaxStructures/2-constants) {
		a.Models = append(a.Models, Point{})
	}
	if mix != nil {
		if a.Rows >= clipFrom { // winsorised (Huber 1964): one far below the others says little of the next
			mid := mix.Mid()
			y = max(y, mid-clipDeviations*mix.deviation(mid))
		}
		a.judge(y, mix)
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
	clipFrom       = 40  // rows before the deviation is known well enough
	clipDeviations = 5.0 // below the mean from which a row counts no further
)

// constants is how many structures come before the lines in a mixture.
const constants = 2

// judge adds the log density at y to the evidence of every structure.
func (a *Average) judge(y float64, mix *Mixture) {
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
