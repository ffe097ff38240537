package fitting

import (
	"fmt"
	"math"
	"strings"

	"github.com/loadaware/loadaware/internal/ml/experts"
	"github.com/loadaware/loadaware/internal/sizing"
)

// beyond is what extrapolate found of one row.
type beyond struct {
	fields []int   // places in the schema of the numbers that matter and lie outside what was seen
	far    bool    // one of them is so far outside that no probability can be stated
	factor float64 // by which the trend raises the peak over that at the edge; 0: no trend is followed
}

// extrapolate answers for inputs outside what was seen: by the models at the edge, moved
// along the trend where one is supported, with a margin that grows with the distance.
// b.beyond says what was found.
func (m *models) extrapolate(cells []sizing.Value, p *experts.Point, b *buffers) {
	b.beyond = beyond{fields: b.beyond.fields[:0]}
	if m.ridges == nil || !m.outside(cells, &b.beyond) {
		return
	}
	signals := b.signals
	b.edge = m.toEdge(cells, b.edge[:0])
	var edge experts.Point
	m.askRow(b.edge, &edge, b)
	rise, doubt := m.rise(cells, b.edge)
	if rise > 0 {
		b.beyond.factor = math.Exp(rise)
	}
	raise(p, &edge, rise*(1+doubt), b.beyond.far && rise > 0)
	b.signals = signals
	b.line, b.tree = m.Enc.encode(cells, b.line[:0], b.tree[:0])
}

// outside fills found, and reports whether the models must not be asked about cells as
// they are.
func (m *models) outside(cells []sizing.Value, found *beyond) (yes bool) {
	for j, v := range cells {
		distance := m.Beyond.distance(j, v)
		if distance == 0 {
			continue
		}
		away := math.Abs(distance) > math.Log(outsideFrom)
		yes = yes || away || m.Beyond.slopeOf(j) != nil
		if away && m.Beyond.matters(j) {
			found.fields = append(found.fields, j)
			found.far = found.far || distance > math.Log(farFrom)
		}
	}
	return yes
}

// rise is how much the trend goes up from the edge to cells, in log units, and how much of
// that is in doubt. It never goes down.
func (m *models) rise(cells, edge []sizing.Value) (rise, doubt float64) {
	doubt = trendDoubt
	for _, s := range m.Beyond.Slopes {
		if cells[s.Field] != edge[s.Field] {
			rise, doubt = 1, doubt+2*s.Relative
		}
	}
	if rise == 0 {
		return 0, 0
	}
	if rise = m.Beyond.at(cells) - m.Beyond.at(edge); !(rise > 0) {
		return 0, 0
	}
	return min(rise, mostRise), doubt
}

// mostRise bounds an extrapolation, in log units: a million times.
const mostRise = 13.8

// raise sets the levels to those at the edge and a rise; near the edge they stay where they
// are higher already.
func raise(p, edge *experts.Point, rise float64, far bool) {
	for k := range p.Level {
		level := edge.Level[k] + rise
		if !far {
			level = max(level, p.Level[k])
		}
		p.Level[k] = level
	}
}

// toEdge appends cells to dst with the numbers that lie outside moved back to what was seen.
func (m *models) toEdge(cells, dst []sizing.Value) []sizing.Value {
	for j, v := range cells {
		if m.Beyond.distance(j, v) != 0 {
			v.Num = max(m.Beyond.Seen[j].Low, min(v.Num, m.Beyond.Seen[j].High))
		}
		dst = append(dst, v)
	}
	return dst
}

// Extrapolated is the peak that the trend foretells for inputs beyond all that was seen;
// zero where they are not, or where no trend is followed.
func (m *Model) Extrapolated(f sizing.Features) sizing.Bytes {
	if m.Models == nil || len(m.Models.Beyond.Slopes) == 0 {
		return 0
	}
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	b.cells = m.cells(f, b.cells)
	for _, s := range m.Models.Beyond.Slopes {
		if m.Models.Beyond.distance(s.Field, b.cells[s.Field]) > 0 {
			var p experts.Point
			m.Models.ask(b.cells, &p, b)
			if b.beyond.factor == 0 {
				return 0
			}
			return sizing.Bytes(min(math.Exp(p.Level[experts.LineTrees]), sizing.MaxBytes))
		}
	}
	return 0
}

// sayBeyond says in an answer's reason what lies outside, and what follows from it.
func (m *Model) sayBeyond(text *strings.Builder, b *buffers) {
	if len(b.beyond.fields) == 0 {
		return
	}
	text.WriteString("; outside what was seen: ")
	const most = 3
	for i, j := range b.beyond.fields {
		if i == most {
			fmt.Fprintf(text, " and %d more", len(b.beyond.fields)-most)
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		seen := m.Models.Beyond.Seen[j]
		fmt.Fprintf(text, "%s %s (%s … %s)", m.Schema.Fields[j].Name, plainNumber(b.cells[j].Num), plainNumber(seen.Low), plainNumber(seen.High))
	}
	if b.beyond.factor > 0 {
		fmt.Fprintf(text, ", extrapolated to %.3g times the peak at the edge", b.beyond.factor)
	}
	if b.beyond.far {
		text.WriteString(", so no risk can be stated")
	}
}

// plainNumber writes a number without an exponent where it is short enough.
func plainNumber(v float64) string {
	if math.Abs(v) < 1e15 && v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.6g", v)
}
