package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/sizing"
)

const (
	remoteShare   = 16 // an input that n rows have has at most 1 + n/16 remote numbers
	maxRemote     = 32 // largest number of remote numbers of an input that a trend stores, the newest ones
	minNearRemote = 3  // smallest number of remote numbers near the value of a row for which the answer states a risk
	newestNear    = 3  // the grant is at least the largest peak of the newest newestNear runs with remote numbers near the value of a row
)

// remoteNumber is a value of an input that is more than eleven times as large as all values that are not remote. Few rows have
// such a value, and most of them have a clearly larger peak than the rows with the next smaller values: for example full loads
// among many increments. Remote numbers do not widen the range of the input, because the ridge regression, the trees and the
// weights of the experts follow the many other rows, and are wrong in the gap and often also near the remote number. If an
// input is nearer to a remote number than to its range, the runs with remote numbers predict the row; see remoteForecast.
type remoteNumber struct {
	_       struct{} `cbor:",toarray"`
	Input   int      // see trend
	Value   float64
	Peak    float64 // log peak of its row
	Seconds float64 // log1p of the seconds of its row; NaN: unknown
}

func remoteNumberOf(j int, x float64, r *row) remoteNumber {
	found := remoteNumber{Input: j, Value: x, Peak: math.Log(r.Peak), Seconds: math.NaN()}
	if !r.Untimed {
		found.Seconds = math.Log1p(r.Seconds)
	}
	return found
}

// earlierRemote is a remote number as earlier releases store it. Rise is relative to a prediction of their models.
type earlierRemote struct {
	_     struct{} `cbor:",toarray"`
	Input int
	Value float64
	Rise  float64
}

// migrateRemote converts the remote numbers of an earlier release. Until the next fit, the largest peak replaces the peaks of
// their rows.
func (m *models) migrateRemote() {
	t := &m.PeakTrend
	for _, r := range t.EarlierRemote {
		t.Remote = append(t.Remote, remoteNumber{Input: r.Input, Value: r.Value, Peak: m.High, Seconds: math.NaN()})
	}
	t.EarlierRemote = nil
}

// separateRemote finds the remote numbers in rows, and narrows the ranges, which cover these rows, to the other numbers.
func (t *trend) separateRemote(rows []row) {
	logs := make([]float64, len(rows))
	for j := t.firstInput(); j < len(t.Ranges); j++ {
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
			t.Remote = append(t.Remote, remoteNumberOf(j, x, &rows[i]))
		}
	}
}

// countRemote returns the number of remote numbers of an input. `logs` holds the logarithm of the input by row, and `order`
// the indices of the rows with the input, the largest value first.
func countRemote(rows []row, logs []float64, order []int) int {
	for k := mostRemote(len(order)); k > 0 && k+nextRows <= len(order); k-- {
		if logs[order[k-1]]-logs[order[k]] > math.Log1p(implausibleFactor) && isLarger(medianPeak(rows, order[:k]), medianPeak(rows, order[k:k+nextRows])) {
			return k
		}
	}
	return 0
}

func mostRemote(n int) int { return 1 + n/remoteShare }

// addRemote reports whether it added x, the value of input j in a row learned since the last fit. Only the next fit checks
// whether the peak of the row is clearly larger.
func (t *trend) addRemote(j int, x float64, r *row) bool {
	s := t.rangeOf(j)
	if s.Rows < minIsolatedRows || s.Low < 0 || s.distance(x, t.logOffsetOf(j)) <= math.Log1p(implausibleFactor) {
		return false
	}
	stored := 0
	for _, known := range t.Remote {
		stored += boolToInt(known.Input == j)
	}
	if stored >= mostRemote(s.Rows) {
		return false
	}
	if stored >= maxRemote {
		oldest := slices.IndexFunc(t.Remote, func(known remoteNumber) bool { return known.Input == j })
		t.Remote = slices.Delete(t.Remote, oldest, oldest+1)
	}
	t.Remote = append(t.Remote, remoteNumberOf(j, x, r))
	s.Rows++
	return true
}

func (t *trend) rangeWithRemote(j int) interval {
	s := *t.rangeOf(j)
	for _, r := range t.Remote {
		if r.Input == j {
			s.High = max(s.High, r.Value)
		}
	}
	return s
}

func (t *trend) longestRemote() (longest float64) {
	for _, r := range t.Remote {
		if !math.IsNaN(r.Seconds) {
			longest = max(longest, r.Seconds)
		}
	}
	return longest
}

// hasManyRemoteNear reports whether enough rows have a remote number near that of a row, so that their peaks show how much the
// peaks of such rows vary.
func (t *trend) hasManyRemoteNear(j int, cells []sizing.Value) bool {
	near := 0
	x, _ := t.value(j, cells)
	for i := range t.Remote {
		near += boolToInt(t.Remote[i].Input == j && t.isNear(i, x))
	}
	return near >= minNearRemote
}

func (t *trend) logRatio(i int, x float64) float64 {
	offset := t.logOffsetOf(t.Remote[i].Input)
	return math.Abs(bayes.SignedLog(x, offset) - bayes.SignedLog(t.Remote[i].Value, offset))
}

func (t *trend) isNear(i int, x float64) bool { return t.logRatio(i, x) <= math.Log(noRiskFactor) }

// isWithinRemote reports whether at least one relevant input of a row is above its range, none is above its range widened by
// its remote numbers, and none is below its range if its peak may grow without bound there (isUnboundedBelow). An input with
// a slope counts as relevant.
func (t *trend) isWithinRemote(cells []sizing.Value) (within bool) {
	for j := t.firstInput(); j < len(t.Ranges) && len(t.Remote) > 0; j++ {
		distance := t.distance(j, cells)
		if distance == 0 || !t.isRelevant(j, distance) && t.slopeOf(j) == nil {
			continue
		}
		if x, _ := t.value(j, cells); x > t.rangeWithRemote(j).High || distance < 0 && t.isUnboundedBelow(j, cells) {
			return false
		}
		within = within || distance > 0
	}
	return within
}

// nearestRemote returns a copy of the row `edge` in which each relevant input that is nearer to a remote number than to its
// range has the nearest such number; nil if there is no such input. `edge` is `cells` with the inputs moved into their
// ranges.
func (t *trend) nearestRemote(cells, edge []sizing.Value) (nearest []sizing.Value) {
	for j := t.firstInput(); j < len(t.Ranges) && len(t.Remote) > 0; j++ {
		i := t.nearestRemoteOf(j, cells)
		if i < 0 {
			continue
		}
		if nearest == nil {
			nearest = slices.Clone(edge)
		}
		t.setValue(j, nearest, t.Remote[i].Value)
	}
	return nearest
}

// nearestRemoteOf returns the index of the remote number of a relevant input that is nearest to the value of a row; −1 if the
// range of the input is nearer.
func (t *trend) nearestRemoteOf(j int, cells []sizing.Value) int {
	x, _ := t.value(j, cells)
	nearest, least := -1, t.distance(j, cells)
	if least <= 0 || !t.isRelevant(j, least) && t.slopeOf(j) == nil {
		return -1
	}
	for i := range t.Remote {
		if t.Remote[i].Input != j {
			continue
		}
		if ratio := t.logRatio(i, x); ratio < least {
			least, nearest = ratio, i
		}
	}
	return nearest
}
