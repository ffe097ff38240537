// Package bayes predicts a task's peak from its first rows by Bayesian model averaging
// (Hoeting et al. 1999) over a few simple structures: a constant, a constant with a narrow
// distribution, a line and an affine regression in each input, a trend over the runs, modes of the peak, and point models. A
// point model predicts the peak and is fitted elsewhere.
//
//	rows ─▶ sufficient statistics ─▶ one Student's t per structure ─▶ Mixture
//	prior (from similar tasks) ──────┘         ▲
//	                  evidence: out-of-sample likelihood of each structure
//
// The predictive distribution of a structure is a Student's t, from a conjugate prior; for the affine regressions it is an
// approximation. The modes have one for each mode and one for a new mode, and the last point model has two (scaled.go).
//
// The evidence of a structure is the product of the predictive densities of the rows (prequential likelihood, Dawid 1984);
// that of the point models and of the trend is discounted (discountModels). The package handles numbers only and is deterministic. It does not
// know the static request; package taskmodel applies it to the answer.
package bayes

import "math"

// Prior describes a task before its first row, estimated from similar tasks. Deviations are those of the
// logarithm of the peak. A slope is the change of this logarithm per unit of the logarithm of the input (see Average.Log).
type Prior struct {
	Deviation float64 // standard deviation of the residuals
	Rows      float64 // number of rows that Deviation counts as
	Slope     float64 // mean slope of a line over the tasks
	Spread    float64 // standard deviation of the slope over the tasks

	Slopes []float64 // mean slopes by input; an input without an element has Slope

	NoFeatures bool // the task has no features, so that point models predict only from the earlier rows
	NoNarrow   bool // the mixtures of lines and affine regressions have no narrow deviations (for ablations)
}

func (p *Prior) slope(input int) float64 {
	if input < len(p.Slopes) {
		return p.Slopes[input]
	}
	return p.Slope
}

// Prior probabilities of the structures; the constant has the remaining probability. The priors matter for about the first
// five rows.
const (
	lineShare   = 0.4  // of all lines together; 0 without inputs
	affineShare = 0.1  // of all affine regressions together; 0 without inputs
	modelShare  = 0.15 // of all point models together
	exactShare  = 0.05 // of the narrow constant
	modesShare  = 0.1  // of the modes together; 0 if Predict leaves them out

	narrowDeviationRatio = 0.05 // prior deviation of the narrow constant, relative to Prior.Deviation
)

// Average holds the sufficient statistics of one task. The zero value is ready to use.
type Average struct {
	Rows     float64    // number of rows, in which a row of LearnWeighted counts with its weight
	Mean     float64    // mean of the log peaks
	Squares  float64    // sum of the squared deviations from Mean
	Constant float64    // log evidence of the constant
	Exact    float64    // log evidence of the narrow constant, for tasks with almost identical peaks
	Lines    []Line     // by input
	Affines  []Affine   `cbor:",omitempty"` // by input; empty in averages stored before this field existed
	Narrow   []Narrow   `cbor:",omitempty"` // by input; empty in averages stored before this field existed
	Ranges   []Range    `cbor:",omitempty"` // by input; empty in averages stored before this field existed
	Models   []Point    // by point model
	Units    []float64  `cbor:",omitempty"` // by input, see SetUnit; 0: unknown
	Modes    Modes      `cbor:",omitzero"`  // empty in averages stored before this field existed
	Scaled   Point      `cbor:",omitzero"`  // the last point model a second time, with predicted scales; see scaled.go. Zero without such scales
	Trend    LocalTrend `cbor:",omitzero"`  // empty in averages stored before this field existed; contains only rows of LearnTrend

	Kills   []Kill   `cbor:",omitempty"`     // killed runs without a measured peak, in the order in which they were learned
	Imputed *Average `cbor:"Open,omitempty"` // the average that also counts Kills as rows; nil without kills or rows
}

// Line holds the sufficient statistics of the regression on one input.
type Line struct {
	_           struct{} `cbor:",toarray"` // compact, because a task has up to twelve
	Rows, X, Y  float64  // weight of the rows that have the input; the means of the input (as Predict gets it) and of the log peak in these rows
	XX, XY, YY  float64  // sums of squares and products of the deviations from X and Y
	LogEvidence float64
}

// Range is the range of the learned values of an input.
type Range struct {
	_         struct{} `cbor:",toarray"` // compact, because a task has up to twelve
	Low, High float64
}

func (r *Range) clamp(x float64) float64 { return max(r.Low, min(r.High, x)) }

// Point holds the out-of-sample errors of a point model.
type Point struct {
	_           struct{} `cbor:",toarray"`
	Rows        float64  // number of rows that it has predicted
	Squares     float64  // sum of its squared errors, in log peak
	LogEvidence float64
}

// maxComponents is the largest number of components of a mixture: the constants, a line and an affine regression for each of
// maxLines inputs, the trend, maxPoints point models, one component for each mode and one for a new mode, and a second one for
// the last point model, with a predicted scale.
const (
	maxLines      = 12
	maxPoints     = 10
	maxComponents = constants + 2*maxLines + 1 + maxPoints + maxModes + 2
)

// Mixture is the predictive distribution of one row: a weighted mixture of Student's t
// distributions. The first two components are the constant and the narrow constant. The lines follow, then the affine
// regressions, the trend, the modes, the point models, and the last point model a second time, with the predicted scale of its
// residual.
type Mixture struct {
	N       int                    // number of components
	Affines span                   // components of the affine regressions, one for each line
	Modes   span                   // components of the modes
	Points  int                    // index of the first point model; all later components are point models
	Scaled  bool                   // the last component is the last point model with a predicted scale
	Weight  [maxComponents]float64 // probabilities of the components
	Level   [maxComponents]float64 // locations, as log peaks
	Scale   [maxComponents]float64 // in log peak
	Freedom [maxComponents]float64 // degrees of freedom

	variances [maxComponents]variances // of the lines and affine regressions

	trend       int     // index of the trend; 0: none
	regressions float64 // mean level of the components before the trend, without Shift
	shifted     float64 // sum of the arguments of Shift
}

// Predict fills mix for a row with inputs and levels. inputs are already logarithms, see Log; NaN: missing. levels are the log
// peaks that the point models predict. scale is the predicted scale of the residual of the last point model, in log peak; 0:
// unknown. The average must have learned at least one row.
func (a *Average) Predict(inputs, levels []float64, scale float64, prior *Prior, mix *Mixture) {
	mix.N, mix.Affines, mix.Modes, mix.Scaled, mix.shifted = 0, span{}, span{}, false, 0
	lines, models := min(len(inputs), maxLines), min(len(levels), maxPoints)
	constant := 1.0 - modelShare - exactShare
	modes := len(a.Modes.Modes) > 0 && (prior.NoFeatures || !a.inputsMatter())
	if modes {
		constant -= modesShare
	}
	if lines > 0 {
		constant -= lineShare + affineShare
	}
	a.constant(prior.Deviation, prior.Rows, mix, math.Log(constant)+a.Constant)
	a.constant(prior.Deviation*narrowDeviationRatio, prior.Rows, mix, math.Log(exactShare)+a.Exact)
	for i := range lines {
		weight := math.Log(lineShare / float64(lines))
		if !a.hasLine(i, inputs[i]) {
			evidence := a.Constant
			if i < len(a.Lines) {
				evidence = a.Lines[i].LogEvidence
			}
			a.constant(prior.Deviation, prior.Rows, mix, weight+evidence)
			continue
		}
		a.predictLine(i, inputs[i], prior, mix, weight+a.Lines[i].LogEvidence)
	}
	a.predictAffines(inputs[:lines], prior, mix)
	a.predictTrend(prior, mix)
	if modes {
		a.Modes.predict(a, prior, mix, math.Log(modesShare)+a.Modes.LogEvidence)
	}
	isScaled, parts := scale > 0 && models > 0 && a.Scaled.Rows > 0, float64(models)
	if isScaled {
		parts++
	}
	modelWeight := math.Log(modelShare / parts)
	mix.Points = mix.N
	for k := range models {
		var p Point
		if k < len(a.Models) {
			p = a.Models[k]
		}
		freedom := prior.Rows + p.Rows
		variance := (prior.Rows*prior.Deviation*prior.Deviation + p.Squares) / freedom * (1 + 1/(p.Rows+1))
		mix.add(levels[k], math.Sqrt(variance), freedom, modelWeight+p.LogEvidence)
	}
	if isScaled {
		a.predictScaled(levels[models-1], scale, prior, mix, modelWeight)
	}
	a.Trend.drop(prior, mix)
	mix.normalise()
	a.raiseUnvariedLines(inputs, lines, prior, mix)
}

// lineRangeRows is the least number of rows of a line for which isFar uses the range of the input; with fewer rows, the range is
// too uncertain. A line with at least that many rows neither predicts from nor learns an input whose absolute value is too far
// above the largest learned absolute value. The allowed distance is the width of the range, but at least minLineReach and at
// most maxLineReach. An input that is too far may have another unit. If all learned numbers are at most 10 units (see SetUnit),
// no input is too far. Distances are in logarithms.
const lineRangeRows = 10

var minLineReach, maxLineReach = math.Log(11), math.Log(1000)

func (a *Average) isFar(i int, x float64) bool {
	if i >= len(a.Ranges) || a.Lines[i].Rows < lineRangeRows {
		return false
	}
	r := &a.Ranges[i]
	edge := max(r.High, -r.Low)
	return edge > minLineReach && math.Abs(x)-edge > max(minLineReach, min(maxLineReach, r.High-r.Low))
}

// nearest returns the value nearest to x in the range of input i.
func (a *Average) nearest(i int, x float64) float64 {
	if i < len(a.Ranges) {
		return a.Ranges[i].clamp(x)
	}
	return x
}

// hasLine reports whether the line of input i predicts from x. If not, the line predicts the same as the constant.
func (a *Average) hasLine(i int, x float64) bool {
	return i < len(a.Lines) && a.Lines[i].Rows > 0 && !math.IsNaN(x) && !a.isFar(i, x)
}

// inputsMatter reports whether a line or a point model has predicted the rows better than the constant.
// Then Predict leaves the modes out, unless the task has no features: modes often explain the past rows best, but
// predict the next row worse than a line or a point model.
func (a *Average) inputsMatter() bool {
	for i := range a.Lines {
		if a.Lines[i].LogEvidence > a.Constant {
			return true
		}
	}
	for k := range a.Models {
		if a.Models[k].LogEvidence > a.Constant {
			return true
		}
	}
	return false
}

// constant adds a structure without inputs to mix. Its prior standard deviation, `deviation`, counts as `rows` rows.
func (a *Average) constant(deviation, rows float64, mix *Mixture, logWeight float64) {
	freedom := rows + a.Rows - 1
	variance := (rows*deviation*deviation + a.Squares) / freedom
	mix.add(a.Mean, math.Sqrt(variance*(1+1/a.Rows)), freedom, logWeight)
}

// maxFall is the largest fall of a line or an affine regression outside the range of its input, in log peak: to half of the
// peak that it predicts at the end of the range. Near an input of zero the peak is often constant, and a line in logarithms does
// not fit this.
const maxFall = math.Ln2

// predictLine adds the line of input i, whose value is x, to mix. The slope has the prior N(mean, Spread²), which counts as much
// as rows whose inputs have a sum of squared deviations of (Deviation/Spread)².
func (a *Average) predictLine(i int, x float64, prior *Prior, mix *Mixture, logWeight float64) {
	l, mean, factors := &a.Lines[i], prior.slope(i), a.narrow(i).Line
	lambda := prior.Deviation * prior.Deviation / (prior.Spread * prior.Spread)
	slope := (lambda*mean + l.XY) / (lambda + l.XX)
	off := slope - mean
	squares := max(0, l.YY-2*slope*l.XY+slope*slope*l.XX) + lambda*off*off
	freedom := prior.Rows + l.Rows - 1
	distance := x - l.X
	level := l.Y + max(slope*distance, slope*(a.nearest(i, x)-l.X)-maxFall)
	mix.addRegression(level, squares, freedom, 1/l.Rows+distance*distance/(lambda+l.XX), prior, &factors, logWeight)
}

// Learn adds a row with the log peak y. inputs, levels and scale are those of Predict. mix is the result of Predict for
// this row, and nil for the first row. If the average has kills, the caller must call ImputeKills afterwards.
func (a *Average) Learn(inputs, levels []float64, scale, y float64, mix *Mixture) {
	for len(a.Lines) < min(len(inputs), maxLines) {
		if len(a.Ranges) == len(a.Lines) {
			a.Ranges = append(a.Ranges, Range{Low: math.Inf(1), High: math.Inf(-1)})
		}
		a.Lines = append(a.Lines, Line{LogEvidence: a.Constant})
	}
	for len(a.Affines) < len(a.Lines) {
		a.Affines = append(a.Affines, Affine{LogEvidence: a.Lines[len(a.Affines)].LogEvidence})
	}
	for len(a.Narrow) < len(a.Lines) {
		a.Narrow = append(a.Narrow, Narrow{})
	}
	for len(a.Models) < min(len(levels), maxPoints) {
		a.Models = append(a.Models, Point{})
	}
	if mix != nil {
		if a.Rows >= winsoriseFrom { // winsorise low outliers (Huber 1964)
			mid := mix.MeanLevel()
			y = max(y, mid-winsoriseDeviations*mix.deviation(mid))
		}
		a.updateEvidence(y, mix)
		for k := range a.Models {
			p := &a.Models[k]
			p.Rows++
			p.Squares += (y - levels[k]) * (y - levels[k])
		}
		if last := len(a.Models) - 1; last >= 0 {
			a.learnScaled(levels[last], scale, y)
		}
	}
	if len(a.Modes.Modes) == 0 {
		a.Modes.LogEvidence = a.Constant
	}
	a.Modes.learn(y)
	a.LearnWeighted(inputs, y, 1)
}

// LearnWeighted adds a row with a weight of at most 1 to the constants, the lines, the affine regressions and the ranges of the
// inputs. It changes no evidence, no mode and no point model. If the average has kills, the caller must call ImputeKills afterwards.
func (a *Average) LearnWeighted(inputs []float64, y, weight float64) {
	if weight <= 0 {
		return
	}
	a.Rows += weight
	off := y - a.Mean
	a.Mean += off * weight / a.Rows
	a.Squares += weight * off * (y - a.Mean)
	for i := range min(len(a.Lines), len(inputs)) {
		if x := inputs[i]; !math.IsNaN(x) && !a.isFar(i, x) {
			a.Lines[i].learn(x, y, weight)
			if i < len(a.Affines) {
				a.Affines[i].learn(x, y, weight)
			}
			if i < len(a.Ranges) {
				a.Ranges[i].Low, a.Ranges[i].High = min(a.Ranges[i].Low, x), max(a.Ranges[i].High, x)
			}
		}
	}
}

const (
	winsoriseFrom       = 40  // number of rows from which on low outliers are winsorised
	winsoriseDeviations = 5.0 // a row farther below the predicted mean counts as this many standard deviations below it
)

// constants is the number of components before the lines in a mixture.
const constants = 2

func (a *Average) updateEvidence(y float64, mix *Mixture) {
	a.discountModels()
	unscaled := mix.N
	if mix.Scaled {
		unscaled--
		a.Scaled.LogEvidence += mix.logDensity(unscaled, y)
	}
	lines := min(len(a.Lines), mix.Affines.size())
	a.Constant += mix.logDensity(0, y)
	a.Exact += mix.logDensity(1, y)
	for i := range a.Lines {
		line, affine := 0, 0 // for an input that the row does not have, both predict the same as the constant
		if i < lines {
			line, affine = constants+i, mix.Affines.from+i
		}
		a.Lines[i].LogEvidence += mix.logDensity(line, y)
		mix.updateFactors(line, y, &a.Narrow[i].Line)
		mix.updateFactors(affine, y, &a.Narrow[i].Affine)
		if i < len(a.Affines) {
			a.Affines[i].LogEvidence += mix.logDensity(affine, y)
		}
	}
	if mix.Modes.size() > 0 {
		a.Modes.LogEvidence += a.Modes.logDensity(mix, y)
	}
	for k := range a.Models {
		if at := mix.Points + k; at < unscaled {
			a.Models[k].LogEvidence += mix.logDensity(at, y)
		}
	}
}

// learn adds a row with a weight to the sufficient statistics (West 1979).
func (l *Line) learn(x, y, weight float64) {
	l.Rows += weight
	dx, dy := x-l.X, y-l.Y
	l.X += dx * weight / l.Rows
	l.Y += dy * weight / l.Rows
	l.XX += weight * dx * (x - l.X)
	l.XY += weight * dx * (y - l.Y)
	l.YY += weight * dy * (y - l.Y)
}
