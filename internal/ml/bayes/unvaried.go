package bayes

import "math"

// raiseUnvariedLines raises the weight of a line to its prior probability if the input of the line had the same value in all
// rows and is larger now. The rows say nothing about such a line, even if the other structures predicted the rows well. The
// level of the line becomes the mean level of the other components plus the prior slope times the growth of the input. Only
// growth up to minLineReach counts.
func (a *Average) raiseUnvariedLines(inputs []float64, lines int, prior *Prior, mix *Mixture) {
	share := lineShare / float64(lines)
	for i := range lines {
		k := constants + i
		if rest := 1 - mix.Weight[k]; mix.Weight[k] < share && a.isUnvaried(i, inputs[i]) {
			mix.Weight[k] = 0
			for j := range mix.N {
				mix.Weight[j] /= rest
			}
			level, distance := mix.MeanLevel(), min(inputs[i]-a.Lines[i].X, minLineReach)
			mix.Level[k] = level + prior.slope(i)*distance
			mix.Scale[k] = math.Hypot(mix.deviation(level), prior.Spread*distance)
			for j := range mix.N {
				mix.Weight[j] *= 1 - share
			}
			mix.Weight[k] = share
		}
	}
}

func (a *Average) isUnvaried(i int, x float64) bool {
	return a.hasLine(i, x) && a.Lines[i].Rows > 1 && a.Lines[i].XX == 0 && x > a.Lines[i].X
}
