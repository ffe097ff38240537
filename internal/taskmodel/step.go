package taskmodel

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/loadaware/loadaware/internal/sizing"
)

// step is a number from which on the peaks are clearly larger or smaller, for example because a program uses another algorithm
// for large inputs. Trees see half of the rows each and need five in a leaf, so they find a step when about ten rows are beyond
// it. The line has additional columns for the step once three rows are beyond it. The step is a structural change at an unknown
// point (Andrews 1993).
type step struct {
	From    float64 `cbor:",omitzero"` // smallest number beyond the step
	Columns int     `cbor:",omitzero"` // columns of the line: 0: there is no step; 1: whether the number is beyond it; 2: also how far
}

const (
	maxStepRows    = 2000 // newest rows in which a step is searched; with more, a fit takes longer
	minStepRows    = 3    // smallest number of rows on each side of a step
	minSlopeRows   = 5    // smallest number of rows on each side with which the log peak has different slopes on the two sides
	minStepSize    = 0.4  // smallest step of the log peak; smaller ones cost little until the trees find them
	minStepShare   = 0.3  // share of the squared errors that a step must explain
	stepProb       = 1e-6 // p-value below which there is a step; low, because all positions in all numbers are tested
	stepNeighbours = 8    // largest number of rows on each side that are compared with those on the other side
	minAbruptShare = 0.7  // share of the step by which these rows must differ
	minUnexplained = 1e-6 // share of a column that other columns must leave unexplained, so that its coefficient is reliable
)

// stepPoint is a row in the search for a step.
type stepPoint struct {
	x, y float64 // the number; the log peak without the effects of the other features
	at   int     // position in the order of time
}

// foundStep is a possible step in feature j.
type foundStep struct {
	j    int
	from float64
	size float64 // of the log peak
	rows int     // number of rows on the side with fewer rows
	prob float64 // p-value
}

// findStep sets the step with the lowest p-value, and fits the trend of the peaks again. It reports whether there is a step.
// The line must then be fitted again.
func (m *models) findStep(rows []row) bool {
	if m.Enc.KeepLine != nil {
		return false // the screened columns were chosen without the step
	}
	best := foundStep{prob: stepProb}
	for j, points := range m.stepPoints(rows[max(0, len(rows)-maxStepRows):]) {
		if s := findStep(points, &m.Enc.Columns[j]); s.prob < best.prob {
			best = s
			best.j = j
		}
	}
	if best.rows == 0 {
		return false
	}
	m.Enc.Columns[best.j].Step = step{From: best.from, Columns: 1 + boolToInt(best.rows >= minSlopeRows)}
	m.Enc.resetStatistics()
	m.Enc.countColumns()
	m.fitTrendBeyond(rows, &best)
	return true
}

// stepPoints returns the points of each number, by index in the schema. The line predicts the effects of the other features.
// Peaks that winsorise raised count with their measured values: the models that raised them may lack the step.
func (m *models) stepPoints(rows []row) [][]stepPoint {
	points := make([][]stepPoint, len(m.Enc.Columns))
	ridge := m.ridges[logPeak]
	coefficients := ridge.Coefficients()
	var x, tree []float64
	for i := range rows {
		x, tree = m.Enc.encode(rows[i].Cells, x[:0], tree[:0])
		err := math.Log(rows[i].measured()) - ridge.Predict(x)
		at := 0
		for j := range m.Enc.Columns {
			c, v := &m.Enc.Columns[j], &rows[i].Cells[j]
			if c.Kind == sizing.Number && v.Kind == sizing.Number {
				own := coefficients[at] * x[at]
				if c.WithLog {
					own += coefficients[at+1] * x[at+1]
				}
				if points[j] == nil {
					points[j] = make([]stepPoint, 0, len(rows))
				}
				points[j] = append(points[j], stepPoint{x: v.Num, y: err + own, at: i})
			}
			width, _ := c.widths()
			at += width
		}
	}
	return points
}

// findStep returns the most probable step in the number c. Its prob is 1 if there is none.
func findStep(points []stepPoint, c *column) foundStep {
	none := foundStep{prob: 1}
	if len(points) < 4*minStepRows {
		return none
	}
	slices.SortFunc(points, func(a, b stepPoint) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.at, b.at)) })
	f := newSmoothFit(points, c)
	first, size, gain := f.bestStep(points)
	if gain < minStepShare*f.squares || math.Abs(size) < minStepSize || !f.isAbrupt(first, size) || isChangeInTime(points, first) {
		return none
	}
	freedom := float64(len(points) - 4)
	t := math.Sqrt(gain / max(f.squares-gain, math.SmallestNonzeroFloat64) * freedom)
	s := foundStep{from: points[first].x, size: size, rows: min(first, len(points)-first)}
	s.prob = 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Survival(t)
	if size > 0 { // no row shows on which side the numbers in between are; the side with the larger peaks causes no kills
		s.from = math.Nextafter(points[first-1].x, math.Inf(1))
	}
	return s
}

// smoothFit is the regression of the log peak on 1, a number and its logarithm.
type smoothFit struct {
	basis   [][3]float64 // by point: orthonormal functions of the number with the same span as the inputs
	errs    []float64    // by point
	squares float64      // sum of the squared errors
}

func newSmoothFit(points []stepPoint, c *column) *smoothFit {
	f := &smoothFit{basis: make([][3]float64, len(points)), errs: make([]float64, len(points))}
	largest := math.SmallestNonzeroFloat64
	for _, p := range points {
		largest = max(largest, math.Abs(p.x))
	}
	for i, p := range points {
		f.basis[i] = [3]float64{1, p.x / largest, 0}
		if c.WithLog {
			f.basis[i][2] = c.logOf(p.x)
		}
		f.errs[i] = p.y
	}
	for k := range 3 { // modified Gram–Schmidt
		before := f.product(k, k)
		for j := range k {
			f.subtract(k, j, f.product(k, j))
		}
		squares := f.product(k, k)
		scale := 0.0 // an input that the others explain is left out
		if squares > minUnexplained*before {
			scale = 1 / math.Sqrt(squares)
		}
		for i := range f.basis {
			f.basis[i][k] *= scale
		}
	}
	for k := range 3 {
		sum := 0.0
		for i, e := range f.errs {
			sum += e * f.basis[i][k]
		}
		for i := range f.errs {
			f.errs[i] -= sum * f.basis[i][k]
		}
	}
	for _, e := range f.errs {
		f.squares += e * e
	}
	return f
}

func (f *smoothFit) product(j, k int) (sum float64) {
	for i := range f.basis {
		sum += f.basis[i][j] * f.basis[i][k]
	}
	return sum
}

func (f *smoothFit) subtract(from, j int, factor float64) {
	for i := range f.basis {
		f.basis[i][from] -= factor * f.basis[i][j]
	}
}

// bestStep returns the index of the first point beyond the step that reduces the squared errors most, the size of the step,
// and the reduction. An indicator of the points beyond the step joins the regression (theorem of Frisch, Waugh & Lovell).
func (f *smoothFit) bestStep(points []stepPoint) (first int, size, gain float64) {
	var basis [3]float64 // sums over the points from i on
	errs := 0.0
	for i := len(points) - 1; i >= minStepRows; i-- {
		for k := range basis {
			basis[k] += f.basis[i][k]
		}
		errs += f.errs[i]
		n := float64(len(points) - i)
		if n < minStepRows || points[i].x == points[i-1].x || isRemoteGap(points[i-1].x, points[i].x) {
			continue
		}
		squares := n - dot(basis, basis) // of the part of the indicator that the basis does not explain
		if squares > minUnexplained*n && errs*errs/squares > gain {
			first, size, gain = i, errs/squares, errs*errs/squares
		}
	}
	return first, size, gain
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

// isRemoteGap reports whether `high` is more than eleven times as large as `low`, the next smaller number. Then `high` may be
// remote (see remoteNumber), and bestStep considers no step between them.
func isRemoteGap(low, high float64) bool { return low > 0 && high > (1+implausibleFactor)*low }

// isAbrupt reports whether most of the nearest points on the two sides differ by nearly the size of the step, apart from
// the slopes of the regression with the step. Along a smooth curve they differ little. Quartiles keep an outlier from deciding.
func (f *smoothFit) isAbrupt(first int, size float64) bool {
	var basis [3]float64 // sums over the points beyond the step
	for _, b := range f.basis[first:] {
		for k := range basis {
			basis[k] += b[k]
		}
	}
	sorted := func(from, to int) (errs []float64) {
		for i := from; i < to; i++ {
			errs = append(errs, (f.errs[i]+size*dot(f.basis[i], basis))*math.Copysign(1, size))
		}
		slices.Sort(errs)
		return errs
	}
	before, beyond := sorted(max(0, first-stepNeighbours), first), sorted(first, min(len(f.errs), first+stepNeighbours))
	return beyond[len(beyond)/4]-before[len(before)-1-len(before)/4] > minAbruptShare*math.Abs(size)
}

// isChangeInTime reports whether all points on one side are newer than those on the other. Then the number may count time, and
// the peaks may have changed at that time for another reason.
func isChangeInTime(points []stepPoint, first int) bool {
	byTime := func(a, b stepPoint) int { return cmp.Compare(a.at, b.at) }
	before, beyond := points[:first], points[first:]
	return slices.MaxFunc(before, byTime).at < slices.MinFunc(beyond, byTime).at ||
		slices.MaxFunc(beyond, byTime).at < slices.MinFunc(before, byTime).at
}

// fitTrendBeyond fits the trends of the peaks as if all runs were beyond the step. Otherwise the step would distort the slope, and
// with it the peaks that the trend predicts above the known range.
func (m *models) fitTrendBeyond(rows []row, s *foundStep) {
	var moved []row
	var y []float64
	for i := range rows {
		r := rows[i]
		if r.Isolated {
			continue
		}
		if v := &r.Cells[s.j]; v.Kind != sizing.Number || v.Num < s.from {
			r.Peak *= math.Exp(s.size)
		}
		moved, y = append(moved, r), append(y, math.Log(r.Peak))
	}
	m.PeakTrend.fit(moved, y)
	m.ValueTrends = valueTrends{}
	m.fitValueTrends(moved)
}

// beyondStep returns 1 and the distance from the step for a number beyond the step; otherwise, and for a missing number, 0 and 0.
func (c *column) beyondStep(v sizing.Value) (beyond, distance float64) {
	switch {
	case v.Kind == sizing.Missing || v.Num < c.Step.From:
		return 0, 0
	case c.WithLog:
		return 1, c.logOf(v.Num) - c.logOf(c.Step.From)
	}
	return 1, v.Num - c.Step.From
}

func (m *models) hasStep() bool {
	return slices.ContainsFunc(m.Enc.Columns, func(c column) bool { return c.Step.Columns > 0 })
}
