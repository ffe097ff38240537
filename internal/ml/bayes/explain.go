package bayes

import "math"

// Explain adds the contribution of every input of a row to mix.MeanLevel to phi. mix is the result of Predict. numbers[i] is the index in phi of number i, and
// categories[i] that of category i. It returns the part of MeanLevel that depends on no input and no point model. Every
// component depends on at most one input, so the contributions are exact Shapley values if an unknown number counts as its
// mean, and an unknown category as the mean of its values.
func (a *Average) Explain(row Row, mix *Mixture, numbers, categories []int, phi []float64) (base float64) {
	lines := min(len(row.Inputs), MaxStructures/2)
	for i := range mix.Points {
		weight, level := mix.Weight[i], mix.Level[i]
		unknown, player := level, -1
		if line := i - constants; line >= 0 && line < lines && line < len(a.Lines) && a.Lines[line].Rows > 0 && !math.IsNaN(row.Inputs[line]) {
			unknown, player = a.Lines[line].Y, numbers[line]
		}
		if c := i - mix.Categories.from; c >= 0 && i < mix.Categories.to && c < len(a.Categories) && a.Categories[c].Rows > 0 && row.Categories[c] != 0 {
			unknown, player = a.Categories[c].mean(), categories[c]
		}
		if player >= 0 {
			phi[player] += weight * (level - unknown)
		}
		base += weight * unknown
	}
	return base
}
