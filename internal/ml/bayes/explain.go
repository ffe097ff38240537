package bayes

// Explain adds to phi[players[i]] what input i contributes to mix.MeanLevel; players[i] is the index in phi of the player
// (in the sense of Shapley values) of input i. It returns the part of MeanLevel without these contributions and without the
// point models. Each component depends on one input at most, so the contributions are Shapley values if an unknown input
// counts as its mean. There is one exception: the level of a line that raiseUnvariedLines has set also depends on the other
// components, but Explain attributes the whole difference of this level from Line.Y to the input of the line.
func (a *Average) Explain(inputs []float64, mix *Mixture, players []int, phi []float64) (base float64) {
	lines := min(len(inputs), maxLines)
	for i := range mix.Points {
		weight, level := mix.Weight[i], mix.Level[i]
		line := i - constants
		if line >= lines {
			line -= lines // the affine regression of the same input
		}
		if line >= 0 && line < lines && a.hasLine(line, inputs[line]) {
			phi[players[line]] += weight * (level - a.Lines[line].Y)
			level = a.Lines[line].Y
		}
		base += weight * level
	}
	return base
}
