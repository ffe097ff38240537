package experts

import "math"

const (
	minLowResiduals  = 40   // number of residuals that suffices to estimate their deviation
	rowsAfterFall    = 200  // for this many rows after the detection of a fall, stored predictions may be of the level before the fall
	lowDeviations    = 5    // a residual below min(upper quartile, 0) − lowDeviations · standard deviation is a low outlier
	minLowDeviation  = 0.02 // least standard deviation, in log units
	quantileDistance = 0.97 // distance between the quantiles 0.75 and 0.95 of a standard normal distribution
	maxLowOutliers   = 128  // length to which the list of low outliers is cut when it is more than a quarter longer; the newest ones stay
	smoothingRows    = 10   // rows on either side over which MoveResiduals averages
)

// LowOutlierBound returns the residual of LineTrees below which a row is a low outlier. The
// bound is based on the quantiles 0.75 and 0.95, so that a low mode of up to half of the rows
// changes it little. It is always negative: a row at its prediction is not an outlier. It
// is -Inf while there are too few residuals, and after a recent fall.
func (x *Experts) LowOutlierBound() float64 {
	sorted := x.sorted(LineTrees*distributionCount + allRows)
	n := sorted.len()
	if n < minLowResiduals || x.RecentlyFell() {
		return math.Inf(-1)
	}
	quartile := sorted.at(n * 3 / 4)
	deviation := (sorted.at(n*95/100) - quartile) / quantileDistance
	return min(quartile, 0) - lowDeviations*max(deviation, minLowDeviation)
}

// RecentlyFell reports whether a fall of the task's level was detected so recently that predictions in the residual
// store may be of the level before the fall.
func (x *Experts) RecentlyFell() bool { return x.Shift.Fell && x.Shift.RowsSinceFall < rowsAfterFall }

// MoveResiduals lowers the predictions in the residual store to those of retrained models, after a fall. The store then has
// only rows of the lower level (see discardBefore), but their predictions are from models that had learned the higher one.
// The function `levels` identifies a row by its residual of LineTrees and returns the predictions of the retrained models, or
// nil for an unknown row. MoveResiduals raises no prediction. Each change is averaged over smoothingRows rows on either
// side, so that the residuals keep their out-of-sample noise. MoveResiduals returns the residuals of LineTrees before and
// after the move, oldest row first.
func (x *Experts) MoveResiduals(levels func(residual float64) *Point) (before, after []float64) {
	n := len(x.Rows)
	change := make([][ModelCount]float64, n)
	known := make([]bool, n)
	for i := range n {
		e := &x.Rows[(x.At+i)%n]
		if to := levels(e.residual()); to != nil {
			known[i] = true
			for k := range change[i] {
				change[i][k] = to.Level[k] - e.Point.Level[k]
			}
		}
	}
	for i := range n {
		sum, rows := [ModelCount]float64{}, 0.0
		for j := max(0, i-smoothingRows); j <= min(n-1, i+smoothingRows); j++ {
			if known[j] {
				rows++
				for k := range sum {
					sum[k] += change[j][k]
				}
			}
		}
		e := &x.Rows[(x.At+i)%n]
		before = append(before, e.residual())
		for k := range sum {
			e.Point.Level[k] += min(0, sum[k]/max(1, rows))
		}
		after = append(after, e.residual())
	}
	x.Rebuild(x.config)
	return before, after
}

// storeRow appends a row to the residual store, or to LowOutliers if it is a low outlier. In the residual store, many
// low outliers could be nearest in predicted level to a row with a high peak, and make the margin of this row too narrow.
func (x *Experts) storeRow(e Entry) {
	if e.residual() >= x.LowOutlierBound() {
		x.appendRow(e)
		return
	}
	if x.LowOutliers = append(x.LowOutliers, e); len(x.LowOutliers) > maxLowOutliers+maxLowOutliers/4 {
		x.LowOutliers = append([]Entry(nil), x.LowOutliers[len(x.LowOutliers)-maxLowOutliers:]...)
	}
}
