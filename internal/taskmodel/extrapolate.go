package taskmodel

import (
	"math"
	"slices"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// extrapolation describes the inputs of one row that are outside their range. The range of an input is that of its values
// in learned rows, without remote numbers. The distances are those of trend.distanceFrom, in log units.
//
// tooLarge is true in three cases:
//
//  1. An input that counts as missing is above its range and is not a difference of dates.
//  2. isFar, and no trend rises.
//  3. An input with a rising slope is above its range and its remote numbers by more than implausibleFactor, and its range is
//     too narrow (isWide) to show the slope that far.
type extrapolation struct {
	outside       []int   // inputs that a reason names, by index (see trend): relevant and farther outside than outsideFactor, or implausible; with isJoint also all inputs of the trend
	noRisk        bool    // an input is, or several inputs together are, so far outside that no probability is stated
	isJoint       bool    // the inputs are outside their ranges together; see trend.jointExcess
	unknownRise   float64 // by how much the log peak rises if the peak grows in proportion to the relevant input that is farthest outside its range, with a margin; 0: no such input
	unshownRise   float64 // like unknownRise, but for large numbers without a slope whose range is too narrow to show their effect (isTooNarrow); 0 if the trend rises or remote numbers are larger
	trendRises    bool    // the trend predicts a higher peak than at the edge of the range
	riseFactor    float64 // rise above the edge of the range, as a factor: of the amount (scaleEdge), or of the peak that the trend predicts without ConvexSlope; 0: no rise
	isTooSteep    bool    // see trendChange.isTooFar
	capped        float64 // bound that limited the extrapolation, in bytes; 0: none
	implausible   bool    // an input is so far outside that it counts as missing
	isFar         bool    // a relevant number without a slope is above its range and its remote numbers by more than implausibleFactor, or above its only value by more than noRiskFactor
	tooLarge      bool    // the known runs do not show the effect of a large number; see the comment of extrapolation
	isCorrected   bool    // extrapolate corrected the prediction
	edgeAmount    float64 // answer at the edge of the range, in bytes; 0: unknown
	isRaised      bool    // the amount was raised to a minimum; see raiseToEdge and raiseToRemote
	aboveRange    int     // number of relevant inputs above their range that have a slope; at least 2 if isJoint
	jointDistance float64 // sum of the distances of the relevant inputs above their range that have a slope or are farther above it than outsideFactor, except inputs with many remote numbers near the value (hasManyRemoteNear)
	jointMargin   float64 // log margin for several inputs above their range at once
	runTimeRise   float64 // by how much the trend raises the log run time above that at the edge of the range
	edgeRunTime   float64 // by how much the log run time at the edge of the range is above that without a dropped large number; see raiseRunTimeToEdge
	runTimeMargin float64 // log margin of runTimeRise, or of the forecast of the run time from remote numbers
	mostAmount    float64 // largest amount in bytes, if the inputs outside their ranges are below remote numbers; 0: not bounded

	remote remoteForecast // if an input is nearer to a remote number than to its range
}

// extrapolate corrects p, the prediction for a row with inputs outside their range. If the data support a trend, extrapolate
// raises the prediction at the edge of the range along this trend, and adds a margin that grows with the distance. If a remote
// number is nearer than the edge, the runs with such numbers predict the row.
func (m *models) extrapolate(cells []sizing.Value, p *experts.Point, b *buffers) {
	signals := b.signals
	b.extrapolation.isCorrected = true
	b.atEdge = m.clampToRange(minTrendRows, cells, b.atEdge[:0])
	var edge experts.Point
	m.predictInRange(b.atEdge, &edge, b)
	most := m.maxLogPeak()
	if m.PeakTrend.isWithinRemote(cells) {
		most = min(most, m.High+math.Log(noRiskFactor))
		b.extrapolation.mostAmount = math.Exp(most)
	}
	if nearest := m.PeakTrend.nearestRemote(cells, b.atEdge); nearest != nil {
		b.extrapolation.remote = m.forecastRemote(cells, nearest)
		for k := range p.Level {
			p.Level[k] = b.extrapolation.remote.level + b.extrapolation.remote.margin
		}
	} else {
		m.raiseAlongTrend(cells, p, &edge, most, b)
	}
	m.extrapolateRunTime(cells, b.atEdge, p, &edge, b)
	if capLevels(p, most) && b.extrapolation.mostAmount == 0 {
		b.extrapolation.capped = math.Exp(most)
	}
	b.signals = signals
	b.line, b.tree = m.Enc.encode(cells, b.line[:0], b.tree[:0])
}

// raiseAlongTrend raises p along the trend from `edge`, the prediction for the row b.atEdge. `most` is the largest allowed log
// peak.
func (m *models) raiseAlongTrend(cells []sizing.Value, p, edge *experts.Point, most float64, b *buffers) {
	t := m.trendOf(cells)
	c := t.change(cells, b.atEdge)
	b.extrapolation.isTooSteep = c.isTooFar
	rise := max(0, c.total)
	b.extrapolation.trendRises = rise > 0
	if rise > 0 {
		b.extrapolation.riseFactor = math.Exp(max(0, min(rise, most-edge.Level[experts.LineTrees])))
	} else {
		capLevels(p, m.High) // no trend supports more than the largest peak
	}
	convex := rise * max(1, t.ConvexSlope)
	if b.extrapolation.aboveRange > 1 {
		// The joint effect of several inputs above their ranges was never observed.
		b.extrapolation.jointMargin = jointMarginRate * float64(b.extrapolation.aboveRange-1) * convex
	}
	raised := convex*(1+c.margin) + b.extrapolation.jointMargin
	raiseLevels(p, edge, raised, c.isBounded || b.extrapolation.noRisk && (rise > 0 || t.hasAllSlopes(&b.extrapolation)))
	if b.extrapolation.isJoint && !p.Imputed {
		m.raiseToLine(cells, p, edge, rise, b)
	}
}

// findOutside reports whether extrapolate must correct the prediction for cells.
func (m *models) findOutside(cells []sizing.Value, found *extrapolation) (outside bool) {
	t := m.trendOf(cells)
	for j := t.firstInput(); j < len(cells); j++ {
		distance := t.distanceFrom(minKnownRows, j, cells)
		if distance == 0 {
			continue
		}
		isOutside, isKnown := math.Abs(distance) > math.Log(outsideFactor), t.hasManyRemoteNear(j, cells)
		isRelevant, slope := t.isRelevant(j, distance), t.slopeOf(j)
		hasSlope := slope != nil
		if distance > 0 && (isOutside || hasSlope) && isRelevant {
			if !isKnown {
				found.jointDistance += distance
			}
			if hasSlope { // an input without a slope may measure the same size as one with a slope
				found.aboveRange++
			}
		}
		// A line with an offset may be steep. Therefore extrapolate also corrects rows slightly outside the range: if no trend
		// rises, it limits the predicted peak to the largest known peak.
		outside = outside || (isOutside || hasSlope || m.Above != nil && isRelevant) && t.rangeOf(j).Rows >= minTrendRows
		if isOutside && isRelevant {
			found.outside = append(found.outside, j)
			if t.isLargeNumber(j, cells) {
				isFar := t.isFarAbove(j, cells)
				found.isFar = found.isFar || !hasSlope && (isFar || t.isConstant(j) && distance > math.Log(noRiskFactor))
				found.tooLarge = found.tooLarge || hasSlope && slope.Slope > 0 && isFar && !t.isWide(j, distance)
				if !hasSlope && !isKnown && t.isTooNarrow(j, distance) {
					found.unshownRise = max(found.unshownRise, (1+trendMargin)*distance)
				}
			}
			if distance > 0 && !isKnown || distance < 0 && t.isUnboundedBelow(j, cells) {
				found.noRisk = found.noRisk || math.Abs(distance) > math.Log(noRiskFactor)
				found.unknownRise = max(found.unknownRise, (1+trendMargin)*math.Abs(distance))
			}
		}
	}
	t.findJoint(cells, found)
	found.noRisk = found.noRisk || found.jointDistance > math.Log(noRiskFactor)
	return outside || found.isJoint
}

func (t *trend) isFarAbove(j int, cells []sizing.Value) bool {
	x, _ := t.value(j, cells)
	s := t.rangeWithRemote(j)
	return s.distance(x, t.logOffsetOf(j)) > math.Log1p(implausibleFactor)
}

// isTooNarrow reports whether the learned rows would be enough to show the effect of an input at a distance from its range, but
// its values differ too little. For inputs with only one value, see first_change.go.
func (t *trend) isTooNarrow(j int, distance float64) bool {
	return t.rangeOf(j).Rows >= minTrendRows && !t.isConstant(j) && !t.isWide(j, distance)
}

// isUnboundedBelow reports whether the peak may grow without bound as an input falls further below its range: the input has
// negative values, or its slope is negative.
func (t *trend) isUnboundedBelow(j int, cells []sizing.Value) bool {
	if x, _ := t.value(j, cells); x < 0 || t.rangeOf(j).Low < 0 {
		return true
	}
	s := t.slopeOf(j)
	return s != nil && s.Slope < 0
}

// maxExtrapolation is the largest extrapolated peak, as a multiple of the largest peak so far. Numbers more
// than this factor above their range are implausible (maxImplausibleFactor), so only a steep trend reaches this limit.
const maxExtrapolation = 1000

func (m *models) maxLogPeak() float64 {
	return min(m.High+math.Log(maxExtrapolation), math.Log(float64(maxPossible)))
}

func capLevels(p *experts.Point, limit float64) (bounded bool) {
	for k := range p.Level {
		bounded = bounded || p.Level[k] > limit
		p.Level[k] = min(p.Level[k], limit)
	}
	return bounded
}

// hasAllSlopes reports whether some inputs are outside their ranges and all of these have a slope.
func (t *trend) hasAllSlopes(found *extrapolation) bool {
	for _, j := range found.outside {
		if t.slopeOf(j) == nil {
			return false
		}
	}
	return len(found.outside) > 0
}

// raiseLevels sets the levels of p to those of `edge` plus `rise`. Unless `exact` is true, it keeps each level of p that is higher.
func raiseLevels(p, edge *experts.Point, rise float64, exact bool) {
	for k := range p.Level {
		level := edge.Level[k] + rise
		if !exact {
			level = max(level, p.Level[k])
		}
		p.Level[k] = level
	}
}

// clampToRange appends `cells` to dst, with each input outside its range moved to the nearer edge. It then restores the differences
// of pairs within their ranges, and lowers a jointExcess (moveToHighest). Ranges that cover fewer than minRows rows do not count.
func (m *models) clampToRange(minRows int, cells, dst []sizing.Value) []sizing.Value {
	t := m.trendOf(cells)
	dst = append(dst, cells...)
	for j := t.firstInput(); j < len(cells); j++ {
		if !t.isPair(j) && t.distanceFrom(minRows, j, cells) != 0 {
			x, _ := t.value(j, cells)
			t.setValue(j, dst, t.rangeOf(j).edge(x))
		}
	}
	for k := range t.Pairs {
		pair := &t.Pairs[k]
		pair.keepDifference(cells, dst)
		if t.distanceFrom(minRows, ^k, dst) != 0 {
			pair.moveToRange(dst)
		}
	}
	t.moveToHighest(dst)
	return dst
}

// nearestKnown appends `cells` to dst, with the inputs outside their range moved to its edge and without implausible dates. b
// comes from the prediction for `cells`.
func (m *models) nearestKnown(cells []sizing.Value, b *buffers, dst []sizing.Value) []sizing.Value {
	if b.extrapolation.implausible {
		cells = slices.Clone(cells)
		for j := range cells {
			if cells[j].Kind == sizing.Date {
				cells[j] = b.cleaned[j]
			}
		}
	}
	return m.clampToRange(minKnownRows, cells, dst)
}

// Extrapolated returns the predicted peak for f (of the model LineTrees), raised along the trend with the margins of the
// extrapolation, or the forecast from remote numbers. It is zero if all inputs of the trend are within their ranges and have no
// jointExcess, or if no trend rises and there is no such forecast.
func (m *Model) Extrapolated(f sizing.Features) sizing.Bytes {
	if m.Models == nil {
		return 0
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.cells = m.cells(f, b.cells)
	t := m.Models.trendOf(b.cells)
	if t.jointExcess(b.cells) == 0 && !slices.ContainsFunc(t.Slopes, func(s slope) bool { return t.distance(s.Field, b.cells) != 0 }) {
		return 0
	}
	var p experts.Point
	m.Models.predict(b.cells, &p, b)
	if b.extrapolation.riseFactor == 0 && !b.extrapolation.remote.isKnown() {
		return 0
	}
	return sizing.Bytes(min(math.Exp(p.Level[experts.LineTrees]), sizing.MaxBytes))
}
