package bayes

// Explain adds to phi[players[i]] what input i contributes to mix.MeanLevel. It returns
// the part of MeanLevel that depends on no input and no point model. Every component depends on at most one
// input, so the contributions are exact Shapley values if an unknown input counts as its mean.
func (a *Average) Explain(inputs []float64, mix *Mixture, players []int, phi []float64) (base float64) {
	lines := min(len(inputs), MaxStructures/2)
	for i := range mix.Points {
		weight, level := mix.Weight[i], mix.Level[i]
		if line := i - constants; line >= 0 && line < lines && a.hasLine(line, inputs[line]) {
			phi[players[line]] += weight * (level - a.Lines[line].Y)
			level = a.Lines[line].Y
		}
		base += weight * level
	}
	return base
}
