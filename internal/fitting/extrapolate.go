package fitting

import (
	"fmt"
	"math"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// beyond is what extrapolate found of one row.
type extrapolation struct {
	outside       []int   // inputs that matter and lie outside what was seen; see trend.value
	noRisk        bool    // one of them is so far outside that no probability can be stated
	riseFactor    float64 // by which the trend raises the peak over that at the edge; 0: no trend is followed
	capped        float64 // bytes that the extrapolation was bounded to; 0: it was not
	implausible   bool    // one of them is so far outside that it counts as missing
	aboveRange    int     // of the trend that lie above what was seen
	jointMargin   float64 // log error of the trend that several such inputs add
	jointDistance float64 // how far the inputs that matter lie above what was seen, together, in log units
}

// extrapolate corrects p, the answer to inputs as they are, where they lie outside what was
// seen: to the answer at the edge, moved along the trend where one is supported, with a
// margin that grows with the distance.
func (m *models) extrapolate(cells []sizing.Value, p *experts.Point, b *buffers) {
	signals := b.signals
	b.atEdge = m.clampToRange(cells, b.atEdge[:0])
	var edge experts.Point
	m.predictInRange(b.atEdge, &edge, b)
	rise, margin := m.rise(cells, b.atEdge)
	most := m.maxLevel()
	if rise > 0 {
		b.extrapolation.riseFactor = math.Exp(max(0, min(rise, most-edge.Level[experts.LineTrees])))
	}
	if b.extrapolation.aboveRange > 1 {
		// No run was seen with all of them that large: nothing tells how they act together.
		b.extrapolation.jointMargin = jointMarginRate * float64(b.extrapolation.aboveRange-1) * rise
	}
	if rise == 0 {
		capLevels(p, m.High) // no line supports more than was seen
	}
	raiseLevels(p, &edge, rise*(1+margin)+b.extrapolation.jointMargin, b.extrapolation.noRisk && (rise > 0 || m.followsAllOutside(&b.extrapolation)))
	if capLevels(p, most) {
		b.extrapolation.capped = math.Exp(most)
	}
	b.signals = signals
	b.line, b.tree = m.Enc.encode(cells, b.line[:0], b.tree[:0])
}

// outside fills found, and reports whether the models must not be asked about cells as
// they are.
func (m *models) findOutside(cells []sizing.Value, found *extrapolation) (yes bool) {
	t := &m.PeakTrend
	for j := -len(t.Pairs); j < len(cells); j++ {
		distance := t.distance(j, cells)
		if distance == 0 {
			continue
		}
		away := math.Abs(distance) > math.Log(outsideFactor)
		if distance > 0 && (away || t.slopeOf(j) != nil) && t.isRelevant(j) {
			found.jointDistance += distance
			found.aboveRange++
		}
		yes = yes || away || t.slopeOf(j) != nil
		if away && t.isRelevant(j) {
			found.outside = append(found.outside, j)
			found.noRisk = found.noRisk || distance > math.Log(noRiskFactor) || distance < -math.Log(noRiskFactor) && t.isUnboundedBelow(j, cells)
		}
	}
	found.noRisk = found.noRisk || found.jointDistance > math.Log(noRiskFactor)
	return yes
}

// opensDown reports whether the peak may grow without bound below what was seen: where an
// input has negative values, or the line falls.
func (t *trend) isUnboundedBelow(j int, cells []sizing.Value) bool {
	if x, _ := t.value(j, cells); x < 0 || t.spanOf(j).Low < 0 {
		return true
	}
	s := t.slopeOf(j)
	return s != nil && s.Slope < 0
}

// rise is how much the trend goes up from the edge to cells, in log units, and how much of
// that is in doubt. It never goes down.
func (m *models) rise(cells, edge []sizing.Value) (rise, margin float64) {
	margin = trendMargin
	for _, s := range m.PeakTrend.Slopes {
		was, _ := m.PeakTrend.value(s.Field, cells)
		if now, known := m.PeakTrend.value(s.Field, edge); known && now != was {
			rise, margin = 1, margin+2*s.Relative
		}
	}
	if rise == 0 {
		return 0, 0
	}
	if rise = m.PeakTrend.predict(cells) - m.PeakTrend.predict(edge); !(rise > 0) {
		return 0, 0
	}
	return rise * max(1, m.PeakTrend.ConvexSlope), margin
}

const maxExtrapolation = 1000 // the largest peak so far that an extrapolation may reach

// mostLevel is the log peak that no extrapolation exceeds.
func (m *models) maxLevel() float64 {
	return min(m.High+math.Log(maxExtrapolation), math.Log(float64(maxPossible)))
}

// keepBelow bounds the levels, and reports whether one was above.
func capLevels(p *experts.Point, most float64) (bounded bool) {
	for k := range p.Level {
		bounded = bounded || p.Level[k] > most
		p.Level[k] = min(p.Level[k], most)
	}
	return bounded
}

// followsAll reports whether the line follows every input that lies outside.
func (m *models) followsAllOutside(found *extrapolation) bool {
	for _, j := range found.outside {
		if m.PeakTrend.slopeOf(j) == nil {
			return false
		}
	}
	return len(found.outside) > 0
}

// raise sets the levels to those at the edge and a rise. Where exact is false, the models'
// own levels count where they are higher.
func raiseLevels(p, edge *experts.Point, rise float64, exact bool) {
	for k := range p.Level {
		level := edge.Level[k] + rise
		if !exact {
			level = max(level, p.Level[k])
		}
		p.Level[k] = level
	}
}

// toEdge appends cells to dst with the inputs that lie outside moved back to what was seen.
func (m *models) clampToRange(cells, dst []sizing.Value) []sizing.Value {
	for j, v := range cells {
		if m.PeakTrend.distance(j, cells) != 0 {
			v.Num = m.PeakTrend.Ranges[j].edge(v.Num)
		}
		dst = append(dst, v)
	}
	for k := range m.PeakTrend.Pairs {
		if m.PeakTrend.distance(^k, dst) != 0 {
			m.PeakTrend.Pairs[k].moveToRange(dst)
		}
	}
	return dst
}

// Extrapolated is the peak that the trend predicts for inputs beyond all that was seen;
// zero where they are not, or where no trend is followed.
func (m *Model) Extrapolated(f sizing.Features) sizing.Bytes {
	if m.Models == nil || len(m.Models.PeakTrend.Slopes) == 0 {
		return 0
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.cells = m.cells(f, b.cells)
	for _, s := range m.Models.PeakTrend.Slopes {
		if m.Models.PeakTrend.distance(s.Field, b.cells) != 0 {
			var p experts.Point
			m.Models.predict(b.cells, &p, b)
			if b.extrapolation.riseFactor == 0 {
				return 0
			}
			return sizing.Bytes(min(math.Exp(p.Level[experts.LineTrees]), sizing.MaxBytes))
		}
	}
	return 0
}

// sayBeyond says in an answer's reason what lies outside, and what follows from it.
func (m *Model) describeExtrapolation(text *strings.Builder, b *buffers) {
	if len(b.extrapolation.outside) == 0 {
		return
	}
	text.WriteString("; outside what was seen: ")
	const most = 3
	for i, j := range b.extrapolation.outside {
		if i == most {
			fmt.Fprintf(text, " and %d more", len(b.extrapolation.outside)-most)
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		m.describeInput(text, j, b.cells)
	}
	if b.extrapolation.implausible {
		text.WriteString(", too far to extrapolate and treated as missing")
	}
	if b.extrapolation.riseFactor > 0 {
		fmt.Fprintf(text, ", extrapolated to %.3g times the peak at the edge", b.extrapolation.riseFactor)
	}
	if b.extrapolation.capped > 0 {
		fmt.Fprintf(text, ", bounded to %s", sizing.Bytes(b.extrapolation.capped).Approx())
	}
	if b.extrapolation.noRisk {
		text.WriteString(", so no risk can be stated")
	}
}

// sayInput names an input, its value and its range. A pair of dates in descending order is
// described by the time between them.
func (m *Model) describeInput(text *strings.Builder, j int, cells []sizing.Value) {
	t := &m.Models.PeakTrend
	x, _ := t.value(j, cells)
	low, high := t.spanOf(j).Low, t.spanOf(j).High
	var name string
	if j >= 0 {
		name = m.Schema.Fields[j].Name
	} else {
		pair := &t.Pairs[^j]
		name = m.Schema.Fields[pair.To].Name + "-" + m.Schema.Fields[pair.From].Name
		if max(x, high) <= 0 {
			x, low, high = -x, -high, -low
		}
	}
	fmt.Fprintf(text, "%s %s (%s … %s)", name, formatNumber(x), formatNumber(low), formatNumber(high))
}

// plainNumber writes a number without an exponent where it is short enough.
func formatNumber(v float64) string {
	if math.Abs(v) < 1e15 && v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.6g", v)
}
