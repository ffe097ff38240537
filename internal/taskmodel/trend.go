package taskmodel

import (
	"cmp"
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/bayes"
	"github.com/loadaware/loadaware/internal/sizing"
)

// trend extrapolates the peak outside the range of the inputs. Two functions are fitted by least squares, and trend uses
// the function with the smaller squared errors of the log peak:
//
//	power    log peak = a + Σ b·log(1+x/u), for x below zero −log(1−x/u); u is the log offset of the input, see logOffsetOf
//	linear       peak = a + Σ b·x, with relative errors
//
// Neither trees nor the ridge regression can extrapolate: trees are constant outside the data, and
// the ridge regression mixes x with log x. An input of the trend is a number of the schema, an encoded pair of dates or numbers,
// or a number in a text. The index of a number is that of its field. The index of Pairs[k] is ^k, and that of Texts[k] is
// ^(len(Pairs)+k).
type trend struct {
	Ranges []interval `cbor:"Seen"`       // ranges of the fields, by index in the schema
	Slopes []slope    `cbor:",omitempty"` // of the inputs with a reliable slope; none: the data support no trend
	Base   float64    `cbor:",omitzero"`  // a
	Linear bool       `cbor:",omitzero"`  // the linear function is the better one

	// Highest is the largest prediction for a learned row; 0: unknown, as in models of earlier releases. See jointExcess.
	Highest float64 `cbor:",omitzero"`

	ConvexSlope float64 `cbor:"Steeper,omitzero"` // see convexSlope; at most 1: not convex, 0: unknown

	Pairs []inputPair `cbor:",omitempty"` // the pairs of encoder.Pairs

	Texts []textInput `cbor:",omitempty"`

	Units []float64 `cbor:",omitempty"` // log offsets by input, the units in log(1 + x/unit), in ascending order of the indices; see logOffsetOf

	// Negative lists the fields whose numbers were never positive at the last fit. Their inputs are the magnitudes, because a peak
	// grows with the distance from zero.
	Negative []int `cbor:",omitempty"`

	Remote []remoteNumber `cbor:"RemoteRuns,omitempty"` // in few rows, far above the ranges

	EarlierRemote []earlierRemote `cbor:"Remote,omitempty"` // only set while a blob of an earlier release is decoded

	// Refuted lists the inputs in which a run since the last fit had a very large number, although its peak was usual; see
	// refute.
	Refuted []int `cbor:",omitempty"`
}

// interval is the range of the values of an input in learned rows.
type interval struct {
	_         struct{} `cbor:",toarray"`
	Low, High float64
	Rows      int     // number of rows with a value
	Share     float64 // share of the variance of the log peak that the input alone explained at the last fit, as an upper bound; see likelyShare
}

// slope is one coefficient of the trend.
type slope struct {
	_        struct{} `cbor:",toarray"`
	Field    int      // index of the input
	Slope    float64  // b
	Relative float64  // standard error of b divided by |b|
}

// With a smaller minRelevantShare, inputs with less influence are reported as outside their range. With a smaller
// minExplainedShare or a larger maxSlopeError, less certain trends extrapolate the peak.
const (
	minKnownRows      = 3    // with at least this number of rows that have an input, a value outside its range is reported
	minTrendRows      = 10   // smallest number of rows with which there is a trend, and with which a prediction outside the range is corrected
	maxTrendInputs    = 8    // largest number of inputs of the trend
	minRelevantShare  = 0.05 // share of the variance of the log peak from which an input is relevant
	minWidthShare     = 0.5  // smallest width of a range that shows the effect of the input at a distance from the range, as a share of this distance
	minExplainedShare = 0.2  // share of the variance of the log peak that the trend must explain
	maxSlopeError     = 0.2  // largest relative standard error of a reliable slope
	outsideFactor     = 1.25 // factor by which an input must be outside its range (see distance) to be reported as outside
	noRiskFactor      = 2.0  // factor from which on the answer promises no probability of a kill, because an input is too far outside its range
	trendMargin       = 0.1  // smallest margin of an extrapolation, as a share of the rise (the logarithm of the factor by which the trend raises the peak)
	jointMarginRate   = 0.2  // further margin, as a share of the rise, for each input above its range except one
)

// observe widens the ranges by a row, except by remote numbers, which it adds to t.Remote. If r is nil, all numbers widen the
// ranges: before the first fit, during a fit, which finds remote numbers later, and in the trends by value, which store none.
func (t *trend) observe(cells []sizing.Value, r *row) {
	for len(t.Ranges) < len(cells) {
		t.Ranges = append(t.Ranges, noInterval)
	}
	for j := t.firstInput(); j < len(cells); j++ {
		if x, known := t.value(j, cells); known && (r == nil || !t.addRemote(j, x, r)) {
			t.rangeOf(j).include(x)
		}
	}
	t.observeHighest(cells)
}

// distance returns the distance of an input from its range as a difference of logarithms: negative below the range, zero
// within it. It is also zero if the input is missing or its range covers fewer than minTrendRows rows.
func (t *trend) distance(j int, cells []sizing.Value) float64 {
	return t.distanceFrom(minTrendRows, j, cells)
}

func (t *trend) distanceFrom(minRows, j int, cells []sizing.Value) float64 {
	if j >= len(t.Ranges) {
		return 0
	}
	s := t.rangeOf(j)
	x, known := t.value(j, cells)
	if !known || s.Rows < minRows {
		return 0
	}
	return s.distance(x, t.logOffsetOf(j))
}

// isRelevant reports whether an input at a distance from its range may influence the peak. Values that differ little do not
// show that an input has no influence far outside their range.
func (t *trend) isRelevant(j int, distance float64) bool {
	return t.rangeOf(j).Share >= minRelevantShare || !t.isWide(j, distance)
}

// isWide reports whether the range is wide enough to show the effect of the input at a distance from the range.
func (t *trend) isWide(j int, distance float64) bool {
	s := t.rangeOf(j)
	return s.Low < s.High && (s.Low < 0 || s.width(t.logOffsetOf(j)) >= minWidthShare*math.Abs(distance))
}

// predict returns the log peak; NaN if a linear trend predicts a peak below zero. A missing input counts as the middle of
// its range.
func (t *trend) predict(cells []sizing.Value) float64 {
	sum := t.Base
	for _, s := range t.Slopes {
		sum += s.Slope * t.transform(s.Field, t.known(s.Field, cells))
	}
	return t.logOf(sum)
}

// known returns the value of an input or, if it is missing, the middle of its range.
func (t *trend) known(j int, cells []sizing.Value) float64 {
	if x, known := t.value(j, cells); known {
		return x
	}
	r := t.rangeOf(j)
	return (r.Low + r.High) / 2
}

func (t *trend) logOf(sum float64) float64 {
	if t.Linear {
		return math.Log(sum)
	}
	return sum
}

func (t *trend) transform(j int, x float64) float64 {
	if t.Linear {
		return x
	}
	return bayes.SignedLog(x, t.logOffsetOf(j))
}

func (t *trend) slopeOf(j int) *slope {
	for i := range t.Slopes {
		if t.Slopes[i].Field == j {
			return &t.Slopes[i]
		}
	}
	return nil
}

func (t *trend) fit(rows []row, y []float64) {
	t.Slopes, t.Base, t.Linear, t.ConvexSlope = nil, 0, false, 0
	fields, rows, y := t.jointInputs(t.candidates(rows, y), rows, y)
	if len(rows) < minTrendRows {
		return
	}
	best := math.Inf(1)
	for _, linear := range []bool{false, true} {
		line := *t
		line.Slopes, line.Linear = nil, linear
		if squares, ok := line.eliminate(fields, rows, y, best); ok && squares < best {
			best = squares
			t.Slopes, t.Base, t.Linear = line.Slopes, line.Base, linear
		}
	}
	if best > (1-minExplainedShare)*sumOfSquares(y) {
		t.Slopes = nil
	}
	t.ConvexSlope = t.convexSlope(rows, y)
}

type candidate struct {
	input    int
	known    int     // number of rows with the input
	strength float64 // share of the variance of y that it explains in these rows, times the share of these rows
}

// candidates returns the inputs that vary and whose logarithm correlates with y, the strongest first, without duplicates. It
// updates the Share of each range. The correlation and the Share come from the rows that have the input, so that one run without it
// does not end the extrapolation.
func (t *trend) candidates(rows []row, y []float64) []candidate {
	var found []candidate
	x := make([]float64, len(rows))
	for j := t.firstInput(); j < len(t.Ranges); j++ {
		s := t.rangeOf(j)
		s.Share = 0
		if s.Low >= s.High {
			continue
		}
		known := t.logInputs(j, rows, x)
		share := determination(x, y)
		if share > 0 {
			s.Share = share
		}
		if share > 0 && known >= minTrendRows {
			found = append(found, candidate{j, known, share * float64(known) / float64(len(rows))})
		}
		if s.Low < 0 {
			s.Share = max(s.Share, t.signedDetermination(j, rows, y, x))
		}
		s.Share = likelyShare(s.Share, known)
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.strength, a.strength), cmp.Compare(a.input, b.input))
	})
	return t.dropDuplicates(found, rows)
}

// likelyShare returns an upper bound of the share of the variance that an input explains: the square of the correlation one
// standard error above the estimated one, by Fisher's z-transformation. An estimate from few rows does not show that an input
// has no influence.
func likelyShare(share float64, rows int) float64 {
	if rows <= 3 {
		return 1
	}
	r := math.Tanh(math.Atanh(math.Sqrt(min(1, share))) + 1/math.Sqrt(float64(rows-3)))
	return r * r
}

// sumOfSquares returns the sum of squares about the mean of y.
func sumOfSquares(y []float64) float64 {
	mean, squares := 0.0, 0.0
	for i, v := range y {
		d := v - mean
		mean += d / float64(i+1)
		squares += d * (v - mean)
	}
	return squares
}

// determination returns the squared correlation over the elements where x and y are not NaN; zero if x or y is constant there.
func determination(x, y []float64) float64 {
	n, mx, my := 0.0, 0.0, 0.0
	for i := range x {
		if !math.IsNaN(x[i] + y[i]) {
			n++
		}
	}
	for i := range x {
		if !math.IsNaN(x[i] + y[i]) {
			mx, my = mx+x[i]/n, my+y[i]/n
		}
	}
	xx, xy, yy := 0.0, 0.0, 0.0
	for i := range x {
		if dx, dy := x[i]-mx, y[i]-my; !math.IsNaN(dx + dy) {
			xx, xy, yy = xx+dx*dx, xy+dx*dy, yy+dy*dy
		}
	}
	if xx == 0 || yy == 0 {
		return 0
	}
	return xy * xy / (xx * yy)
}
