package experts

import (
	"math"
	"slices"
)

// Shift detects a change of the task in out-of-sample residuals with a two-sided CUSUM
// (Page 1954). Its sum Up adds each standardised residual less an allowance, its sum Down each negated one less the
// allowance, and neither falls below zero. If a sum passes a bound, the task changed when that sum was last zero.
// A downward change, called a fall, must also last (see patience).
type Shift struct {
	Up, Down         float64 // in standard deviations
	UpRows, DownRows int     // number of rows since Up was last zero, and since Down was last zero

	Fell          bool  `cbor:",omitzero"`      // the last change was downward, and the task has not returned to the level before this change
	DownSince     int64 `cbor:",omitzero"`      // end of the first row in Down, in Unix seconds
	RowsSinceFall int   `cbor:"Since,omitzero"` // rows since the downward change was detected; update counts them only while Fell
	// Returns is the number of consecutive returns of the task from a lower level to the level before the fall, up to
	// maxReturns. A return counts if the higher level had lasted at least as long as the lower one, else Returns becomes 0.
	Returns  int `cbor:",omitzero"`
	Rows     int `cbor:",omitzero"` // rows since the last change
	HighRows int `cbor:",omitzero"` // rows between the last downward change and the change before it
}

const (
	shiftAllowance    = 1   // standard deviations by which a residual may differ from the median without adding to a sum
	shiftBound        = 40  // sum of standard deviations that shows a change
	maxShiftResidual  = 3.0 // standard deviations at which residuals are clipped, so that an outlier is not a change
	minShiftResiduals = 40  // number of residuals that suffices to estimate the deviation
	returnBound       = 20  // sum of standard deviations that shows a return to the level before a downward change
	maxReturns        = 3   // largest value of Shift.Returns
	minDownRows       = 10  // if Down contains at least this many rows, detectShift computes the median and the deviation without them

	// The constants below give the patience before the first return. Each counted return (Shift.Returns) multiplies its
	// numbers of rows and seconds by four; see Experts.patience.
	patienceShare = 2                // a downward change must last for more than 1/patienceShare of the independent rows (see independentRows)
	maxPatience   = 128              // largest number of rows that patienceShare can require
	lastingShare  = 4                // a downward change of at least minLasting seconds must last for more than 1/lastingShare of the independent rows
	maxLasting    = 32               // largest number of rows that lastingShare can require
	minLasting    = 4 * 24 * 60 * 60 // seconds: four days, longer than a weekend
)

// patience says how long a lower level must last before it replaces the old one: the number of rows at the lower level
// must be above `rows`, or above `lastingRows` if the rows at the lower level span at least the time `seconds`.
type patience struct {
	rows, lastingRows int
	seconds           int64
}

// update adds one standardised residual of a row that ended at a time in Unix seconds, and returns
// how many rows ago the task changed, or 0. A downward change must last as long as p says. After a temporary
// low level, grants for this level would be too small for the runs that follow. If the low level is permanent, the
// delay only wastes some memory.
func (s *Shift) update(z float64, at int64, p patience) int {
	z = max(-maxShiftResidual, min(maxShiftResidual, z))
	s.Up, s.UpRows = updateSum(s.Up, s.UpRows, z)
	s.Down, s.DownRows = updateSum(s.Down, s.DownRows, -z)
	s.Down = min(s.Down, shiftBound+maxShiftResidual)
	if s.DownRows == 1 {
		s.DownSince = at
	}
	rows := 0
	s.Rows++
	if s.Fell {
		s.RowsSinceFall++
	}
	if s.Fell && s.Up > returnBound {
		if s.Fell = false; s.Rows-s.UpRows > s.HighRows {
			s.Returns = 0 // the higher level is temporary, not the lower one
		} else {
			s.Returns = min(s.Returns+1, maxReturns)
		}
	}
	if s.Up > shiftBound {
		rows = s.UpRows
	}
	if lasts := s.DownRows > p.lastingRows && at-s.DownSince >= p.seconds; s.Down > shiftBound && (lasts || s.DownRows > p.rows) {
		rows, s.Fell, s.HighRows = s.DownRows, true, s.Rows-s.DownRows
	}
	if rows > 0 {
		*s = Shift{Fell: s.Fell, Returns: s.Returns, Rows: rows, HighRows: s.HighRows}
	}
	return rows
}

// patience quadruples its numbers with each counted return (Shift.Returns): the task then has this low level again
// and again.
func (x *Experts) patience() patience {
	returns := 2 * x.Shift.Returns
	return patience{
		rows:        min(x.independentRows()/patienceShare, maxPatience) << returns,
		lastingRows: min(x.independentRows()/lastingShare, maxLasting) << returns,
		seconds:     minLasting << returns,
	}
}

func updateSum(sum float64, rows int, z float64) (float64, int) {
	if sum += z - shiftAllowance; sum <= 0 {
		return 0, 0
	}
	return sum, rows + 1
}

// detectShift adds the newest out-of-sample residual, of a row that ended at a time in Unix seconds, to
// the change detection and returns how many rows ago the task changed, or 0. It discards the rows before a change, and the
// rows before the end of a series of errors.
func (x *Experts) detectShift(residual float64, at int64) int {
	sorted := x.sorted(LineTrees*distributionCount + allRows)
	n := sorted.len()
	if n < minShiftResiduals || x.ignoresShifts {
		return 0
	}
	median, deviation := sorted.at(n/2), InterquartileDeviation(sorted.at(n/4), sorted.at(n*3/4))
	if x.Shift.DownRows >= minDownRows {
		median, deviation = x.residualsBefore(x.Shift.DownRows, median, deviation)
	}
	center := median
	if residual > center && x.RecentlyFell() {
		center = max(center, min(residual, 0)) // while the models adapt to the lower level, residuals rise to 0, but the peaks do not rise
	}
	rows := x.Shift.update((residual-center)/math.Max(deviation, 0.01), at, x.patience())
	if rows == 0 {
		return 0
	}
	x.discardBefore(rows)
	if left := x.sorted(LineTrees*distributionCount + allRows); x.Shift.Fell && left.len() > 0 && left.at(left.len()/2) > -center/2 {
		// The median residual was about center before the fall. If center is positive, the models predicted too little then.
		// If the median is now above -center/2, the errors of the models are smaller than before. So a series of errors
		// has ended, and the task has not changed.
		x.Shift.Fell = false
		return 0
	}
	return rows
}

// InterquartileDeviation returns the standard deviation of a normal distribution with these quartiles.
func InterquartileDeviation(low, high float64) float64 { return (high - low) / 1.349 }

// residualsBefore returns the median and the deviation of the stored residuals without those of the newest rows; the
// argument `newest` is the number of these rows. The newest rows have a lower level, and the median would soon be at this
// level. If too few rows remain, residualsBefore returns its arguments `median` and `deviation`.
func (x *Experts) residualsBefore(newest int, median, deviation float64) (float64, float64) {
	n := len(x.Rows) - newest
	if n < minShiftResiduals {
		return median, deviation
	}
	before := make([]float64, n)
	for i := range before {
		before[i] = x.Rows[(x.At+i)%len(x.Rows)].residual()
	}
	slices.Sort(before)
	return before[n/2], InterquartileDeviation(before[n/4], before[n*3/4])
}

// discardBefore removes the rows before a change from the residual store: all except the newest ones, whose number is the
// argument `rows`. It discounts the costs and kills so far. The few remaining residuals give wide margins until there are
// more. After a fall, the low outliers (rows far below their prediction, which storeRow keeps out of the residual store)
// move to the residual store, because they belong to the new level. A single row of the old level would make a margin as
// wide as the fall. Such a row can stay only if storeRow shortened LowOutliers during the fall.
func (x *Experts) discardBefore(rows int) {
	low := x.LowOutliers
	if !x.Shift.Fell {
		low = nil
	}
	newest := make([]Entry, 0, rows)
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
	for i := range x.Repeats {
		x.Repeats[i].discount(x.config.ChangeDiscount)
	}
}
