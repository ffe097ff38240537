package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
)

// RunTime is the predicted distribution of one run time. A RunTime that Model.RunTime or Model.RunTimes returns stays the same
// when the model learns; one that runTimeOf returns does not. If features are imputed, a RunTime is the mixture of the
// distributions with the values of each donor row: a run takes as long as the runs with the values of one donor row, not as
// long as the mean over all donor rows. The slope of an extrapolation is uncertain, so an extrapolated
// prediction gives three levels: the prediction, and the prediction plus and minus the margin of the extrapolation.
type RunTime struct {
	ratios *ratioDistribution
	levels []float64 // log1p of the predicted seconds, see runTimeAt
}

// maxRunTimeLevels is the largest number of levels of a RunTime. With more levels, Quantile takes longer: it computes the
// probabilities at all levels in each step of the bisection.
const maxRunTimeLevels = 32

// noDifference replaces buffers.donorSeconds for a row without imputation.
var noDifference = []float64{0}

// runTimeOf returns the distribution for the prediction p. b has the buffers that this prediction filled. The result uses
// memory of b, so it is valid until b is used again.
func (m *Model) runTimeOf(ratios *ratioDistribution, p *experts.Point, b *buffers) RunTime {
	differences := b.donorSeconds
	if !p.Imputed {
		differences = noDifference
	}
	b.runTimeLevels = b.runTimeLevels[:0]
	margin := b.extrapolation.runTimeMargin
	for _, difference := range differences {
		moved := *p
		moved.Duration += difference
		level := m.runTimeAt(&moved, b)
		b.runTimeLevels = append(b.runTimeLevels, level)
		if margin > 0 {
			b.runTimeLevels = append(b.runTimeLevels, level-margin, level+margin)
		}
	}
	if len(b.runTimeLevels) > maxRunTimeLevels {
		b.runTimeLevels = thin(b.runTimeLevels, maxRunTimeLevels)
	}
	return RunTime{ratios, b.runTimeLevels}
}

// mean returns the mean of probability(x) over the levels, where x is the log ratio of a run time to the level. `log` is
// log1p of the run time in seconds.
func (r RunTime) mean(log float64, probability func(x float64) float64) float64 {
	sum := 0.0
	for _, level := range r.levels {
		sum += probability(log - level)
	}
	return sum / float64(len(r.levels))
}

// correctedAbove returns P(log1p of the seconds > log) after the correction of the levels of the quantiles.
func (r RunTime) correctedAbove(log float64) float64 { return r.mean(log, r.ratios.correctedAbove) }

// Above returns P(run time > seconds), without the corrections of the quantile levels (durationLevels.P95 and P99).
func (r RunTime) Above(seconds float64) float64 { return r.mean(math.Log1p(seconds), r.ratios.above) }

// Quantile returns the seconds that a run does not exceed with probability q. A q above maxQuantileLevel counts as
// maxQuantileLevel. Unlike RunTimes.Quantile, it does not correct the quantile levels (durationLevels.P95 and P99).
func (r RunTime) Quantile(q float64) float64 {
	q = min(q, maxQuantileLevel)
	if len(r.levels) == 1 {
		return secondsAt(r.levels[0] + r.ratios.quantile(q))
	}
	return secondsAt(bisect(0, maxLogSeconds, func(log float64) bool { return r.mean(log, r.ratios.below) >= q }))
}

// LogSeconds returns log1p of the predicted seconds: the mean of the levels.
func (r RunTime) LogSeconds() float64 {
	return r.mean(0, func(x float64) float64 { return -x })
}

// logTable returns quantiles of log1p of the seconds. `ratios` are equally probable log ratios of run time to prediction, and
// there are as many quantiles as ratios.
func (r RunTime) logTable(ratios []float64) []float64 {
	all := make([]float64, 0, len(ratios)*len(r.levels))
	for _, level := range r.levels {
		for _, ratio := range ratios {
			all = append(all, level+ratio)
		}
	}
	return thin(all, len(ratios))
}

// thin returns n of the values in ascending order, evenly spaced by rank from the smallest to the largest. `values` must have
// at least n elements; thin overwrites it.
func thin(values []float64, n int) []float64 {
	slices.Sort(values)
	for i := range n {
		values[i] = values[i*(len(values)-1)/max(1, n-1)]
	}
	return values[:n]
}

// bisect returns the smallest value between `low` and `high` from which on isEnough is true, with a small numerical error. It
// returns `high` if isEnough is false for all values between them.
func bisect(low, high float64, isEnough func(x float64) bool) float64 {
	for range bisections {
		if middle := (low + high) / 2; isEnough(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}
