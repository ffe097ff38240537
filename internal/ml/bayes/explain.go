package bayes

// Explain adds to phi[players[i]] what input i contributes to mix.MeanLevel; players[i] is the index in phi of the player
// (in the sense of Shapley values) of input i. It returns the part of MeanLevel without these contributions and without the
// point models. Each component depends on one input at most, so the contributions are Shapley values if an unknown input
// counts as its mean. There are three exceptions. The level of an affine regression at the mean of its input is only about
// Line.Y, which Explain uses. The level of the trend is the mean of the regressions plus a number, so Explain distributes the
// weight of the trend among the regressions. And the level of a line that raiseUnvariedLines has set also depends on the other
// components, but Explain attributes the whole difference of this level from Line.Y to the input of the line.
func (a *Average) Explain(inputs []float64, mix *Mixture, players []int, phi []float64) (base float64) {
	lines := min(len(inputs), maxLines)
	share, offset := mix.splitTrend()
	for i := range mix.Points {
		weight, level := mix.Weight[i], mix.Level[i]
		switch {
		case i < mix.Affines.to:
			weight *= share
		case i == mix.trend:
			level = offset
		}
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

// splitTrend distributes the weight of the trend among the regressions. It returns the factor on their weights, and the number that
// the trend adds to their mean level.
func (m *Mixture) splitTrend() (share, offset float64) {
	if m.trend == 0 || m.Weight[m.trend] == 0 {
		return 1, 0
	}
	sum, level := 0.0, 0.0
	for i := range m.Affines.to {
		sum += m.Weight[i]
		level += m.Weight[i] * m.Level[i]
	}
	if sum == 0 {
		return 1, m.Level[m.trend]
	}
	return 1 + m.Weight[m.trend]/sum, m.Level[m.trend] - level/sum
}
