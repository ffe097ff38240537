package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	remoteShare   = 16 // an input has at most one remote number, and one more for each 16 rows with the input
	maxRemote     = 32 // largest number of remote numbers of an input that a trend stores, the newest ones
	minNearRemote = 8  // smallest number of remote numbers near the value of a row for which the answer states a risk
	newestNear    = 3  // only this many of the newest remote numbers near the value of a row are considered; the one with the largest rise is used
)

// remoteNumber is a value of an input that is more than eleven times as large as all values that are not remote. Few rows have
// such a value, and most of them have a clearly larger peak than the rows with the next smaller values: for example full loads
// among many increments. Remote numbers do not widen the range of the input, because the ridge regression, the trees and the
// weights of the experts follow the many other rows, and are wrong in the gap and often also near the remote number. If an input
// is nearer to a remote number than to its range, the prediction for the row at the edge of the range is raised by the Rise of
// the remote number, and then changed along the trend from the remote number to the row. The margin grows with the distance
// from the remote number.
type remoteNumber struct {
	_     struct{} `cbor:",toarray"`
	Input int      // see trend
	Value float64
	Rise  float64 // log ratio of the peak of its row to the prediction for this row at the edge of the range
}

// separateRemote finds the remote numbers in rows, and narrows the ranges, which cover these rows, to the other numbers. The
// rises of the remote numbers are relative to predictions, which need the fitted models.
func (m *models) separateRemote(rows []row) {
	t := &m.PeakTrend
	logs := make([]float64, len(rows))
	var remote []int // row of each remote number
	for j := -len(t.Pairs); j < len(t.Ranges) && m.ridges != nil; j++ {
		s := t.rangeOf(j)
		if s.Low < 0 || s.Rows < minIsolatedRows {
			continue
		}
		t.logInputs(j, rows, logs)
		if !hasGap(logs) {
			continue
		}
		order := largestFirst(logs)
		k := countRemote(rows, logs, order)
		if k == 0 {
			continue
		}
		s.High, _ = t.value(j, rows[order[k]].Cells)
		found := order[:k]
		slices.Sort(found)
		for _, i := range found[max(0, k-maxRemote):] {
			x, _ := t.value(j, rows[i].Cells)
			t.Remote, remote = append(t.Remote, remoteNumber{Input: j, Value: x}), append(remote, i)
		}
	}
	for k, i := range remote {
		t.Remote[k].Rise = m.riseOf(&rows[i])
	}
}

// riseOf returns the log ratio of the peak of a row to the prediction for this row at the edge of the range.
func (m *models) riseOf(r *row) float64 {
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.groupOf = nil
	var edge experts.Point
	m.predictInRange(m.clampToRange(minTrendRows, r.Cells, nil), &edge, b)
	return math.Log(r.Peak) - edge.Level[experts.LineTrees]
}

// countRemote returns the number of rows with a remote number. logs holds the logarithm of the input, and order the rows with
// the input, the largest value first.
func countRemote(rows []row, logs []float64, order []int) int {
	for k := mostRemote(len(order)); k > 0 && k+nextRows <= len(order); k-- {
		if logs[order[k-1]]-logs[order[k]] > math.Log1p(implausibleFactor) && isLarger(medianPeak(rows, order[:k]), medianPeak(rows, order[k:k+nextRows])) {
			return k
		}
	}
	return 0
}

// mostRemote returns the largest number of remote numbers of an input that n rows have.
func mostRemote(n int) int { return 1 + n/remoteShare }

// addRemote adds x, a value of input j in a row learned since the last fit, to the remote numbers if it is far enough above the
// range, and reports whether it did. rise is that of the remote number; NaN: unknown, and x is not added. Only the next fit
// checks whether the peak of the row is clearly larger.
func (t *trend) addRemote(j int, x, rise float64) bool {
	s := t.rangeOf(j)
	if math.IsNaN(rise) || s.Rows < minIsolatedRows || s.Low < 0 || s.distance(x, t.logOffsetOf(j)) <= math.Log1p(implausibleFactor) {
		return false
	}
	stored := 0
	for _, r := range t.Remote {
		stored += boolToInt(r.Input == j)
	}
	if stored >= mostRemote(s.Rows) {
		return false
	}
	if stored >= maxRemote {
		oldest := slices.IndexFunc(t.Remote, func(r remoteNumber) bool { return r.Input == j })
		t.Remote = slices.Delete(t.Remote, oldest, oldest+1)
	}
	t.Remote = append(t.Remote, remoteNumber{Input: j, Value: x, Rise: rise})
	s.Rows++
	return true
}

// rangeWithRemote returns the range of an input, widened by its remote numbers.
func (t *trend) rangeWithRemote(j int) interval {
	s := *t.rangeOf(j)
	for _, r := range t.Remote {
		if r.Input == j {
			s.High = max(s.High, r.Value)
		}
	}
	return s
}

// hasManyRemoteNear reports whether enough rows have a remote number near that of a row, so that the residuals contain the
// errors of such predictions.
func (t *trend) hasManyRemoteNear(j int, cells []sizing.Value) bool {
	near := 0
	x, _ := t.value(j, cells)
	for i := range t.Remote {
		near += boolToInt(t.Remote[i].Input == j && t.logRatio(i, x) <= math.Log(noRiskFactor))
	}
	return near >= minNearRemote
}

// logRatio returns the magnitude of the log ratio of x and remote number i.
func (t *trend) logRatio(i int, x float64) float64 {
	offset := t.logOffsetOf(t.Remote[i].Input)
	return math.Abs(bayes.SignedLog(x, offset) - bayes.SignedLog(t.Remote[i].Value, offset))
}

// nearestRemote returns a copy of the row `edge`, which is `cells` with the inputs moved into their ranges, where each relevant
// input that is nearer to a remote number than to its range has this number. rise is the largest rise of these numbers. nearest
// is nil if there is no such input.
func (t *trend) nearestRemote(cells, edge []sizing.Value) (nearest []sizing.Value, rise float64) {
	rise = math.Inf(-1)
	for j := -len(t.Pairs); j < len(t.Ranges) && len(t.Remote) > 0; j++ {
		i := t.nearestRemoteOf(j, cells)
		if i < 0 || !t.isRelevant(j) && t.slopeOf(j) == nil {
			continue
		}
		if nearest == nil {
			nearest = slices.Clone(edge)
		}
		if rise = max(rise, t.Remote[i].Rise); j >= 0 {
			nearest[j].Num = t.Remote[i].Value
		} else {
			nearest[t.Pairs[^j].To].Num = nearest[t.Pairs[^j].From].Num + t.Remote[i].Value
		}
	}
	return nearest, rise
}

// isNearRemotePair reports whether a pair of a row is nearer to a remote number than to its range.
func (t *trend) isNearRemotePair(cells []sizing.Value) bool {
	for k := range t.Pairs {
		if t.nearestRemoteOf(^k, cells) >= 0 {
			return true
		}
	}
	return false
}

// nearestRemoteOf returns the index of a remote number of an input that is nearer to the value of a row than the range of the
// input is; −1: none. Of the newest such numbers within noRiskFactor of the value it selects the one with the largest rise. If
// none is within noRiskFactor, it selects the nearest one.
func (t *trend) nearestRemoteOf(j int, cells []sizing.Value) int {
	x, _ := t.value(j, cells)
	nearest, largest, near := -1, -1, 0
	least := t.distance(j, cells)
	for i := len(t.Remote) - 1; i >= 0; i-- {
		if t.Remote[i].Input != j {
			continue
		}
		ratio := t.logRatio(i, x)
		if ratio <= math.Log(noRiskFactor) && ratio < t.distance(j, cells) && near < newestNear {
			if near++; largest < 0 || t.Remote[i].Rise > t.Remote[largest].Rise {
				largest = i
			}
		}
		if ratio < least {
			least, nearest = ratio, i
		}
	}
	if largest >= 0 {
		return largest
	}
	return nearest
}
