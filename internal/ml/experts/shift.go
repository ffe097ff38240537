package experts

import "math"

// Shift watches honest residuals for a change of the task: a two-sided CUSUM (Page
// 1954). Each side adds up by how much standardised residuals exceed an allowance,
// never below zero; where one passes a bound, the task changed when that side last
// left zero.
type Shift struct {
	Up, Down         float64
	UpRows, DownRows int // since the side left zero

	Fell    bool `cbor:",omitzero"` // the last change was downward
	Since   int  `cbor:",omitzero"` // rows since that change was found
	Returns int  `cbor:",omitzero"` // changes downward that one upward followed, up to returnsAtMost
}

const (
	shiftAllowance = 1   // deviations that residuals may be off without a change
	shiftBound     = 40  // deviations, added up
	shiftMost      = 3.0 // deviations that one residual counts: an outlier is no change
	shiftKeep      = 60  // rows kept at least: what adapts row by row is not off for long
	shiftFrom      = 40  // residuals before a deviation is known
	shiftShare     = 2   // a level that held for so many rows is given up after one row below it …
	shiftReturn    = 20  // deviations, added up, that show a return after a change downward
	returnsAtMost  = 3
	shiftPatience  = 128 // … and after so many rows, however long it held
)

// learn adds one standardised residual and returns how many rows ago the task
// changed; 0 if it did not. A change downward needs more than patience rows: a low mode
// that ends is a kill for every run that follows, one that lasts is only waste.
func (s *Shift) learn(z float64, patience int) int {
	z = max(-shiftMost, min(shiftMost, z))
	s.Up, s.UpRows = side(s.Up, s.UpRows, z)
	s.Down, s.DownRows = side(s.Down, s.DownRows, -z)
	s.Down = min(s.Down, shiftBound+shiftMost)
	rows := 0
	if s.Fell {
		s.Since++
	}
	if s.Fell && s.Up > shiftReturn {
		s.Fell, s.Returns = false, min(s.Returns+1, returnsAtMost)
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

// patience is how many rows a level must be fallen before it is given up. It grows by a
// factor of four with each return of the old level: then the low one is a mode of the task.
func (x *Experts) patience() int {
	return min(x.Told/shiftShare, shiftPatience) << (2 * x.Shift.Returns)
}

func side(sum float64, rows int, z float64) (float64, int) {
	if sum += z - shiftAllowance; sum <= 0 {
		return 0, 0
	}
	return sum, rows + 1
}

// watch looks for a change in the newest honest residual.
func (x *Experts) watch(residual float64) int {
	w := x.windows[LineTrees*spreads+byAll]
	n := len(w)
	if n < shiftFrom {
		return 0
	}
	deviation := (w[n*3/4] - w[n/4]) / 1.349 // of a normal with these quartiles
	center := w[n/2]
	if residual > center && x.JustFell() {
		center = max(center, min(residual, 0)) // the models follow the fall: that is no rise
	}
	rows := x.Shift.learn((residual-center)/math.Max(deviation, 0.01), x.patience())
	if rows > 0 {
		x.changed(rows)
	}
	return rows
}

// changed forgets what was seen before the newest rows: their few residuals give
// wide margins, until there are more.
func (x *Experts) changed(rows int) {
	rows = max(rows, shiftKeep)
	newest := make([]Entry, 0, rows)
	low := x.Low
	if !x.Shift.Fell {
		low = nil
	}
	for i := max(0, len(x.Ledger)+len(low)-rows); i < len(x.Ledger); i++ {
		newest = append(newest, x.Ledger[(x.At+i)%len(x.Ledger)])
	}
	newest = append(newest, low[max(0, len(low)-rows):]...)
	x.Ledger, x.At, x.Low = newest, 0, nil
	x.Rebuild(x.config)
	for e := range Count {
		x.Cost[e] *= x.config.Stale
		x.Kills[e] *= x.config.Stale
	}
	x.Rows *= x.config.Stale
}
