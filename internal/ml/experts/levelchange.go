package experts

import "math"

// Thresholds of a jump, a residual far above all earlier ones. The exported thresholds also serve package taskmodel, which finds
// jumps in the cold start and falls of the level.
const (
	minJumpResiduals = 8    // least number of stored residuals
	JumpRatio        = 1.5  // smallest ratio of a jump to the largest earlier residual
	JumpDeviations   = 4    // smallest jump in standard deviations
	MinJump          = 0.2  // smallest jump, in log units
	MinJumpDeviation = 0.02 // least standard deviation, in log units
)

// Jump returns the residual of a row, relative to the model with the smallest errors, and the standard deviation of the stored
// residuals of this model. isJump reports that the residual is far above all of these, both in log units and divided by
// TreeScale. With fewer than minJumpResiduals residuals, the deviation is 0.
func (x *Experts) Jump(p *Point, log float64) (residual, deviation float64, isJump bool) {
	model := x.bestModel()
	residual = log - p.Level[model]
	sorted, scaled := x.sorted(model*distributionCount+allRows), x.sorted(model*distributionCount+treeScaled)
	if sorted.len() < minJumpResiduals {
		return residual, 0, false
	}
	deviation = spreadOf(&sorted)
	isJump = residual > max(MinJump, jumpBound(&sorted, deviation)) && residual/p.Scale[TreeScale] > jumpBound(&scaled, spreadOf(&scaled))
	return residual, deviation, isJump
}

func spreadOf(sorted *ascending) float64 {
	n := sorted.len()
	return max(MinJumpDeviation, InterquartileDeviation(sorted.at(n/4), sorted.at(n*3/4)))
}

func jumpBound(sorted *ascending, deviation float64) float64 {
	return max(JumpDeviations*deviation, JumpRatio*sorted.at(sorted.len()-1))
}

// ShiftLevel adds a number, which depends on the log peak, to the log peak and the predictions of each stored row, after the
// task has reached a new level. The log residuals do not change. MaxPeak moves by the number for the largest peak, and the costs
// by the mean of the numbers. The result is this mean or, if no row is stored yet, the number for the largest peak.
func (x *Experts) ShiftLevel(shift func(log float64) float64) (mean float64) {
	n := 0.0
	for _, rows := range [...][]Entry{x.Rows, x.LowOutliers} {
		for i := range rows {
			log := shift(rows[i].Log)
			n++
			mean += (log - mean) / n
			rows[i].Log += log
			for k := range rows[i].Point.Level {
				rows[i].Point.Level[k] += log
			}
		}
	}
	atMax := shift(math.Log(x.MaxPeak))
	if n == 0 {
		mean = atMax
	}
	x.MaxPeak *= math.Exp(atMax)
	factor := math.Exp(mean)
	x.UsageSum *= factor
	for e := range x.Cost {
		x.Cost[e] *= factor
	}
	for i := range x.Repeats {
		for k := range x.Repeats[i].Cost {
			x.Repeats[i].Cost[k] *= factor
		}
	}
	x.Rebuild(x.config)
	return mean
}

// ShiftLevel adds a number to the predicted log peaks of p, and moves MinAmount and the peak of Repeats by the same factor. It
// does not change ColdStart and Cold.
func (p *Point) ShiftLevel(log float64) {
	for k := range p.Level {
		p.Level[k] += log
	}
	factor := math.Exp(log)
	p.MinAmount *= factor
	p.Repeats.Peak *= factor
}
