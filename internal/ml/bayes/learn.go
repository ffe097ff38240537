package bayes

import "math"

// Learn adds a row with the log peak y. mix is the result of Predict for this row, and nil for the first row. If the average has kills, the caller must call ImputeKills afterwards.
func (a *Average) Learn(row Row, y float64, mix *Mixture) {
	a.addStructures(&row)
	if mix != nil {
		if a.Rows >= winsoriseFrom { // winsorise low outliers (Huber 1964)
			mid := mix.MeanLevel()
			y = max(y, mid-winsoriseDeviations*mix.deviation(mid))
		}
		a.updateEvidence(y, mix)
		for k := range a.Models {
			p := &a.Models[k]
			p.Rows++
			p.Squares += (y - row.Levels[k]) * (y - row.Levels[k])
		}
		if last := len(a.Models) - 1; last >= 0 {
			a.learnScaled(row.Levels[last], row.Scale, y)
		}
	}
	if len(a.Modes.Modes) == 0 {
		a.Modes.LogEvidence = a.Constant
	}
	a.Modes.learn(y)
	a.Rows++
	off := y - a.Mean
	a.Mean += off / a.Rows
	a.Squares += off * (y - a.Mean)
	a.learnInputs(&row, y)
}

// addStructures adds the structures of the inputs and point models that a row has first.
func (a *Average) addStructures(row *Row) {
	for len(a.Lines) < min(len(row.Inputs), MaxStructures/2) {
		if len(a.Ranges) == len(a.Lines) {
			a.Ranges = append(a.Ranges, Range{Low: math.Inf(1), High: math.Inf(-1)})
		}
		a.Lines = append(a.Lines, Line{LogEvidence: a.Constant})
	}
	for len(a.Categories) < min(len(row.Categories), MaxCategories) {
		a.Categories = append(a.Categories, Category{LogEvidence: a.Constant})
	}
	for len(a.Models) < min(len(row.Levels), MaxStructures/2-constants) {
		a.Models = append(a.Models, Point{})
	}
}

// learnInputs adds a row to the lines and categories of its known inputs.
func (a *Average) learnInputs(row *Row, y float64) {
	for i := range a.Lines {
		if i >= len(row.Inputs) || math.IsNaN(row.Inputs[i]) {
			continue
		}
		x := row.Inputs[i]
		a.Lines[i].learn(x, y)
		if i < len(a.Ranges) {
			a.Ranges[i].Low, a.Ranges[i].High = min(a.Ranges[i].Low, x), max(a.Ranges[i].High, x)
		}
	}
	for i := range a.Categories {
		if i < len(row.Categories) && row.Categories[i] != 0 {
			a.Categories[i].learn(row.Categories[i], y)
		}
	}
}

const (
	winsoriseFrom       = 40  // number of rows from which on low outliers are winsorised
	winsoriseDeviations = 5.0 // a lower row counts as this many standard deviations below the predicted mean
)

// constants is the number of components before the lines in a mixture.
const constants = 2

// updateEvidence discounts the evidence of the point models, and adds the log density at y to the evidence of each
// structure in mix.
func (a *Average) updateEvidence(y float64, mix *Mixture) {
	a.discountModels()
	unscaled := mix.N
	if mix.Scaled {
		unscaled--
		a.Scaled.LogEvidence += mix.logDensity(unscaled, y)
	}
	lines := min(len(a.Lines), mix.Categories.from-constants)
	a.Constant += mix.logDensity(0, y)
	a.Exact += mix.logDensity(1, y)
	for i := range lines {
		a.Lines[i].LogEvidence += mix.logDensity(constants+i, y)
	}
	for i := range a.Categories {
		component := 0 // a category that the row does not have predicts the same as the constant
		if i < mix.Categories.size() {
			component = mix.Categories.from + i
		}
		a.Categories[i].LogEvidence += mix.logDensity(component, y)
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

// learn adds a row to the sufficient statistics (Welford 1962).
func (l *Line) learn(x, y float64) {
	l.Rows++
	dx, dy := x-l.X, y-l.Y
	l.X += dx / l.Rows
	l.Y += dy / l.Rows
	l.XX += dx * (x - l.X)
	l.XY += dx * (y - l.Y)
	l.YY += dy * (y - l.Y)
}
