package experts

import "math"

// Shift detects a change of the task in out-of-sample residuals with a two-sided CUSUM
// (Page 1954). Each side sums how far standardised residuals exceed an allowance, and never
// falls below zero. If a sum passes a bound, the task changed when that sum was last zero.
type Shift struct {
	Up, Down         float64 // sums of positive and of negative residuals beyond the allowance
	UpRows, DownRows int     // rows since Up or Down was zero

	Fell          bool `cbor:",omitzero"`      // the last change was downward
	RowsSinceFall int  `cbor:"Since,omitzero"` // rows since the downward change was detected; counts only while Fell
	Returns       int  `cbor:",omitzero"`      // downward changes that were followed by an upward change, up to maxReturns
}

const (
	shiftAllowance    = 1   // standard deviations to subtract from every residual
	shiftBound        = 40  // sum of standard deviations that shows a change
	maxShiftResidual  = 3.0 // standard deviations at which residuals are clipped, so that an outlier is not a change
	minRowsKept       = 60  // least number of rows to keep after a change: models that adapt with every row follow it soon
	minShiftResiduals = 40  // residuals needed to estimate the deviation
	returnBound       = 20  // sum of standard deviations that shows a return after a downward change
	maxReturns        = 3
	patienceShare     = 2   // a downward change needs 1/patienceShare of the rows of the old level …
	maxPatience       = 128 // … but no more than these rows
)

// update adds one standardised residual and returns how many rows ago the task changed, or
// 0. A downward change needs more than patience rows: the end of a temporary low level
// kills every run that follows, while a permanent one only wastes memory until then.
func (s *Shift) update(z float64, patience int) int {
	z = max(-maxShiftResidual, min(maxShiftResidual, z))
	s.Up, s.UpRows = updateSum(s.Up, s.UpRows, z)
	s.Down, s.DownRows = updateSum(s.Down, s.DownRows, -z)
	s.Down = min(s.Down, shiftBound+maxShiftResidual)
	rows := 0
	if s.Fell {
		s.RowsSinceFall++
	}
	if s.Fell && s.Up > returnBound {
		s.Fell, s.Returns = false, min(s.Returns+1, maxReturns)
	}
	if s.Up > shiftBound {
		rows = s.UpRows
	}
	if s.Down > shiftBound && s.DownRows > patience {
		rows, s.Fell = s.DownRows, true
	}
	if rows > 0 {
		*s = Shift{Fell: s.Fell, Returns: s.Returns}
	}
	return rows
}

// patience returns how many rows a lower level must last before it replaces the old one.
// Every return of the old level quadruples it: the low level is then a mode of the task.
func (x *Experts) patience() int {
	return min(x.LearnedRows/patienceShare, maxPatience) << (2 * x.Shift.Returns)
}

// updateSum adds a residual to one CUSUM and counts the rows since the sum was zero.
func updateSum(sum float64, rows int, z float64) (float64, int) {
	if sum += z - shiftAllowance; sum <= 0 {
		return 0, 0
	}
	return sum, rows + 1
}

// detectShift adds the newest out-of-sample residual to the change detection and returns
// how many rows ago the task changed, or 0.
func (x *Experts) detectShift(residual float64) int {
	sorted := x.sorted(LineTrees*distributionCount + allRows)
	n := sorted.len()
	if n < minShiftResiduals || x.ignoresShifts {
		return 0
	}
	deviation := (sorted.at(n*3/4) - sorted.at(n/4)) / 1.349 // interquartile range of a standard normal
	center := sorted.at(n / 2)
	if residual > center && x.RecentlyFell() {
		center = max(center, min(residual, 0)) // the models adapt to the lower level: this is not a rise
	}
	rows := x.Shift.update((residual-center)/math.Max(deviation, 0.01), x.patience())
	if rows > 0 {
		x.discardBefore(rows)
	}
	return rows
}

// discardBefore removes all but the newest rows from the residual store and discounts earlier costs.
// The few remaining residuals give wide margins until there are more. After a fall, the low
// outliers move to the residual store, because they belong to the new level.
func (x *Experts) discardBefore(rows int) {
	rows = max(rows, minRowsKept)
	newest := make([]Entry, 0, rows)
	low := x.LowOutliers
	if !x.Shift.Fell {
		low = nil
	}
	for i := max(0, len(x.Rows)+len(low)-rows); i < len(x.Rows); i++ {
		newest = append(newest, x.Rows[(x.At+i)%len(x.Rows)])
	}
	newest = append(newest, low[max(0, len(low)-rows):]...)
	x.Rows, x.At, x.LowOutliers = newest, 0, nil
	x.Rebuild(x.config)
	for e := range Count {
		x.Cost[e] *= x.config.ChangeDiscount
		x.Kills[e] *= x.config.ChangeDiscount
	}
	x.ChargedRows *= x.config.ChangeDiscount
}
