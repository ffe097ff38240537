package taskmodel

import (
	"math"

	"github.com/loadaware/loadaware/internal/ml/conformal"
)

// tailProbabilities are the probabilities of a run longer than four quantiles: the median, the 95 % quantile, the 99 %
// quantile, and that at maxQuantileLevel. Only the levels of the 95 % and the 99 % quantile are corrected.
var tailProbabilities = [...]float64{.5, .05, .01, 1 - maxQuantileLevel}

// uncorrectedTail has, for each of the quantiles of tailProbabilities, the probability of a longer run by the uncorrected
// distribution. correct maps these probabilities to tailProbabilities: between two of them it interpolates the
// logarithms, and outside all of them it changes nothing. So all quantiles and probabilities
// of an answer agree with the corrected quantiles.
type uncorrectedTail [len(tailProbabilities)]float64

// uncorrectedTail returns 1 − level of the median, of the corrected 95 % and 99 % quantiles, and of the quantile at
// maxQuantileLevel. The result is valid until the model learns.
func (m *Model) uncorrectedTail() uncorrectedTail {
	p95 := correctedLevel(.95, &m.DurationLevels.P95)
	p99 := max(p95, correctedLevel(.99, &m.DurationLevels.P99))
	return uncorrectedTail{.5, 1 - p95, 1 - p99, 1 - maxQuantileLevel}
}

func correctedLevel(level float64, a *conformal.Adaptive) float64 {
	if a.Step > 0 {
		level = a.Level()
	}
	return max(.5, min(maxQuantileLevel, level))
}

func (c *uncorrectedTail) correct(probability float64) float64 {
	if probability >= c[0] || probability <= c[len(c)-1] {
		return probability
	}
	i := len(c) - 1
	for c[i-1] < probability {
		i--
	}
	share := math.Log(probability/c[i]) / math.Log(c[i-1]/c[i])
	return tailProbabilities[i] * math.Pow(tailProbabilities[i-1]/tailProbabilities[i], share)
}
