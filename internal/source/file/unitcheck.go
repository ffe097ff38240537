package file

import "github.com/loadaware/loadaware/internal/sizing"

const (
	// maxCheckedRows limits the rows of a CSV that UnitCheck counts.
	maxCheckedRows = 10_000
	// minSmallPeaks is the number of peaks below 1 MiB from which a file of at least maxCheckedRows rows counts as being in
	// another unit. In a shorter file, one is enough.
	minSmallPeaks = 8
)

// UnitCheck decides whether the peaks of a CSV are in a unit larger than bytes. It assumes so if all peaks of the first
// maxCheckedRows rows are below 1 MiB, because no container of a task needs so little.
type UnitCheck struct {
	decided bool
	rows    int // number of rows until the decision
	peaks   int // number of rows with a peak, all below 1 MiB; 0 once the file is accepted
}

// NewUnitCheck returns the check of a file. The check accepts the file at once if the layout names the unit, or if the
// file has JSON lines: their amounts are in bytes or have a unit, as in POST /observe.
func NewUnitCheck(layout *Layout, in *Reader) UnitCheck {
	return UnitCheck{decided: layout.Unit != "" || !in.IsCSV()}
}

// Add adds a row and reports whether the rows so far decide the check.
func (u *UnitCheck) Add(o *sizing.Observation) bool {
	if u.decided {
		return true
	}
	u.rows++
	switch peak := max(o.MemoryMax, o.MemorySampled); {
	case peak >= sizing.MiB:
		u.decided, u.peaks = true, 0
	case peak > 0:
		u.peaks++
	}
	u.decided = u.decided || u.rows >= maxCheckedRows
	if u.decided && u.peaks < minSmallPeaks {
		u.peaks = 0
	}
	return u.decided
}

// SmallPeaks returns the number of counted rows with a peak if their peaks are in another unit than bytes, otherwise 0. The
// result is valid once Add has returned true, or after the last row.
func (u *UnitCheck) SmallPeaks() int { return u.peaks }
